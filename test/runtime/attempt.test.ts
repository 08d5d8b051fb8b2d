import { beforeEach, describe, expect, test } from "vitest";
import type { Cell } from "../../src/runtime/cell.ts";
import { FakeExecutor } from "../../src/testing/fake-executors.ts";
import type { Barrier } from "./support/fault-store.ts";
import { Puppet, polling, sleep } from "./support/puppet.ts";
import { ADA, brokenRules, HEARTBEAT, NOTHING_LEFT, ONE_RUNS, Rig } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

async function expectInOrder(cell: Cell): Promise<void> {
  expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
}

describe("an attempt timeout", () => {
  test("asks a body that listens to end: another attempt follows, with the timeout's kind on the record", async () => {
    const cell = await rig.submit(polling(rig.clock), { timeout: { attempt: "1s" }, retry: { maxAttempts: 2 } });
    await rig.clock.advance(1_010);
    expect(await rig.row(cell)).toMatchObject({ status: "retry_wait", attempt: 1, failure: { kind: "timeout_attempt", name: "TaskTimeout", retryable: true } });
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toMatchObject({ status: "failed", attempt: 2, failure: { kind: "timeout_attempt" } });
    expect(await rig.store.audit.attempts(cell.taskId)).toMatchObject([
      { attempt: 1, endedAs: "retry_wait", failure: { kind: "timeout_attempt" } },
      { attempt: 2, endedAs: "failed", failure: { kind: "timeout_attempt" } },
    ]);
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("gives a deaf body 5 s: it runs on meanwhile, then it is lost with the timeout's kind", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s" }, retry: { maxAttempts: 3 } });
    await rig.clock.advance(5_999);
    expect(await rig.row(cell)).toMatchObject({ status: "running", requestedAction: null });
    await rig.clock.advance(1);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", failure: { kind: "timeout_attempt", abandoned: true }, abandonedBy: expect.any(String) });
    expect(rig.engine.health.orphans).toBe(1);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("discards, on the record, what a body returns in those 5 s", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s" } });
    await rig.clock.advance(3_000);
    puppet.last.returns("late");
    await rig.settle();
    const row = await rig.row(cell);
    expect(row).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
    expect([row.outcome, row.partialOutcome]).toEqual([undefined, undefined]);
    expect(rig.warnings(cell)).toEqual(["late_result_discarded"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("is at work on an inline task as well", async () => {
    const cell = await rig.submit(polling(rig.clock), { timeout: { attempt: "1s" }, executor: "inline" });
    await rig.clock.advance(1_010);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
  });

  test("is told to the body as ctx.deadline, in wall time", async () => {
    const begunAt = rig.clock.now();
    await rig.submit(puppet.run, { timeout: { attempt: "1s" } });
    expect(puppet.last.ctx.deadline).toBe(begunAt + 1_000);
    await rig.clock.advance(400);
    expect(puppet.last.ctx.deadline).toBe(begunAt + 1_000);
  });

  test("does not count the time paused, and the deadline moves by it", async () => {
    const cell = await rig.submit(polling(rig.clock), { timeout: { attempt: "1s", idle: "800ms" } });
    await rig.clock.advance(500);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(10);
    expect(await paused).toBe(true);
    await rig.clock.advance("1h");
    expect((await rig.row(cell)).status).toBe("paused");
    await rig.engine.control.resume(cell, ADA);
    await rig.clock.advance(480);
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(20);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
  });

  test("counts the time in which a pause is asked for and not reached", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s" } });
    await rig.clock.advance(200);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(800);
    expect(puppet.last.ctx.signal.aborted).toBe(true);
    puppet.last.throws(puppet.last.ctx.signal.reason);
    expect(await paused).toBe(false);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", requestedAction: null, failure: { kind: "timeout_attempt" } });
    await expectInOrder(cell);
  });
});

describe("an idle timeout", () => {
  test("fires when the task shows no sign of life", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { idle: "1s" } });
    await rig.clock.advance(6_000);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", failure: { kind: "timeout_idle" } });
  });

  test.each([
    ["checkpoint", (): unknown => puppet.last.ctx.checkpoint()],
    ["progress", (): unknown => puppet.last.ctx.progress({ done: 1 })],
    ["log", (): unknown => puppet.last.ctx.log.debug("alive")],
    ["emit", (): unknown => puppet.last.ctx.emit("beat", null)],
  ])("is moved by %s", async (_what, sign) => {
    const cell = await rig.submit(puppet.run, { timeout: { idle: "1s" } });
    for (let time = 0; time < 5; time += 1) {
      await rig.clock.advance(900);
      void sign();
    }
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(999);
    // Its own, however often it was moved, and the heartbeat.
    expect(rig.clock.pendingTimers).toBe(1 + HEARTBEAT);
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(5_001);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", failure: { kind: "timeout_idle" } });
  });

  test("and an attempt timeout: whichever is first, and only that one", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { start: "1s", attempt: "3s", idle: "2s" } });
    await rig.clock.advance(1_500);
    puppet.last.ctx.log.info("alive");
    await rig.clock.advance(1_499);
    expect(puppet.last.ctx.signal.aborted).toBe(false);
    await rig.clock.advance(1);
    expect(puppet.last.ctx.signal.aborted).toBe(true);
    puppet.last.throws(new Error("interrupted"));
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("a start timeout", () => {
  test.each(["async", "inline"] as const)("ends a launch that takes too long: nothing ran, and another attempt may follow (%s)", async (executor) => {
    const barrier = rig.store.hold("commit");
    const cell = await rig.submit(puppet.run, { executor, timeout: { start: "1s" }, retry: { maxAttempts: 2 } });
    await rig.clock.advance("1s");
    barrier.release();
    await rig.settle();
    expect(puppet.calls).toHaveLength(0);
    expect(await rig.row(cell)).toMatchObject({ status: "retry_wait", failure: { kind: "timeout_start", abandoned: false } });
    await rig.clock.advance("1h");
    expect(puppet.calls).toHaveLength(1);
    puppet.last.returns(1);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", attempt: 2 });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("that has fired is what counts, though the carrier then says that it was launched", async () => {
    const fake = new FakeExecutor({ supports: { kill: true } });
    rig = await Rig.open({ executors: [fake] });
    const cell = await rig.submit(puppet.run, { executor: fake.kind, timeout: { start: "1s" } });
    await rig.clock.advance("1s");
    fake.last.launched(7);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "starting", pid: null });
    fake.last.settle({ type: "killed", exitCode: null, signal: "SIGKILL" });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { kind: "timeout_start", forced: true } });
    expect((await rig.store.audit.history(cell.taskId)).map(({ to }) => to)).not.toContain("running");
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("is over with the launch", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { start: "1s" } });
    await rig.clock.advance("1h");
    expect((await rig.row(cell)).status).toBe("running");
    expect(rig.left).toEqual(ONE_RUNS);
  });
});

