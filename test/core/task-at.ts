import { isDeepStrictEqual } from "node:util";
import { InvalidTransition } from "../../src/core/errors.ts";
import type { TaskError } from "../../src/core/errors.ts";
import { createFailure } from "../../src/core/failure.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { createSnapshot } from "../../src/core/snapshot.ts";
import type { NewTask, TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";
import type { Applied } from "../../src/core/state-machine.ts";
import type { VerbRow } from "../../src/core/verbs.ts";

/** The instant of every event that `after` and `taskAt` apply. */
export const NOW_MS = 1_000;

/** What went wrong in the samples. */
export const boom = createFailure({ kind: "exception", message: "boom", retryable: true });

/** A stop's failure detail in the samples. */
export const halted = createFailure({ kind: "cancelled", message: "stopped by ada" });

/** Out of contact, and surely gone. */
export const gone = createFailure({ kind: "lost", message: "its node died" });

/** Out of contact, and perhaps still at work. */
export const abandoned = createFailure({ kind: "lost", message: "the grace is used up", abandoned: true });

/** Begins an attempt. */
export const dispatch: LifecycleEvent = { type: "dispatch", owner: "n1:1", executor: "async" };

/** Reports that the code is about to run. */
export const launched: LifecycleEvent = { type: "launched", pid: 42 };

const started: readonly LifecycleEvent[] = [{ type: "enqueue" }, dispatch];
const running: readonly LifecycleEvent[] = [...started, launched];

const PATHS: Readonly<Record<VerbRow, readonly LifecycleEvent[]>> = {
  pending: [],
  blocked: [{ type: "block" }],
  queued: [{ type: "enqueue" }],
  starting: started,
  running,
  pausing: [...running, { type: "pause" }],
  "paused (in place)": [...running, { type: "pause" }, { type: "pauseReached" }],
  "paused (not started)": [{ type: "enqueue" }, { type: "pause" }],
  retry_wait: [...running, { type: "failed", failure: boom, retryAt: 5_000 }],
  stopping: [...running, { type: "stop" }],
  succeeded: [...running, { type: "succeeded", outcome: 7 }],
  failed: [...running, { type: "failed", failure: boom, retryAt: null }],
  stopped: [{ type: "enqueue" }, { type: "stop" }],
  cancelled: [{ type: "enqueue" }, { type: "cancel" }],
  skipped: [{ type: "enqueue" }, { type: "skip" }],
  lost: [...running, { type: "lost", failure: gone }],
};

/** Freezes a value and all it holds, so that a change of it throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/** A task that has just been made; three attempts where nothing else is said. */
export function newTask(task: Partial<NewTask> = {}): TaskSnapshot {
  return deepFreeze(createSnapshot({ taskId: "t1", name: "extract", createdAt: 0, maxAttempts: 3, ...task }));
}

/** What the event did; the event has to be accepted. */
export function accept(snapshot: TaskSnapshot, event: LifecycleEvent, nowMs: number = NOW_MS): Applied {
  const result = apply(deepFreeze(snapshot), event, nowMs);
  if (!result.ok) throw result.error;
  return deepFreeze(result);
}

/** The task after these events, each of which has to be accepted. */
export function after(snapshot: TaskSnapshot, ...events: readonly LifecycleEvent[]): TaskSnapshot {
  return events.reduce((task, event) => accept(task, event).snapshot, snapshot);
}

/** A task that events have brought to this row of the verb table. */
export function taskAt(row: VerbRow, task: Partial<NewTask> = {}): TaskSnapshot {
  return after(newTask(task), ...PATHS[row]);
}

/** The error of a refusal that changed nothing; the event has to be refused. */
export function refuse(snapshot: TaskSnapshot, event: LifecycleEvent, nowMs: number = NOW_MS): TaskError {
  const copy = structuredClone(snapshot);
  const result = apply(deepFreeze(snapshot), event, nowMs);
  if (result.ok) throw new Error(`"${event.type}" was accepted: ${snapshot.status} → ${result.snapshot.status}`);
  if (!isDeepStrictEqual(snapshot, copy)) throw new Error(`"${event.type}" was refused and yet changed the task`);
  return result.error;
}

/** The refusal, which has to be an `InvalidTransition`. */
export function refuseTransition(snapshot: TaskSnapshot, event: LifecycleEvent): InvalidTransition {
  const error = refuse(snapshot, event);
  if (!(error instanceof InvalidTransition)) throw error;
  return error;
}

/** Each step as `from → to`. */
export function stepsOf(applied: Applied): readonly string[] {
  return applied.transitions.map((step) => `${step.from} → ${step.to}`);
}
