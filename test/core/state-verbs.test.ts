import { describe, expect, it } from "vitest";
import { CarrierAbandoned } from "../../src/core/errors.ts";
import type { PausedFrom } from "../../src/core/snapshot.ts";
import { NOW_MS, abandoned, accept, after, boom, dispatch, launched, newTask, refuse, refuseTransition, stepsOf, taskAt } from "./task-at.ts";

const pausingInStart = after(taskAt("starting"), { type: "pause" });

describe("start", () => {
  it("queues a task whose dependencies are met, and blocks one whose are not", () => {
    expect(stepsOf(accept(taskAt("pending"), { type: "start", depsOpen: false }))).toEqual(["pending → queued"]);
    expect(stepsOf(accept(taskAt("pending"), { type: "start", depsOpen: true }))).toEqual(["pending → blocked"]);
    expect(stepsOf(accept(taskAt("blocked"), { type: "start", depsOpen: false }))).toEqual(["blocked → queued"]);
  });

  it("leaves a blocked task whose dependencies are open: nothing to do is the control plane's answer", () => {
    expect(refuseTransition(taskAt("blocked"), { type: "start", depsOpen: true }).current).toBe("blocked");
  });
});

describe("stop and cancel", () => {
  it.each([
    { wish: "stop", to: "stopped" },
    { wish: "cancel", to: "cancelled" },
  ] as const)("$wish takes hold at once where nothing is occupied", ({ wish, to }) => {
    for (const row of ["pending", "blocked", "queued", "paused (not started)", "retry_wait"] as const) {
      expect(accept(taskAt(row), { type: wish }).snapshot).toMatchObject({
        status: to,
        endedAt: NOW_MS,
        requestedAction: null,
        pausedFrom: null,
        availableAt: null,
      });
    }
  });

  it.each(["stop", "cancel"] as const)("%s asks first where a carrier is held", (wish) => {
    for (const row of ["starting", "running", "pausing"] as const) {
      const { snapshot, attempt } = accept(taskAt(row), { type: wish });
      expect(snapshot).toMatchObject({ status: "stopping", requestedAction: wish, pausedFrom: null, pausedBy: null, owner: "n1:1", endedAt: null });
      expect(attempt).toBeNull();
    }
  });

  it.each(["stop", "cancel"] as const)("%s wakes a task paused in place so that it cleans up: two steps, one commit", (wish) => {
    const before = taskAt("paused (in place)");
    const applied = accept(before, { type: wish });
    expect(stepsOf(applied)).toEqual(["paused → running", "running → stopping"]);
    expect(applied.transitions.map((step) => step.trigger)).toEqual([`user:${wish}`, `user:${wish}`]);
    expect(applied.snapshot).toMatchObject({ requestedAction: wish, pausedFrom: null, statusVersion: before.statusVersion + 2 });
  });

  it.each([
    { first: "stop", second: "cancel", to: "stopped" },
    { first: "cancel", second: "stop", to: "cancelled" },
  ] as const)("the first wish stays: $first, then $second ends $to", ({ first, second, to }) => {
    const stopping = after(taskAt("running"), { type: first });
    expect(refuseTransition(stopping, { type: second }).allowed).toEqual([]);
    expect(after(stopping, { type: "ended", failure: boom }).status).toBe(to);
  });

  it("the trigger of a cascade replaces the person's", () => {
    const { transitions } = accept(taskAt("running"), { type: "cancel", trigger: "pipeline:fail-fast", commandId: "c1" });
    expect(transitions[0]).toMatchObject({ trigger: "pipeline:fail-fast", actor: "system", reason: null, commandId: "c1" });
  });
});

