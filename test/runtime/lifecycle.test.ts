import { beforeEach, describe, expect, test } from "vitest";
import { ConcurrencyConflict, StoreError } from "../../src/core/errors.ts";
import type { TaskWarning } from "../../src/core/events.ts";
import { Puppet, polling, sleep } from "./support/puppet.ts";
import { ADA, NOTHING_LEFT, Rig, submission } from "./support/rig.ts";

const BUSY = new StoreError("the disk is full", { transient: true });

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

/** Resolves with the task's row at its end. */
async function ended(taskId: string): ReturnType<Rig["row"]> {
  return await rig.engine.wait(taskId, null, { timeoutMs: null });
}

describe("a value that cannot be stored", () => {
  test.each([
    ["async", () => () => 0],
    ["inline", () => () => 0],
  ] as const)("does not fail the task: the row says why it is missing, and one warning does (%s)", async (executor, body) => {
    const cell = await rig.submit(body, { executor });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcomeMissing: expect.stringContaining("function") });
    expect(rig.warnings(cell)).toEqual(["outcome_not_stored"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("is warned of once, though something else is noted while the end is being written", async () => {
    const cell = await rig.submit(async () => {
      await sleep(rig.clock, 10);
      void Promise.reject(new Error("left behind"));
      return () => 0;
    });
    const barrier = rig.store.hold("commit");
    await rig.clock.advance(10);
    barrier.release();
    await rig.settle();
    expect(rig.warnings(cell).toSorted()).toEqual(["outcome_not_stored", "stray_error"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("among the arguments rejects that submit and makes no task", async () => {
    await expect(rig.submit(puppet.run, { args: [() => 0] })).rejects.toMatchObject({ code: "CONFIGURATION" });
    expect(Object.values(await rig.store.tasks.counts({})).every((count) => count === 0)).toBe(true);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("a change that cannot be stored", () => {
  test("is told to whoever waits for the task, instead of letting them wait for ever", async () => {
    const cell = await rig.submit(puppet.run);
    rig.store.fail("commit", new ConcurrencyConflict(cell.taskId, 3, 4));
    const waits = Promise.allSettled([ended(cell.taskId), rig.engine.control.halt(cell, "stop", ADA)]);
    await rig.settle();
    expect((await waits).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(cell.watcherCount).toBe(0);
    expect(rig.said).toContain("error: a change of a task was not stored");
  });
});

describe("a store that fails for a while", () => {
  test("fails no task: nothing new is launched meanwhile, and all goes on in order when it is back", async () => {
    const running = await rig.submit(puppet.run);
    rig.store.fail("create", BUSY, { times: 3 });
    rig.store.fail("commit", BUSY, { times: 3 });
    const second = new Puppet();
    const submitted = rig.engine.submit(submission(second.run));
    puppet.last.returns("done");
    await rig.settle();
    await rig.clock.advance(10);
    expect(second.calls).toHaveLength(0);
    expect(rig.engine.health).toMatchObject({ degraded: true, persistFailures: 1 });
    expect((await rig.row(running)).status).toBe("running");
    const over = ended(running.taskId);
    await rig.clock.advance("1m");
    expect(await over).toMatchObject({ status: "succeeded", outcome: "done" });
    const cell = await submitted;
    await rig.settle();
    expect((await rig.row(cell)).status).toBe("running");
    expect(rig.engine.health.degraded).toBe(false);
  });

  test("keeps no stop from its body: the wish does not wait for the store", async () => {
    const cell = await rig.submit(polling(rig.clock));
    rig.store.fail("commit", BUSY, { times: 1 });
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.clock.advance(10);
    expect(cell.snapshot.status).toBe("stopped");
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(100);
    expect((await stopped).status).toBe("stopped");
  });

  test("is never overtaken by an answer: a wait ends when the end is stored, not before", async () => {
    const cell = await rig.submit(puppet.run);
    const barrier = rig.store.hold("commit");
    let over = false;
    void ended(cell.taskId).then(() => (over = true));
    puppet.last.returns(1);
    await rig.clock.advance("1h");
    expect(over).toBe(false);
    barrier.release();
    await rig.settle();
    expect(over).toBe(true);
  });
});

describe("what is kept in memory", () => {
  test("a task until its end is stored, and no longer", async () => {
    const cell = await rig.submit(puppet.run);
    const barrier = rig.store.hold("commit");
    puppet.last.returns(1);
    await rig.settle();
    expect(rig.engine.cell(cell.taskId)).toBe(cell);
    barrier.release();
    await rig.settle();
    expect(rig.engine.cell(cell.taskId)).toBeUndefined();
  });
});

describe("warnings of a task that has ended", () => {
  test("are recorded each, and the later one takes nothing back that the earlier one noted", async () => {
    const cell = await rig.submit(async () => {
      await sleep(rig.clock, 5_000);
      void Promise.reject(new Error("left behind"));
    });
    void rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 0 });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "lost", abandonedBy: expect.any(String) });
    const barrier = rig.store.hold("get");
    await rig.clock.advance(5_000);
    barrier.release();
    await rig.settle();
    await rig.settle();
    expect((await rig.row(cell)).abandonedBy).toBeNull();
    expect(rig.warnings(cell).toSorted()).toEqual(["abandoned_body_ended", "stray_error"]);
  });

  test("come beside the steps: the version stays, and each has its own id", async () => {
    const cell = await rig.submit(() => {
      for (const nth of [1, 2, 3]) void sleep(rig.clock, 10).then(() => Promise.reject(new Error(`stray ${nth}`)));
      return "done";
    });
    const before = await rig.row(cell);
    await rig.clock.advance(10);
    await rig.settle();
    expect(await rig.row(cell)).toEqual(before);
    const warnings = rig.events.filter((event): event is TaskWarning => event.type === "TaskWarning");
    expect(warnings.map(({ failure }) => failure?.message)).toEqual(["stray 1", "stray 2", "stray 3"]);
    expect(new Set(warnings.map(({ eventId }) => eventId)).size).toBe(3);
  });

  test("are noted on the task as it is now, where it was revived while they were being recorded", async () => {
    const cell = await rig.submit(puppet.run);
    void rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 0 });
    await rig.settle();
    const again = await rig.engine.cellOf(cell.taskId, () => cell.definition);
    const barrier = rig.store.hold("get", "after");
    puppet.call(0).returns("late");
    await rig.settle();
    expect(barrier.arrived).toBe(1);
    rig.engine.hold(again);
    await rig.engine.control.retry(again, { ...ADA, force: true });
    await rig.settle();
    barrier.release();
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 2, abandonedBy: null });
    expect(rig.warnings(cell)).toEqual(["abandoned_body_ended"]);
    puppet.call(1).returns("second");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second" });
  });

  test("that cannot be recorded are said to the logger, and hurt nobody", async () => {
    await rig.submit(() => {
      void sleep(rig.clock, 10).then(() => Promise.reject(new Error("stray")));
    });
    rig.store.fail("get", new StoreError("no such table"));
    await rig.clock.advance(10);
    await rig.settle();
    expect(rig.said).toContainEqual(expect.stringMatching(/^error: attempt 1 left .* nobody awaited: stray/));
  });
});

test("progress that cannot be stored is said to the logger, and hurts nobody", async () => {
  const cell = await rig.submit(puppet.run);
  rig.store.fail("touch", BUSY);
  puppet.last.ctx.progress({ done: 1 });
  puppet.last.returns(1);
  await rig.settle();
  expect((await rig.row(cell)).status).toBe("succeeded");
  expect(rig.said).toContain("warn: progress could not be stored");
});

test("progress at the first line of a body is in the row: the step that is being stored does not bring the old one back", async () => {
  const ended = Promise.withResolvers<void>();
  const cell = await rig.submit(async (ctx) => {
    ctx.progress({ done: 1, total: 3 });
    await ended.promise;
  });
  await rig.settle();
  expect(await rig.row(cell)).toMatchObject({ status: "running", progress: { done: 1, total: 3 } });
  ended.resolve();
  await rig.settle();
});

test("a logger that throws stops nothing", async () => {
  const loud = await Rig.open({ logThrows: true });
  loud.store.fail("create", BUSY);
  const submitted = loud.engine.submit(submission(() => 7));
  await loud.clock.advance(50);
  const cell = await submitted;
  await loud.settle();
  expect(await loud.row(cell)).toMatchObject({ status: "succeeded", outcome: 7 });
});
