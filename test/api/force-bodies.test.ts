import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Controller, task } from "../../src/index.ts";
import { BY, ForceStage } from "./force-stage.ts";

let stage: ForceStage;

beforeEach(async () => {
  stage = await ForceStage.open();
});

afterEach(async () => {
  await stage[Symbol.asyncDispose]();
});

describe("a live body", () => {
  test("at a checkpoint is told to stop and ends; what it threw is on the record only", async () => {
    const id = await stage.submit("listening");
    expect(await stage.force(id, "failed")).toMatchObject({
      status: "failed",
      failure: { kind: "exception", message: expect.stringContaining("forced to failed by ada") },
    });
    expect((await stage.get(id)).abandonedBy).not.toBeNull();
    await stage.clock.advance(10);
    expect(stage.controller.orphans).toEqual([]);
    expect(await stage.get(id)).toMatchObject({ status: "failed", abandonedBy: null });
    expect(stage.warnings(id)).toEqual(["abandoned_body_ended"]);
    expect(stage.events.find(({ type }) => type === "TaskWarning")).toMatchObject({
      message: expect.stringContaining("attempt 1 has ended: it threw"),
      failure: { message: expect.stringContaining("was forced to failed by ada") },
    });
  });

  test.each([
    ["a value", () => stage.puppet.last.returns("late"), "it returned; what it returned is discarded"],
    ["an error", () => stage.puppet.last.throws(new Error("late")), "it threw"],
  ] as const)("that is deaf and ends with %s, long after its grace: that is discarded", async (_what, end, how) => {
    const id = await stage.submit("subject");
    const forcedAt = stage.clock.now();
    await stage.force(id, "succeeded", { outcome: "by hand" });
    await stage.clock.advance("1h");
    expect(stage.controller.orphans).toEqual([{ taskId: id, name: "subject", attempt: 1, executor: "async", since: forcedAt }]);
    expect(stage.controller.health.orphans).toBe(1);
    const { statusVersion } = await stage.get(id);
    end();
    await stage.clock.advance(0);
    expect(await stage.get(id)).toMatchObject({ status: "succeeded", outcome: "by hand", failure: null, abandonedBy: null, statusVersion });
    expect(stage.controller.orphans).toEqual([]);
    expect(stage.warnings(id)).toEqual(["abandoned_body_ended"]);
    expect(stage.events.find(({ type }) => type === "TaskWarning")).toMatchObject({ message: expect.stringContaining(how) });
  });

  test("that is paused in place wakes up to end", async () => {
    const id = await stage.bring("paused in place");
    await stage.force(id, "cancelled");
    await stage.clock.advance(0);
    expect(stage.controller.orphans).toEqual([]);
    expect(await stage.get(id)).toMatchObject({ status: "cancelled", pausedFrom: null, abandonedBy: null });
  });

  test("that has not been launched yet never runs", async () => {
    const id = await stage.bring("starting");
    const forced = stage.force(id, "failed");
    await stage.clock.advance(0);
    stage.barrier?.release();
    await stage.clock.advance(0);
    await forced;
    expect(stage.puppet.calls).toHaveLength(0);
    expect(stage.controller.orphans).toEqual([]);
    expect(await stage.get(id)).toMatchObject({ status: "failed", abandonedBy: null });
  });

  test("gives its slot back at once and its semaphore when it has ended", async () => {
    const id = await stage.submit("tagged");
    const sharing = await stage.submit("tagged");
    const other = await stage.submit("subject");
    await stage.force(id, "failed");
    await stage.clock.advance(0);
    expect([(await stage.get(sharing)).status, (await stage.get(other)).status]).toEqual(["queued", "running"]);
    stage.puppet.call(1).returns();
    await stage.clock.advance("1h");
    expect((await stage.get(sharing)).status).toBe("queued");
    stage.puppet.call(0).returns();
    await stage.clock.advance(0);
    expect((await stage.get(sharing)).status).toBe("running");
  });

  test("tells nothing of its progress any more, and saves nothing for the next attempt", async () => {
    const id = await stage.submit("subject");
    const { ctx } = stage.puppet.last;
    ctx.progress({ done: 1, total: 1_000 });
    ctx.progress({ done: 2, total: 1_000 });
    await stage.force(id, "queued");
    ctx.progress({ done: 900, total: 1_000 });
    ctx.save("of the old body");
    await stage.clock.advance("1s");
    expect(await stage.get(id)).toMatchObject({ status: "queued", progress: null });
    expect(stage.events.flatMap((event) => (event.type === "ProgressUpdated" ? [event.progress.done] : []))).toEqual([1]);
    stage.puppet.last.returns();
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
    expect(stage.puppet.last.ctx.saved).toBeUndefined();
  });

  test("closes its attempt on the record as what it was forced to", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "queued");
    stage.puppet.last.returns();
    await stage.clock.advance(0);
    stage.puppet.last.returns("second");
    await stage.clock.advance(0);
    expect((await stage.controller.attempts(id)).map(({ attempt, endedAs }) => [attempt, endedAs])).toEqual([
      [1, "queued"],
      [2, "succeeded"],
    ]);
    expect(await stage.get(id)).toMatchObject({ outcome: "second", overridden: true });
  });
});

