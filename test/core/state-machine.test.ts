import { describe, expect, it } from "vitest";
import { TRIGGERS } from "../../src/core/lifecycle-events.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import { apply } from "../../src/core/state-machine.ts";
import { NOW_MS, accept, after, boom, dispatch, launched, newTask, stepsOf, taskAt } from "./task-at.ts";

describe("an accepted event", () => {
  it("comes back as the new snapshot and the steps that led there, ready for the audit", () => {
    const before = taskAt("queued", { pipelineRunId: "r1", node: "clean" });
    const applied = accept(before, { type: "stop", actor: "ada", reason: "wrong day", trigger: "user:stop", commandId: "c9" }, 4_000);
    expect(applied.transitions).toEqual([
      {
        type: "TaskStatusChanged",
        eventId: `t1:${before.statusVersion + 1}`,
        at: 4_000,
        taskId: "t1",
        pipelineRunId: "r1",
        name: "extract",
        node: "clean",
        kind: "transition",
        from: "queued",
        to: "stopped",
        trigger: "user:stop",
        actor: "ada",
        reason: "wrong day",
        statusVersion: before.statusVersion + 1,
        attempt: 0,
        epoch: 0,
        commandId: "c9",
      },
    ]);
    expect(applied.snapshot).toMatchObject({ status: "stopped", statusVersion: before.statusVersion + 1 });
  });

  it("leaves the snapshot it was given alone, and what it does not concern", () => {
    const before = newTask({ tags: ["io"], priority: 5, bucket: 3, bucketKey: "k" });
    const copy = structuredClone(before);
    const { snapshot } = accept(before, { type: "enqueue" });
    expect(before).toEqual(copy);
    expect(snapshot).toEqual({ ...before, status: "queued", statusVersion: 1, queuedAt: NOW_MS });
    expect(snapshot.tags).toBe(before.tags);
  });

  it("is pure: the same question has the same answer", () => {
    const before = taskAt("running");
    const event: LifecycleEvent = { type: "failed", failure: boom, retryAt: 9_000 };
    expect(apply(before, event, 3_000)).toEqual(apply(before, event, 3_000));
  });

  it("has the usual trigger, actor system and no reason where nothing is said", () => {
    const { transitions } = accept(taskAt("running"), { type: "pause" });
    expect(transitions[0]).toMatchObject({ trigger: "user:pause", actor: "system", reason: null, commandId: null });
  });
});

describe("a move of several steps is one commit that reads as what happened", () => {
  it("each step has its own version and event id, and begins where the last one ended", () => {
    const before = taskAt("pausing");
    const { transitions, snapshot } = accept(before, { type: "succeeded", outcome: 1 });
    expect(transitions.map((step) => [step.from, step.to, step.statusVersion, step.eventId])).toEqual([
      ["pausing", "running", 5, "t1:5"],
      ["running", "succeeded", 6, "t1:6"],
    ]);
    expect(snapshot.statusVersion).toBe(6);
  });
});

describe("attempts", () => {
  it("are opened by dispatch, kept open through pause and stop, and closed when the slot is given back", () => {
    const opened = accept(taskAt("queued"), dispatch, 1_000);
    expect(opened.attempt).toMatchObject({ attempt: 1, endedAt: null });
    const running = accept(opened.snapshot, { type: "launched", pid: null }, 1_100);
    const pausing = accept(running.snapshot, { type: "pause" }, 1_200);
    const paused = accept(pausing.snapshot, { type: "pauseReached" }, 1_300);
    const stopping = accept(paused.snapshot, { type: "stop" }, 1_400);
    expect([running, pausing, paused, stopping].map((applied) => applied.attempt)).toEqual([null, null, null, null]);
    const closed = accept(stopping.snapshot, { type: "ended", failure: boom }, 1_500);
    expect(closed.attempt).toMatchObject({ attempt: 1, pid: null, owner: "n1:1", startedAt: 1_000, endedAt: 1_500, durationMs: 500, endedAs: "stopped" });
  });

  it.each(["starting", "pausing", "stopping"] as const)("tell the pid of their carrier as soon as it is known: launched while %s", (status) => {
    const wish = { starting: [], pausing: [{ type: "pause" }], stopping: [{ type: "stop" }] } as const;
    const before = after(taskAt("starting"), ...wish[status]);
    const { attempt, snapshot } = accept(before, launched, NOW_MS + 5);
    expect(attempt).toMatchObject({ attempt: 1, pid: 42, startedAt: NOW_MS, endedAt: null, endedAs: null });
    expect(accept(snapshot, { type: "succeeded", outcome: 1 }).attempt).toMatchObject({ pid: 42, endedAs: "succeeded" });
  });

  it("count from 1 through the budget, then the last failure is final", () => {
    const fail: LifecycleEvent = { type: "failed", failure: boom, retryAt: 1 };
    const third = after(newTask(), { type: "enqueue" }, dispatch, launched, fail, dispatch, launched, fail, dispatch, launched);
    expect(third.attempt).toBe(3);
    expect(apply(third, fail, NOW_MS).ok).toBe(false);
    expect(after(third, { ...fail, retryAt: null, trigger: "retry:exhausted" }).status).toBe("failed");
  });
});

describe("C012: a cancel and the end of a backoff", () => {
  const due: LifecycleEvent = { type: "backoffElapsed" };

  it("a cancel that came first leaves nothing to wake", () => {
    const cancelled = after(taskAt("retry_wait"), { type: "cancel" });
    for (const event of [due, dispatch]) expect(apply(cancelled, event, NOW_MS).ok).toBe(false);
  });

  it("a start that came first is cancelled through the grace window, and never ends cancelled at once", () => {
    const applied = accept(after(taskAt("retry_wait"), due, dispatch), { type: "cancel" });
    expect(stepsOf(applied)).toEqual(["starting → stopping"]);
  });
});

describe("an event of a type that does not exist", () => {
  it("throws: a caller without types is told, and no status is made up", () => {
    // @ts-expect-error there is no such event
    expect(() => apply(taskAt("running"), { type: "finish" }, NOW_MS)).toThrow(TypeError);
  });
});

describe("the usual triggers", () => {
  it("are namespaced, lower-case, and each event has its own", () => {
    const triggers = Object.values(TRIGGERS);
    for (const trigger of triggers) expect(trigger).toMatch(/^(user|scheduler|pipeline|retry|reconcile|executor|pause):[a-z-]+$/);
    expect(new Set(triggers).size).toBe(triggers.length);
  });
});
