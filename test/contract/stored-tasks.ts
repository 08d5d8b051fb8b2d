import type { AttemptRecord } from "../../src/core/attempt.ts";
import type { StoredEvent } from "../../src/core/events.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import type { TaskChange, TaskCreation } from "../../src/core/ports/store.ts";
import { createSnapshot } from "../../src/core/snapshot.ts";
import type { NewTask, TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";

/** The instant at which every task here is made. */
export const MADE_AT = 1_000;

/** A task that is to be made: pending, with its `TaskCreated`. */
export function creationOf(taskId: string, parts: Partial<NewTask> = {}, args: readonly unknown[] | undefined = [], overrides: unknown = null): TaskCreation {
  const snapshot = createSnapshot({ taskId, name: "work", createdAt: MADE_AT, maxAttempts: 3, ...parts });
  return { snapshot, payload: { args, overrides }, events: [createdEvent(snapshot)] };
}

/** The event that tells of a task's making. */
export function createdEvent(snapshot: TaskSnapshot): StoredEvent {
  const { taskId, pipelineRunId, name, node, createdAt } = snapshot;
  return { type: "TaskCreated", eventId: `${taskId}:created`, at: createdAt, taskId, pipelineRunId, name, node };
}

/** What the events make of the task, as one change. */
export function changeOf(snapshot: TaskSnapshot, ...happened: readonly LifecycleEvent[]): TaskChange {
  let current = snapshot;
  const events: StoredEvent[] = [];
  const attempts: AttemptRecord[] = [];
  for (const event of happened) {
    const applied = apply(current, event, MADE_AT + current.statusVersion + 1);
    if (!applied.ok) throw applied.error;
    current = applied.snapshot;
    events.push(...applied.transitions);
    if (applied.attempt === null) continue;
    attempts.push(applied.attempt);
    if (current.status === "starting") events.push(startedEvent(current, applied.attempt));
  }
  return { snapshot: current, expectVersion: snapshot.statusVersion, events, attempts };
}

function startedEvent(snapshot: TaskSnapshot, attempt: AttemptRecord): StoredEvent {
  const { taskId, pipelineRunId, name, node } = snapshot;
  return {
    type: "AttemptStarted",
    eventId: `${taskId}:${attempt.epoch}.${attempt.attempt}:started`,
    at: attempt.startedAt,
    taskId,
    pipelineRunId,
    name,
    node,
    attempt,
  };
}

/** From pending to running. */
export const RUN: readonly LifecycleEvent[] = [{ type: "enqueue" }, { type: "dispatch", owner: "node:1", executor: "async" }, { type: "launched", pid: null }];