describe("force to queued while the body runs", () => {
  test("the next attempt begins when the old body has ended, and not before", async () => {
    const id = await stage.submit("subject");
    expect(await stage.force(id, "queued")).toMatchObject({ status: "queued", attempt: 1, maxAttempts: 2 });
    const since = stage.clock.now();
    await stage.clock.advance("1h");
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["queued", 1]);
    expect(stage.controller.orphans).toEqual([{ taskId: id, name: "subject", attempt: 1, executor: "async", since }]);
    stage.puppet.last.returns("late");
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
    expect(await stage.get(id)).toMatchObject({ status: "running", attempt: 2, abandonedBy: null, outcome: undefined });
    stage.puppet.last.returns("right");
    await stage.clock.advance(0);
    expect(await stage.get(id)).toMatchObject({ status: "succeeded", outcome: "right" });
  });

  test("its slot is free for others meanwhile", async () => {
    const id = await stage.submit("subject");
    const other = await stage.submit("subject");
    await stage.force(id, "queued");
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, (await stage.get(other)).status]).toEqual(["queued", "running"]);
  });

  test("a refused force leaves it waiting: it still begins once the body has ended", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "queued");
    await expect(stage.force(id, "running")).rejects.toMatchObject({ code: "CONFIGURATION" });
    await expect(stage.force(id, "queued")).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    await stage.clock.advance("1h");
    expect(stage.puppet.calls).toHaveLength(1);
    stage.puppet.last.returns();
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["running", 2]);
  });

  test("a refused force of a running task changes nothing: it is queued by a later retry as ever", async () => {
    const id = await stage.submit("subject");
    await expect(stage.force(id, "running")).rejects.toMatchObject({ code: "CONFIGURATION" });
    stage.puppet.last.throws(new Error("boom"));
    await stage.clock.advance(0);
    await stage.controller.retry(id);
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
  });

  test("said again with force it begins at once: a person wants both", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "queued");
    await stage.force(id, "queued", { force: true });
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
    stage.puppet.call(1).returns("right");
    stage.puppet.call(0).returns("late");
    await stage.clock.advance(0);
    expect(await stage.get(id)).toMatchObject({ status: "succeeded", outcome: "right", abandonedBy: null });
  });

  test("paused and resumed while it waits, it waits on; paused when the body ends, it runs after resume", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "queued");
    expect(await stage.controller.pause(id)).toBe(true);
    await stage.controller.resume(id);
    await stage.clock.advance("1h");
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["queued", 1]);
    await stage.controller.pause(id);
    stage.puppet.last.returns();
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["paused", 1]);
    await stage.controller.resume(id);
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
  });

  test("stopped while it waits it stays stopped; a forced retry then begins at once", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "queued");
    expect(await stage.controller.stop(id)).toMatchObject({ status: "stopped", overridden: true });
    await expect(stage.controller.retry(id)).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    expect(await stage.controller.retry(id, { force: true })).toMatchObject({ status: "queued", overridden: false });
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["running", 2]);
    stage.puppet.call(0).returns("late");
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["running", 2]);
  });

  test("before its launch is stored: one body runs, once, and not before its own start is stored", async () => {
    const id = await stage.bring("starting");
    const forced = stage.force(id, "queued");
    await stage.clock.advance(0);
    stage.barrier?.release();
    stage.barrier = stage.store.hold("commit");
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(0);
    stage.barrier.release();
    await stage.clock.advance(0);
    await forced;
    expect(stage.puppet.calls).toHaveLength(1);
    expect(stage.puppet.last.ctx.attempt).toBe(2);
    expect((await stage.controller.attempts(id)).map(({ attempt, endedAs }) => [attempt, endedAs])).toEqual([
      [1, "queued"],
      [2, null],
    ]);
  });
});