describe("pause and resume", () => {
  it("a pause before the start takes hold at once and remembers by whom", () => {
    expect(accept(taskAt("queued"), { type: "pause", actor: "ada" }).snapshot).toMatchObject({
      status: "paused",
      pausedFrom: "queued",
      pausedBy: "ada",
      requestedAction: null,
    });
  });

  it("a pause of what is launched waits for a checkpoint", () => {
    expect(accept(taskAt("running"), { type: "pause", actor: "ada" }).snapshot).toMatchObject({
      status: "pausing",
      pausedFrom: "running",
      pausedBy: "ada",
      requestedAction: "pause",
    });
    expect(pausingInStart).toMatchObject({ status: "pausing", pausedFrom: "starting", requestedAction: "pause" });
  });

  it("resume of a task that is pausing out of starting is refused until the launch has reported", () => {
    expect(refuseTransition(pausingInStart, { type: "resume" }).message).toContain("its launch has not reported yet");
    expect(after(pausingInStart, launched, { type: "resume" })).toMatchObject({
      status: "running",
      pausedFrom: null,
      pausedBy: null,
      requestedAction: null,
      pid: 42,
    });
  });

  it("a task paused while it backed off goes back to the queue with its due time", () => {
    const paused = after(taskAt("retry_wait"), { type: "pause" });
    expect(paused).toMatchObject({ status: "paused", pausedFrom: "retry_wait", availableAt: 5_000 });
    expect(after(paused, { type: "resume" })).toMatchObject({ status: "queued", queuedAt: NOW_MS, availableAt: 5_000, pausedFrom: null });
  });

  it.each(["running", "starting"] as const)("paused from %s: in place, it goes on where it was and takes no step of the unstarted", (pausedFrom) => {
    const paused = { ...taskAt("paused (in place)"), pausedFrom };
    expect(stepsOf(accept(paused, { type: "resume" }))).toEqual(["paused → running"]);
    expect(stepsOf(accept(paused, { type: "lost", failure: boom }))).toEqual(["paused → lost"]);
    expect(stepsOf(accept(paused, { type: "failed", failure: boom, retryAt: null }))).toEqual(["paused → failed"]);
    expect(stepsOf(accept(paused, { type: "failed", failure: boom, retryAt: 9 }))).toEqual(["paused → retry_wait"]);
    expect(refuseTransition(paused, { type: "unrunnable", failure: boom }).current).toBe("paused");
  });

  it.each<PausedFrom>(["queued", "retry_wait"])("paused from %s: not started, so it never comes to running from there", (pausedFrom) => {
    const paused = { ...taskAt("paused (not started)"), pausedFrom };
    expect(stepsOf(accept(paused, { type: "resume" }))).toEqual(["paused → queued"]);
    expect(stepsOf(accept(paused, { type: "stop" }))).toEqual(["paused → stopped"]);
    expect(stepsOf(accept(paused, { type: "cancel" }))).toEqual(["paused → cancelled"]);
    for (const event of [
      { type: "succeeded", outcome: 1 },
      { type: "lost", failure: boom },
      { type: "failed", failure: boom, retryAt: null },
    ] as const) {
      expect(refuseTransition(paused, event).current).toBe("paused");
    }
  });
});

describe("retry", () => {
  it.each(["failed", "stopped", "cancelled", "lost"] as const)("revives a %s task with nothing of the last attempt left on it", (row) => {
    const before = { ...taskAt(row), overridden: true, needsDecision: true };
    const { snapshot, transitions } = accept(before, { type: "retry", actor: "ada" }, 2_000);
    expect(transitions).toHaveLength(1);
    expect(transitions[0]).toMatchObject({ kind: "revive", from: row, to: "queued", actor: "ada" });
    expect(snapshot).toMatchObject({
      status: "queued",
      queuedAt: 2_000,
      attempt: before.attempt,
      epoch: 0,
      startedAt: null,
      endedAt: null,
      failure: null,
      overridden: false,
      needsDecision: false,
    });
  });

  it("grants one attempt more where the budget is spent", () => {
    const spent = taskAt("failed", { maxAttempts: 1 });
    expect(spent).toMatchObject({ attempt: 1, maxAttempts: 1 });
    const retried = after(spent, { type: "retry" });
    expect(retried).toMatchObject({ attempt: 1, maxAttempts: 2, attemptBudget: 1 });
    expect(after(retried, dispatch).attempt).toBe(2);
  });

  it("grants nothing where attempts are left", () => {
    expect(after(taskAt("failed", { maxAttempts: 3 }), { type: "retry" }).maxAttempts).toBe(3);
  });

  it("of a task that backs off means now, by an edge of the table", () => {
    const { snapshot, transitions } = accept(taskAt("retry_wait"), { type: "retry" });
    expect(snapshot).toMatchObject({ status: "queued", availableAt: null, queuedAt: NOW_MS });
    expect(transitions[0]?.kind).toBe("transition");
  });

  it.each(["succeeded", "skipped"] as const)("never leaves %s, not even by force", (row) => {
    expect(refuseTransition(taskAt(row), { type: "retry", force: true }).allowed).toEqual(["reset"]);
  });
});

