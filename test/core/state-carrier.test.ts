import { describe, expect, it } from "vitest";
import { AttemptsExhausted } from "../../src/core/errors.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { VERB_TABLE } from "../../src/core/verbs.ts";
import type { VerbRow } from "../../src/core/verbs.ts";
import { NOW_MS, abandoned, accept, after, boom, gone, halted, launched, refuse, refuseTransition, stepsOf, taskAt } from "./task-at.ts";

const ROWS = Object.keys(VERB_TABLE) as VerbRow[];
const OCCUPIED = ["starting", "running", "pausing", "paused (in place)", "stopping"] as const satisfies readonly VerbRow[];
const FREE = ROWS.filter((row) => !OCCUPIED.some((occupied) => occupied === row));
const pausingInStart = after(taskAt("starting"), { type: "pause" });
const stoppingInStart = after(taskAt("starting"), { type: "stop" });

describe("launched (markRunning)", () => {
  it("brings a starting task to running and notes its pid", () => {
    const { snapshot, transitions } = accept(taskAt("starting"), launched);
    expect(snapshot).toMatchObject({ status: "running", pid: 42, startedAt: NOW_MS });
    expect(transitions.map((step) => step.trigger)).toEqual(["executor:launched"]);
  });

  it("only notes the fact while a pause is wished: from now on the pause began in running", () => {
    expect(pausingInStart.pausedFrom).toBe("starting");
    const { snapshot, transitions } = accept(pausingInStart, launched);
    expect(transitions).toEqual([]);
    expect(snapshot).toEqual({ ...pausingInStart, pausedFrom: "running", pid: 42 });
  });

  it("only notes the pid while a stop is wished", () => {
    const { snapshot, transitions } = accept(stoppingInStart, launched);
    expect(transitions).toEqual([]);
    expect(snapshot).toEqual({ ...stoppingInStart, pid: 42 });
  });

  it("needs the start time of the present attempt", () => {
    expect(refuseTransition({ ...taskAt("starting"), startedAt: null }, launched).message).toContain("no start time");
  });

  it.each(["running", "pausing", "paused (in place)", "retry_wait", "succeeded", "lost"] as const)("is refused a second time or too late, while %s", (row) => {
    expect(refuseTransition(taskAt(row), launched).requested).toBe("launched");
  });
});

describe("succeeded", () => {
  const event: LifecycleEvent = { type: "succeeded", outcome: 7 };

  it.each(["running", "stopping"] as const)("ends a %s task with its value", (row) => {
    const { snapshot } = accept(taskAt(row), event);
    expect(snapshot).toMatchObject({ status: "succeeded", outcome: 7, failure: null, requestedAction: null, owner: null, pid: null, endedAt: NOW_MS });
  });

  it.each(["pausing", "paused (in place)"] as const)("overtakes the pause of a %s task: two steps, one commit", (row) => {
    const before = taskAt(row);
    const applied = accept(before, event);
    expect(stepsOf(applied)).toEqual([`${before.status} → running`, "running → succeeded"]);
    expect(applied.transitions.map((step) => step.trigger)).toEqual(["pause:overtaken", "executor:finished"]);
    expect(applied.snapshot).toMatchObject({
      status: "succeeded",
      statusVersion: before.statusVersion + 2,
      pausedFrom: null,
      pausedBy: null,
      requestedAction: null,
    });
    expect(applied.attempt).toMatchObject({ attempt: 1, endedAs: "succeeded", endedAt: NOW_MS });
  });

  it.each([...FREE, "starting"] as const)("is refused while %s: a late value settles nothing", (row) => {
    expect(refuseTransition(taskAt(row), event).requested).toBe("succeeded");
  });
});

describe("failed", () => {
  it.each(OCCUPIED)("ends a %s task whose failure is final", (row) => {
    const applied = accept(taskAt(row), { type: "failed", failure: boom, retryAt: null });
    expect(applied.snapshot).toMatchObject({ status: "failed", failure: boom, requestedAction: null, pausedFrom: null, owner: null });
    expect(applied.attempt).toMatchObject({ endedAs: "failed", failure: boom });
  });

  it.each(["starting", "running", "pausing", "paused (in place)"] as const)("sends a %s task to wait for its next attempt", (row) => {
    const applied = accept(taskAt(row), { type: "failed", failure: boom, retryAt: 5_000 });
    expect(applied.snapshot).toMatchObject({
      status: "retry_wait",
      failure: boom,
      availableAt: 5_000,
      endedAt: null,
      requestedAction: null,
      pausedFrom: null,
      pausedBy: null,
      owner: null,
      pid: null,
    });
    expect(applied.attempt).toMatchObject({ attempt: 1, endedAs: "retry_wait", failure: boom });
  });

  it("is never retried in the grace window of a stop", () => {
    expect(accept(taskAt("stopping"), { type: "failed", failure: boom, retryAt: 5_000 }).snapshot).toMatchObject({ status: "failed", availableAt: null });
  });

  it("is refused a retry past the budget", () => {
    const error = refuse(taskAt("running", { maxAttempts: 1 }), { type: "failed", failure: boom, retryAt: 5_000 });
    expect(error).toBeInstanceOf(AttemptsExhausted);
  });

  it.each(FREE)("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type: "failed", failure: boom, retryAt: null }).requested).toBe("failed");
  });
});