describe("force to pending while the body runs", () => {
  test("start waits for the old body, too", async () => {
    const id = await stage.submit("subject");
    expect(await stage.force(id, "pending")).toMatchObject({ status: "pending" });
    expect(await stage.controller.start(id)).toMatchObject({ status: "queued" });
    await stage.clock.advance("1h");
    expect(stage.puppet.calls).toHaveLength(1);
    stage.puppet.last.returns("late");
    await stage.clock.advance(0);
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["running", 2]);
  });

  test("without start nothing runs when the body has ended", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "pending");
    stage.puppet.last.returns("late");
    await stage.clock.advance("1h");
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["pending", 1]);
    await stage.controller.start(id);
    await stage.clock.advance(0);
    expect(stage.puppet.calls).toHaveLength(2);
  });
});

describe("force together with other wishes", () => {
  test("during a stop: whoever waits for the stop gets the forced end", async () => {
    const id = await stage.submit("subject");
    const stopped = stage.controller.stop(id, { grace: "1h" });
    await stage.clock.advance(0);
    await stage.force(id, "succeeded", { outcome: 5 });
    expect(await stopped).toMatchObject({ status: "succeeded", outcome: 5, requestedAction: null });
    // The grace of a force is shorter than that of the stop: it holds.
    await stage.clock.advance("10s");
    expect(stage.controller.orphans).toMatchObject([{ taskId: id }]);
  });

  test("during a pause: the pause is answered with false, and its time-out does nothing later", async () => {
    const id = await stage.submit("subject");
    const paused = stage.controller.pause(id, { timeout: "1m" });
    await stage.clock.advance(0);
    await stage.force(id, "failed");
    expect(await paused).toBe(false);
    await stage.clock.advance("1h");
    expect(await stage.get(id)).toMatchObject({ status: "failed", pausedFrom: null, requestedAction: null });
    expect(stage.warnings(id)).toEqual([]);
  });

  test("two in one tick: the last one holds, both are on the record, and the body is told once", async () => {
    const id = await stage.submit("subject");
    const both = await Promise.all([stage.force(id, "failed"), stage.force(id, "succeeded", { outcome: 2 })]);
    expect(both.every(({ overridden }) => overridden)).toBe(true);
    expect(await stage.get(id)).toMatchObject({ status: "succeeded", outcome: 2, failure: null });
    expect((await stage.controller.history(id)).filter(({ kind }) => kind === "override").map(({ from, to }) => [from, to])).toEqual([
      ["running", "failed"],
      ["failed", "succeeded"],
    ]);
    expect(stage.controller.orphans).toHaveLength(1);
    stage.puppet.last.returns();
    await stage.clock.advance(0);
    expect(stage.warnings(id)).toEqual(["abandoned_body_ended"]);
    await stage.expectOneSlot();
  });

  test("to queued and then to failed in one tick: nothing begins when the body has ended", async () => {
    const id = await stage.submit("subject");
    await Promise.all([stage.force(id, "queued"), stage.force(id, "failed")]);
    stage.puppet.last.returns();
    await stage.clock.advance("1h");
    expect([(await stage.get(id)).status, stage.puppet.calls.length]).toEqual(["failed", 1]);
    await stage.expectOneSlot();
  });

  test("retry after it runs the task again and clears the mark", async () => {
    const id = await stage.submit("subject");
    await stage.force(id, "failed");
    expect(await stage.controller.can(id, "retry")).toMatchObject({ allowed: false });
    await expect(stage.controller.retry(id)).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    stage.puppet.last.returns("late");
    await stage.clock.advance(0);
    expect(await stage.controller.can(id, "retry")).toEqual({ allowed: true, reason: null });
    expect(await stage.controller.retry(id)).toMatchObject({ status: "queued", overridden: false, failure: null });
    await stage.clock.advance(0);
    stage.puppet.last.returns("right");
    await stage.clock.advance(0);
    expect(await stage.get(id)).toMatchObject({ status: "succeeded", outcome: "right", overridden: false, attempt: 2 });
  });

  test("close() begun before it: refused; begun after it: the body has its grace, and close leaves nothing behind", async () => {
    const id = await stage.submit("listening");
    await stage.force(id, "queued");
    const closed = stage.controller.close({ grace: "5s" });
    await expect(stage.force(id, "failed")).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
    await stage.clock.advance(10);
    await closed;
    expect(stage.clock.pendingTimers).toBe(0);
    const row = await stage.store.tasks.get(id).catch(() => undefined);
    expect(row?.status ?? "cancelled").toBe("cancelled");
  });

  test("close() does not wait longer than its grace for a deaf body that was forced away", async () => {
    await stage.force(await stage.submit("subject"), "failed");
    let over = false;
    const closed = stage.controller.close({ grace: "2s" }).then(() => (over = true));
    await stage.clock.advance(1_999);
    expect(over).toBe(false);
    await stage.clock.advance(1);
    await closed;
    expect(stage.clock.pendingTimers).toBe(0);
  });

  test("by the task itself: its own end is discarded", async () => {
    const own = task({ name: "own" }, async (ctx) => {
      await owner.forceTransition(ctx.taskId, "succeeded", { ...BY, outcome: "by hand" });
      return "by itself";
    });
    const owner = await Controller.open({ clock: stage.clock, tasks: [own] });
    const handle = await owner.submit(own);
    await stage.clock.advance(0);
    expect(await handle.result()).toBe("by hand");
    expect(owner.orphans).toEqual([]);
    await owner.close();
  });
});

describe("what a forced task answers with", () => {
  test("result() by status; an error of an earlier attempt is not taken for the cause", async () => {
    const handle = await stage.controller.submit("subject");
    await stage.clock.advance(0);
    stage.puppet.last.throws(new Error("of the first attempt"));
    await stage.clock.advance(0);
    await handle.retry();
    await stage.clock.advance(0);
    await stage.force(handle.id, "failed");
    const error: unknown = await handle.result().catch((problem: unknown) => problem);
    expect(error).toMatchObject({ code: "TASK_EXECUTION", message: expect.stringContaining("forced to failed by ada") });
    expect(String(error instanceof Error ? error.cause : error)).toContain("forced to failed by ada");
  });

  test("succeeded without an outcome: OutcomeMissing names the person", async () => {
    const handle = await stage.controller.submit("subject");
    await stage.clock.advance(0);
    await stage.force(handle.id, "succeeded");
    await expect(handle.result()).rejects.toMatchObject({ code: "OUTCOME_MISSING", message: expect.stringContaining("ada") });
  });
});
