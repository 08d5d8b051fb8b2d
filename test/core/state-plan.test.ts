import { describe, expect, it } from "vitest";
import { NO_TIMES } from "../../src/core/attempt.ts";
import { AttemptsExhausted } from "../../src/core/errors.ts";
import { createFailure } from "../../src/core/failure.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { VERB_TABLE } from "../../src/core/verbs.ts";
import type { VerbRow } from "../../src/core/verbs.ts";
import { NOW_MS, accept, after, boom, dispatch, newTask, refuse, refuseTransition, stepsOf, taskAt } from "./task-at.ts";

const ROWS = Object.keys(VERB_TABLE) as VerbRow[];

function rowsWithout(...accepted: readonly VerbRow[]): readonly VerbRow[] {
  return ROWS.filter((row) => !accepted.includes(row));
}

describe("dispatch (markStarting)", () => {
  it.each(["queued", "retry_wait"] as const)("opens the next attempt out of %s", (row) => {
    const before = taskAt(row);
    const { snapshot, attempt, transitions } = accept(before, { type: "dispatch", owner: "n2:5", executor: "thread" }, 7_000);
    expect(snapshot).toMatchObject({
      status: "starting",
      attempt: before.attempt + 1,
      startedAt: 7_000,
      lastHeartbeatAt: 7_000,
      owner: "n2:5",
      executor: "thread",
      pid: null,
      availableAt: null,
      failure: null,
      progress: null,
      fencingToken: before.fencingToken + 1,
    });
    expect(attempt).toEqual({
      taskId: "t1",
      epoch: 0,
      attempt: before.attempt + 1,
      executor: "thread",
      pid: null,
      owner: "n2:5",
      startedAt: 7_000,
      endedAt: null,
      durationMs: null,
      endedAs: null,
      failure: null,
      forced: false,
      ...NO_TIMES,
    });
    expect(transitions).toHaveLength(1);
    expect(transitions[0]).toMatchObject({ trigger: "scheduler:dispatch", actor: "system", attempt: before.attempt + 1 });
  });

  it("may use the last attempt of the budget and not one more", () => {
    expect(accept({ ...taskAt("queued"), attempt: 2, maxAttempts: 3 }, dispatch).snapshot.attempt).toBe(3);
    const error = refuse({ ...taskAt("queued"), attempt: 3, maxAttempts: 3 }, dispatch);
    expect(error).toBeInstanceOf(AttemptsExhausted);
    expect(error).toMatchObject({ code: "ATTEMPTS_EXHAUSTED", attempt: 3, maxAttempts: 3 });
  });

  it.each(rowsWithout("queued", "retry_wait"))("is refused while %s, with the statuses that may follow", (row) => {
    const task = taskAt(row);
    expect(refuseTransition(task, dispatch)).toMatchObject({ current: task.status, requested: "dispatch" });
  });

  it("a refusal of what is no verb lists statuses", () => {
    expect(refuseTransition(taskAt("pending"), dispatch).allowed).toEqual(["blocked", "queued", "skipped", "cancelled", "stopped"]);
  });
});

describe("enqueue, block and backoffElapsed", () => {
  it.each(["pending", "blocked"] as const)("enqueue takes a %s task whose dependencies are met", (row) => {
    expect(accept(taskAt(row), { type: "enqueue" }).snapshot).toMatchObject({ status: "queued", queuedAt: NOW_MS });
  });

  it.each(rowsWithout("pending", "blocked"))("enqueue is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type: "enqueue" }).requested).toBe("enqueue");
  });

  it("backoffElapsed queues a task that waits to retry", () => {
    expect(accept(taskAt("retry_wait"), { type: "backoffElapsed" }).snapshot).toMatchObject({ status: "queued", queuedAt: NOW_MS, attempt: 1 });
  });

  it.each(rowsWithout("retry_wait"))("backoffElapsed is refused while %s: a cancel that came first stays", (row) => {
    expect(refuseTransition(taskAt(row), { type: "backoffElapsed" }).requested).toBe("backoffElapsed");
  });

  it("block takes a pending task alone", () => {
    expect(stepsOf(accept(taskAt("pending"), { type: "block" }))).toEqual(["pending → blocked"]);
    for (const row of rowsWithout("pending")) expect(refuseTransition(taskAt(row), { type: "block" }).requested).toBe("block");
  });

  it("a delayed task keeps its due time in the queue until it starts", () => {
    const delayed = after(newTask({ availableAt: 9_000 }), { type: "enqueue" });
    expect(delayed.availableAt).toBe(9_000);
    expect(after(delayed, dispatch).availableAt).toBeNull();
  });
});

const conditionFalse = createFailure({ kind: "condition_false", message: "`when` was false" });
const upstreamFailed = createFailure({ kind: "dependency_failed", message: "extract failed" });
const CASCADES: readonly { readonly event: LifecycleEvent; readonly to: string; readonly failure: unknown }[] = [
  { event: { type: "conditionFalse", failure: conditionFalse }, to: "skipped", failure: conditionFalse },
  { event: { type: "dependencyFailed", to: "skipped", failure: upstreamFailed }, to: "skipped", failure: upstreamFailed },
  { event: { type: "dependencyFailed", to: "cancelled", failure: upstreamFailed }, to: "cancelled", failure: upstreamFailed },
];

describe.each(CASCADES)("the cascade $event.type → $to", ({ event, to, failure }) => {
  it.each(["pending", "blocked", "queued"] as const)("ends a %s task that has not begun", (row) => {
    const { snapshot, attempt } = accept(taskAt(row), event);
    expect(snapshot).toMatchObject({ status: to, failure, endedAt: NOW_MS, attempt: 0, skippedBy: null, availableAt: null });
    expect(attempt).toBeNull();
  });

  it.each(rowsWithout("pending", "blocked", "queued"))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), event).current).toBe(taskAt(row).status);
  });
});

describe("unrunnable: the arguments were lost with their node", () => {
  const event: LifecycleEvent = { type: "unrunnable", failure: boom };

  it.each(["pending", "blocked", "queued", "paused (not started)"] as const)("cancels a %s task", (row) => {
    expect(accept(taskAt(row), event).snapshot).toMatchObject({ status: "cancelled", failure: boom, pausedFrom: null });
  });

  it("fails a task that waits to retry", () => {
    const { snapshot, transitions } = accept(taskAt("retry_wait"), event);
    expect(snapshot).toMatchObject({ status: "failed", failure: boom, availableAt: null, attempt: 1 });
    expect(transitions[0]?.trigger).toBe("reconcile:args-not-stored");
  });

  it.each(rowsWithout("pending", "blocked", "queued", "paused (not started)", "retry_wait"))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), event).requested).toBe("unrunnable");
  });
});