describe("a stop in a timeout's grace wins", () => {
  test("a body that listens ends stopped, not failed, and is not retried", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s" }, retry: { maxAttempts: 3 } });
    await rig.clock.advance(2_000);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await expect(puppet.last.ctx.checkpoint()).rejects.toThrow("ran longer");
    puppet.last.throws(new Error("interrupted"));
    expect(await stopped).toMatchObject({ status: "stopped", failure: { kind: "cancelled", retryable: false } });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test.each([
    ["a longer grace does not move the timeout's deadline", 10_000, 6_000],
    ["a shorter one tightens it", 1_000, 3_000],
  ])("%s", async (_what, graceMs, lostAtMs) => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s" } });
    await rig.clock.advance(2_000);
    const stopped = rig.engine.control.halt(cell, "stop", { ...ADA, graceMs });
    await rig.clock.advance(lostAtMs - 2_001);
    expect((await rig.row(cell)).status).toBe("stopping");
    await rig.clock.advance(1);
    expect(await stopped).toMatchObject({ status: "lost", failure: { kind: "lost", abandoned: true } });
  });

  test("no timeout fires any more once it is stopping", async () => {
    const cell = await rig.submit(puppet.run, { timeout: { attempt: "1s", idle: "1s" } });
    void rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 60_000 });
    await rig.clock.advance(30_000);
    expect((await rig.row(cell)).status).toBe("stopping");
    puppet.last.returns(7);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: 7 });
  });
});

describe("what a body reports", () => {
  /** The task's events so far: statuses by their names, all else by its type. */
  function told(cell: Cell): readonly string[] {
    return rig.events.filter(({ taskId }) => taskId === cell.taskId).map((event) => (event.type === "TaskStatusChanged" ? event.to : event.type));
  }

  test.each(["async", "inline"] as const)("comes between the step to running and the end, though all of it is one write (%s)", async (executor) => {
    const cell = await rig.submit(
      (ctx) => {
        ctx.progress({ done: 1, total: 2 });
        ctx.log.info("half way", { at: 1 });
        ctx.emit("row", { id: 1 });
        ctx.progress({ done: 2 });
        return "done";
      },
      { executor },
    );
    const said = ["ProgressUpdated", "TaskLogLine", "TaskOutput", "ProgressUpdated"];
    expect(told(cell)).toEqual(["TaskCreated", "queued", "starting", "AttemptStarted", "running", ...said, "succeeded"]);
  });

  test("while the step to running is being written comes behind it, and ahead of what is decided meanwhile", async () => {
    const barriers: Barrier[] = [];
    const cell = await rig.submit(async (ctx) => {
      barriers.push(rig.store.hold("commit"));
      await sleep(rig.clock, 100);
      ctx.log.info("while it is being written");
      return "done";
    });
    await rig.clock.advance(100);
    expect([told(cell).at(-1), cell.snapshot.status]).toEqual(["AttemptStarted", "succeeded"]);
    for (const barrier of barriers) barrier.release();
    await rig.settle();
    expect(told(cell).slice(4)).toEqual(["running", "TaskLogLine", "succeeded"]);
  });

  test("goes out at once where nothing waits to be written", async () => {
    const cell = await rig.submit(puppet.run);
    puppet.last.ctx.log.info("hello");
    expect(told(cell).at(-1)).toBe("TaskLogLine");
  });

  test("its progress is in the row", async () => {
    const cell = await rig.submit(puppet.run);
    puppet.last.ctx.progress({ done: 3, total: 4, unit: "rows" });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ progress: { done: 3, total: 4, unit: "rows", updatedAt: rig.clock.now() } });
    puppet.last.returns(1);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", progress: { done: 3 } });
  });

  test("progress of an abandoned body changes nothing", async () => {
    const cell = await rig.submit(puppet.run);
    await Promise.all([rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 0 }), rig.settle()]);
    puppet.last.ctx.progress({ done: 3 });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "lost", progress: null });
    expect(rig.events.some(({ type }) => type === "ProgressUpdated")).toBe(false);
  });

  test("ctx.upstream of a task on its own is refused", async () => {
    const cell = await rig.submit(async (ctx) => await ctx.upstream("raw"));
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { name: "ConfigurationError", message: expect.stringContaining("raw") } });
  });
});
