import { beforeEach, describe, expect, test } from "vitest";
import type { Cell } from "../../src/runtime/cell.ts";
import { FakeExecutor } from "../../src/testing/fake-executors.ts";
import { Puppet, polling, sleep } from "./support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, ONE_RUNS, Rig } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

/** The steps once it runs, without what led there. */
async function stepsSinceRunning(cell: Cell): Promise<readonly string[]> {
  const steps = await rig.steps(cell);
  return steps.slice(steps.findIndex((step) => step.startsWith("starting → running")) + 1);
}

async function expectInOrder(cell: Cell): Promise<void> {
  expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
}

describe("a pause", () => {
  test("takes hold at the next checkpoint, and the resume lets the body go on", async () => {
    const cell = await rig.submit(polling(rig.clock));
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.settle();
    expect((await rig.row(cell)).status).toBe("pausing");
    await rig.clock.advance(10);
    expect(await paused).toBe(true);
    expect(await rig.row(cell)).toMatchObject({ status: "paused", pausedFrom: "running", pausedBy: "ada" });
    expect(rig.left).toEqual(ONE_RUNS);
    expect(await rig.engine.control.resume(cell, ADA)).toMatchObject({ status: "running", pausedFrom: null, pausedBy: null });
    expect(await stepsSinceRunning(cell)).toEqual(["running → pausing (user:pause)", "pausing → paused (pause:reached)", "paused → running (user:resume)"]);
    await expectInOrder(cell);
  });

  test("that a finish overtakes answers false, and the audit says so", async () => {
    const cell = await rig.submit(puppet.run);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.settle();
    puppet.last.returns(7);
    expect(await paused).toBe(false);
    expect(await stepsSinceRunning(cell)).toEqual([
      "running → pausing (user:pause)",
      "pausing → running (pause:overtaken)",
      "running → succeeded (executor:finished)",
    ]);
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("that is not reached in time is taken back with a warning, and the body is not held later", async () => {
    const cell = await rig.submit(puppet.run);
    const paused = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 5_000 });
    await rig.clock.advance(4_999);
    expect((await rig.row(cell)).status).toBe("pausing");
    await rig.clock.advance(1);
    expect(await paused).toBe(false);
    expect(await rig.row(cell)).toMatchObject({ status: "running", requestedAction: null, pausedFrom: null });
    expect(rig.warnings(cell)).toEqual(["pause_rolled_back"]);
    await puppet.last.ctx.checkpoint();
    expect(rig.left).toEqual(ONE_RUNS);
  });

  test.each([
    [false, /await ctx\.checkpoint\(\) in its loops\.$/],
    [true, /await ctx\.checkpoint\(\), or call ctx\.checkpointSync\(\) where the code is synchronous, in its loops\.$/],
  ])("that is taken back says what is missing (a carrier where synchronous code can be reached: %o)", async (syncCheckpoint, advice) => {
    const fake = new FakeExecutor({ kind: "custom:fake", supports: { syncCheckpoint } });
    rig = await Rig.open({ executors: [fake] });
    const cell = await rig.submit(puppet.run, { executor: fake.kind });
    fake.last.launched();
    const paused = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 5_000 });
    await rig.clock.advance(5_000);
    expect(await paused).toBe(false);
    const said = rig.events.flatMap((event) => (event.type === "TaskWarning" ? [event.message] : []));
    expect(said).toEqual([expect.stringMatching(advice)]);
  });

  test("is given 30 s where nothing is said", async () => {
    const cell = await rig.submit(puppet.run);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(29_999);
    expect((await rig.row(cell)).status).toBe("pausing");
    await rig.clock.advance(1);
    expect(await paused).toBe(false);
  });

  test("taken back by a resume while it is not reached: running again, the body is not held, no timer of the pause is left", async () => {
    const cell = await rig.submit(puppet.run);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.settle();
    expect(await rig.engine.control.resume(cell, ADA)).toMatchObject({ status: "running" });
    expect(await paused).toBe(false);
    await puppet.last.ctx.checkpoint();
    expect(rig.left).toEqual(ONE_RUNS);
  });

  test("asked for twice is one pause, and both get its answer", async () => {
    const cell = await rig.submit(polling(rig.clock));
    const answers = [rig.engine.control.pause(cell, ADA), rig.engine.control.pause(cell, ADA)];
    await rig.clock.advance(10);
    expect(await Promise.all(answers)).toEqual([true, true]);
    expect(await rig.engine.control.pause(cell, ADA)).toBe(true);
    expect(await stepsSinceRunning(cell)).toHaveLength(2);
  });

  test("and a stop before it is reached: stopped, and the pause answers false", async () => {
    const cell = await rig.submit(polling(rig.clock));
    const paused = rig.engine.control.pause(cell, ADA);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.clock.advance(10);
    expect([await paused, (await stopped).status]).toEqual([false, "stopped"]);
    expect(await stepsSinceRunning(cell)).toEqual([
      "running → pausing (user:pause)",
      "pausing → stopping (user:stop)",
      "stopping → stopped (executor:stopped)",
    ]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("and a stop while it holds: the body wakes up to clean up, in one commit", async () => {
    const cleaned: string[] = [];
    const cell = await rig.submit(async (ctx) => {
      try {
        await polling(rig.clock)(ctx);
      } finally {
        cleaned.push("cleaned up");
      }
    });
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(10);
    expect(await paused).toBe(true);
    expect(await rig.engine.control.halt(cell, "cancel", ADA)).toMatchObject({ status: "cancelled" });
    expect(cleaned).toEqual(["cleaned up"]);
    expect((await stepsSinceRunning(cell)).slice(2)).toEqual([
      "paused → running (user:cancel)",
      "running → stopping (user:cancel)",
      "stopping → cancelled (executor:stopped)",
    ]);
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test.each([
    [2, "retry_wait"],
    [1, "failed"],
  ])("of a body that fails before it is reached, with %i attempts: %s", async (maxAttempts, status) => {
    const cell = await rig.submit(puppet.run, { retry: { maxAttempts } });
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.settle();
    puppet.last.throws(new Error("boom"));
    expect(await paused).toBe(false);
    expect(await rig.row(cell)).toMatchObject({ status, pausedFrom: null, requestedAction: null });
    await expectInOrder(cell);
  });

  test("of a body that no longer needs its checkpoint: it finishes while another of its loops is held", async () => {
    const cell = await rig.submit(async (ctx) => {
      void ctx.checkpoint().catch(() => {});
      await sleep(rig.clock, 100);
      void ctx.checkpoint();
      await sleep(rig.clock, 100);
      return "done";
    });
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(100);
    expect(await paused).toBe(true);
    await rig.clock.advance(100);
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "done", pausedFrom: null });
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("while the launch is under way", () => {
  /** Submits a task whose dispatch waits in the store. */
  async function starting(executor: "async" | "inline" = "async"): Promise<{ readonly cell: Cell; readonly release: () => Promise<void> }> {
    const barrier = rig.store.hold("commit");
    const cell = await rig.submit(executor === "async" ? polling(rig.clock) : puppet.run, { executor });
    expect(cell.snapshot.status).toBe("starting");
    return {
      cell,
      release: async () => {
        barrier.release();
        await rig.settle();
      },
    };
  }

  test("nothing is launched before the start is stored", async () => {
    const barrier = rig.store.hold("commit");
    const cell = await rig.submit(puppet.run);
    await rig.clock.advance("1h");
    expect([puppet.calls.length, (await rig.row(cell)).status]).toEqual([0, "queued"]);
    barrier.release();
    await rig.settle();
    expect([puppet.calls.length, (await rig.row(cell)).status]).toEqual([1, "running"]);
  });

  test("a pause holds the body at its first checkpoint", async () => {
    const { cell, release } = await starting();
    const paused = rig.engine.control.pause(cell, ADA);
    await release();
    expect(await paused).toBe(true);
    expect(await rig.row(cell)).toMatchObject({ status: "paused", pausedFrom: "running" });
    await expectInOrder(cell);
  });

  test("a resume of that pause takes hold when the launch has reported", async () => {
    const { cell, release } = await starting();
    const paused = rig.engine.control.pause(cell, ADA);
    const resumed = rig.engine.control.resume(cell, ADA);
    expect(cell.snapshot.status).toBe("pausing");
    await release();
    expect(await paused).toBe(false);
    expect(await resumed).toMatchObject({ status: "running" });
    await rig.clock.advance(100);
    expect((await rig.row(cell)).status).toBe("running");
    await expectInOrder(cell);
  });

  test("a pause whose time is up before the launch has reported is taken back then", async () => {
    const { cell, release } = await starting();
    const paused = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 1_000 });
    await rig.clock.advance(2_000);
    expect(cell.snapshot.status).toBe("pausing");
    await release();
    expect(await paused).toBe(false);
    expect((await rig.row(cell)).status).toBe("running");
    expect(rig.warnings(cell)).toEqual(["pause_rolled_back"]);
    await expectInOrder(cell);
  });

  test("of a pause, a resume and a pause the last counts", async () => {
    const { cell, release } = await starting();
    const first = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 1_000 });
    const resumed = rig.engine.control.resume(cell, ADA);
    const second = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(2_000);
    await release();
    expect([await first, await second]).toEqual([true, true]);
    expect(await resumed).toMatchObject({ status: "paused" });
    await rig.engine.control.resume(cell, ADA);
    await rig.clock.advance(100);
    expect((await rig.row(cell)).status).toBe("running");
    await expectInOrder(cell);
  });

  test("a pause asked for after the time of an earlier one was up counts, and has its own time", async () => {
    const { cell, release } = await starting();
    const first = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 1_000 });
    await rig.clock.advance(2_000);
    const second = rig.engine.control.pause(cell, ADA);
    await release();
    expect([await first, await second]).toEqual([true, true]);
    expect(rig.warnings(cell)).toEqual([]);
    await expectInOrder(cell);
  });

  test.each(["async", "inline"] as const)("a stop ends it, and nothing ran (%s)", async (executor) => {
    const { cell, release } = await starting(executor);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await release();
    expect(await stopped).toMatchObject({ status: "stopped", failure: { kind: "cancelled", message: expect.stringContaining("nothing ran") } });
    expect(puppet.calls).toHaveLength(0);
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