describe("ended under a stop or cancel", () => {
  const event: LifecycleEvent = { type: "ended", failure: halted, partialOutcome: [1, 2] };

  it.each([
    { wish: "stop", to: "stopped" },
    { wish: "cancel", to: "cancelled" },
  ] as const)("$wish → $to, what was returned or thrown kept as detail", ({ wish, to }) => {
    const { snapshot, attempt } = accept(after(taskAt("running"), { type: wish }), event);
    expect(snapshot).toMatchObject({ status: to, failure: halted, partialOutcome: [1, 2], requestedAction: null });
    expect(snapshot.outcome).toBeUndefined();
    expect(attempt).toMatchObject({ endedAs: to, failure: halted });
  });

  it.each(ROWS.filter((row) => row !== "stopping"))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), event).requested).toBe("ended");
  });

  it("an attempt that was ended by force says so", () => {
    expect(accept(taskAt("stopping"), { type: "ended", failure: { ...halted, forced: true } }).attempt?.forced).toBe(true);
  });
});

describe("lost", () => {
  it.each(OCCUPIED)("a %s task whose carrier is surely gone leaves no orphan", (row) => {
    const applied = accept(taskAt(row), { type: "lost", failure: gone });
    expect(applied.snapshot).toMatchObject({ status: "lost", failure: gone, owner: null, abandonedBy: null, requestedAction: null });
    expect(applied.attempt).toMatchObject({ endedAs: "lost" });
  });

  it.each(OCCUPIED)("an abandoned body of a %s task is on record with its owner", (row) => {
    expect(accept(taskAt(row), { type: "lost", failure: abandoned }).snapshot).toMatchObject({ status: "lost", owner: null, abandonedBy: "n1:1" });
  });

  it("a second loss forgets no orphan of the first", () => {
    const task = { ...taskAt("running"), abandonedBy: "n0:1" };
    expect(accept(task, { type: "lost", failure: gone }).snapshot.abandonedBy).toBe("n0:1");
  });

  it.each(FREE)("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type: "lost", failure: gone }).requested).toBe("lost");
  });

  it.each(["launched", "succeeded", "failed", "ended", "pauseReached", "pauseTimedOut"] as const)("is sticky: a late %s is refused", (type) => {
    const late: Readonly<Record<typeof type, LifecycleEvent>> = {
      launched,
      succeeded: { type: "succeeded", outcome: "late" },
      failed: { type: "failed", failure: boom, retryAt: 1 },
      ended: { type: "ended", failure: halted },
      pauseReached: { type: "pauseReached" },
      pauseTimedOut: { type: "pauseTimedOut" },
    };
    expect(refuseTransition(taskAt("lost"), late[type]).allowed).toEqual([]);
  });
});

describe("pauseReached", () => {
  it("holds a pausing task in place: its slot and owner stay, the wish is met", () => {
    const { snapshot, attempt } = accept(taskAt("pausing"), { type: "pauseReached" });
    expect(snapshot).toMatchObject({ status: "paused", pausedFrom: "running", requestedAction: null, owner: "n1:1", pid: 42 });
    expect(attempt).toBeNull();
  });

  it.each(ROWS.filter((row) => row !== "pausing"))("is refused while %s", (row) => {
    expect(refuseTransition(taskAt(row), { type: "pauseReached" }).requested).toBe("pauseReached");
  });
});

describe("pauseTimedOut (abortPause)", () => {
  it("rolls a pausing task back to running and drops the wish", () => {
    const { snapshot, transitions } = accept(taskAt("pausing"), { type: "pauseTimedOut" });
    expect(snapshot).toMatchObject({ status: "running", pausedFrom: null, pausedBy: null, requestedAction: null, startedAt: NOW_MS });
    expect(transitions.map((step) => step.trigger)).toEqual(["pause:timed-out"]);
  });

  it("waits for the launch report: there is no running to roll back to before it", () => {
    expect(refuseTransition(pausingInStart, { type: "pauseTimedOut" }).message).toContain("its launch has not reported yet");
    expect(after(pausingInStart, launched, { type: "pauseTimedOut" }).status).toBe("running");
  });

  it.each(ROWS.filter((row) => row !== "pausing"))("is refused while %s: it could make a running that never started", (row) => {
    expect(refuseTransition(taskAt(row), { type: "pauseTimedOut" }).requested).toBe("pauseTimedOut");
  });
});