describe("skip", () => {
  it("before the start, with a value for those downstream", () => {
    expect(accept(taskAt("blocked"), { type: "skip", actor: "ada", outcome: { value: [1] } }).snapshot).toMatchObject({
      status: "skipped",
      skippedBy: "ada",
      outcome: [1],
      outcomeMissing: null,
    });
  });

  it("without a value says who left it out", () => {
    expect(accept(taskAt("queued"), { type: "skip", actor: "ada" }).snapshot).toMatchObject({
      outcome: undefined,
      outcomeMissing: "skipped by ada without an outcome",
    });
  });

  it("of a failed task is a revive operation and clears what was forced", () => {
    const { snapshot, transitions } = accept({ ...taskAt("failed"), overridden: true }, { type: "skip", actor: "ada" });
    expect(transitions[0]).toMatchObject({ kind: "revive", from: "failed", to: "skipped" });
    expect(snapshot).toMatchObject({ skippedBy: "ada", overridden: false });
  });
});

describe("reset", () => {
  it.each(["failed", "succeeded", "queued", "retry_wait"] as const)("of a %s task begins a new epoch with a fresh budget", (row) => {
    const before = { ...taskAt(row, { maxAttempts: 3 }), maxAttempts: 9 };
    const { snapshot, transitions } = accept(before, { type: "reset", actor: "ada" });
    expect(snapshot).toMatchObject({
      status: "pending",
      epoch: 1,
      attempt: 0,
      maxAttempts: 3,
      availableAt: null,
      endedAt: null,
      failure: null,
      outcome: undefined,
    });
    expect(transitions[0]).toMatchObject({ kind: "revive", to: "pending", epoch: 1, attempt: 0 });
    expect(snapshot.fencingToken).toBe(before.fencingToken);
  });
});

describe("an abandoned body that may still run", () => {
  const orphaned = after(taskAt("running"), { type: "lost", failure: abandoned });

  it.each(["retry", "reset"] as const)("lets %s through only by force, and stays on record", (type) => {
    expect(refuse(orphaned, { type })).toBeInstanceOf(CarrierAbandoned);
    expect(refuse(orphaned, { type, force: false })).toBeInstanceOf(CarrierAbandoned);
    expect(accept(orphaned, { type, force: true }).snapshot.abandonedBy).toBe("n1:1");
  });

  it("holds back a retry of the backing-off task too", () => {
    const backingOff = { ...taskAt("retry_wait"), abandonedBy: "n0:1" };
    expect(refuse(backingOff, { type: "retry" })).toBeInstanceOf(CarrierAbandoned);
    expect(after(backingOff, { type: "retry", force: true }).status).toBe("queued");
  });

  it("does not hold back what begins no attempt", () => {
    const failed = { ...taskAt("failed"), abandonedBy: "n0:1" };
    expect(after(failed, { type: "skip" }).status).toBe("skipped");
    expect(after({ ...taskAt("queued"), abandonedBy: "n0:1" }, { type: "cancel" }).status).toBe("cancelled");
  });
});

describe("a verb on a task that has ended", () => {
  it.each(["succeeded", "failed", "stopped", "cancelled", "skipped", "lost"] as const)("changes nothing of %s, whether refused or nothing to do", (status) => {
    for (const type of ["stop", "pause", "resume", "cancel"] as const) expect(refuseTransition(taskAt(status), { type }).current).toBe(status);
    expect(refuseTransition(taskAt(status), { type: "start", depsOpen: false }).current).toBe(status);
  });

  it("a new task begins pending at version 0, and a verb refused leaves it there", () => {
    expect(newTask()).toMatchObject({ status: "pending", statusVersion: 0, attempt: 0 });
    expect(refuseTransition(newTask(), { type: "pause" }).allowed).toEqual(["start", "stop", "cancel", "skip"]);
  });
});
