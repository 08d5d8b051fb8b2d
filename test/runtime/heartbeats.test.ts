import { beforeEach, describe, expect, test } from "vitest";
import { StoreError } from "../../src/core/errors.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { FakeExecutor } from "../../src/testing/fake-executors.ts";
import { Puppet, polling } from "./support/puppet.ts";
import { ADA, HEARTBEAT, NOTHING_LEFT, ONE_RUNS, Rig } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

/** When the task was said to be alive, so far: milliseconds since a time. */
function beatsSince(fromMs: number, cell: Cell): readonly number[] {
  return rig.events.filter(({ type, taskId }) => type === "TaskHeartbeat" && taskId === cell.taskId).map(({ at }) => at - fromMs);
}

describe.each(["async", "inline"] as const)("a task on this thread's loop (%s)", (executor) => {
  test("is said to be alive each 5 s, in its row and as an event", async () => {
    const begunAt = rig.clock.now();
    const cell = await rig.submit(puppet.run, { executor });
    await rig.clock.advance(4_999);
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[], begunAt]);
    await rig.clock.advance(1);
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[5_000], begunAt + 5_000]);
    await rig.clock.advance(15_000);
    expect(beatsSince(begunAt, cell)).toEqual([5_000, 10_000, 15_000, 20_000]);
    expect(await rig.row(cell)).toMatchObject({ status: "running", statusVersion: 3, lastHeartbeatAt: begunAt + 20_000 });
    expect(new Set(rig.events.map(({ eventId }) => eventId)).size).toBe(rig.events.length);
  });

  test("is not said to be alive any more once it has ended", async () => {
    const begunAt = rig.clock.now();
    const cell = await rig.submit(puppet.run, { executor });
    await rig.clock.advance(12_000);
    puppet.last.returns(1);
    await rig.settle();
    expect(rig.left).toEqual(NOTHING_LEFT);
    await rig.clock.advance("1h");
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[5_000, 10_000], begunAt + 10_000]);
  });

  test("nor once its body was given up on, though that still runs", async () => {
    const begunAt = rig.clock.now();
    const cell = await rig.submit(puppet.run, { executor });
    const stopped = rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 7_000 });
    await rig.clock.advance(7_000);
    expect(await stopped).toMatchObject({ status: "lost" });
    expect([rig.engine.health.orphans, rig.left]).toEqual([1, NOTHING_LEFT]);
    await rig.clock.advance("1h");
    expect(beatsSince(begunAt, cell)).toEqual([5_000]);
    puppet.last.returns("late");
    await rig.settle();
    expect([rig.engine.health.orphans, rig.left]).toEqual([0, NOTHING_LEFT]);
  });
});

describe("the heartbeat", () => {
  test("goes on while the task is paused", async () => {
    const begunAt = rig.clock.now();
    const cell = await rig.submit(polling(rig.clock));
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(10);
    expect(await paused).toBe(true);
    await rig.clock.advance(14_990);
    expect(await rig.row(cell)).toMatchObject({ status: "paused", lastHeartbeatAt: begunAt + 15_000 });
    expect(beatsSince(begunAt, cell)).toEqual([5_000, 10_000, 15_000]);
  });

  test("is one timer and one write, however many run", async () => {
    for (let index = 0; index < 10; index += 1) await rig.submit(puppet.run);
    expect(rig.clock.pendingTimers).toBe(HEARTBEAT);
    const touches = rig.store.hold("touch");
    await rig.clock.advance(5_000);
    expect(touches.arrived).toBe(1);
    touches.release();
    expect(rig.events.filter(({ type }) => type === "TaskHeartbeat")).toHaveLength(10);
    for (let index = 0; index < 9; index += 1) puppet.call(index).returns(1);
    await rig.settle();
    expect(rig.left).toEqual(ONE_RUNS);
    puppet.call(9).returns(1);
    await rig.settle();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("of a task says nothing of another whose body was given up on", async () => {
    const begunAt = rig.clock.now();
    const given = await rig.submit(puppet.run);
    const other = await rig.submit(puppet.run);
    const stopped = rig.engine.control.halt(given, "stop", { ...ADA, graceMs: 0 });
    await rig.clock.advance(10_000);
    await stopped;
    expect([beatsSince(begunAt, given), beatsSince(begunAt, other)]).toEqual([[], [5_000, 10_000]]);
  });

  test("rests between two attempts", async () => {
    const cell = await rig.submit(puppet.run, { retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } });
    puppet.last.throws(new Error("boom"));
    await rig.settle();
    // The backoff's.
    expect(rig.left).toEqual({ ...NOTHING_LEFT, tasks: 1, timers: 1 });
    await rig.clock.advance("1m");
    const begunAt = rig.clock.now();
    await rig.clock.advance(5_000);
    expect(beatsSince(begunAt, cell)).toEqual([5_000]);
  });

  test("that cannot be stored is logged and fails nothing", async () => {
    const begunAt = rig.clock.now();
    const cell = await rig.submit(puppet.run);
    rig.store.fail("touch", new StoreError("the disk is full", { transient: true }));
    await rig.clock.advance(5_000);
    expect(rig.said).toEqual(["warn: heartbeats could not be stored"]);
    expect((await rig.row(cell)).lastHeartbeatAt).toBe(begunAt);
    await rig.clock.advance(5_000);
    expect(await rig.row(cell)).toMatchObject({ status: "running", lastHeartbeatAt: begunAt + 10_000 });
  });

  test("ends with the engine, though a body still runs", async () => {
    await rig.submit(puppet.run);
    const closed = rig.engine.close(1_000);
    await rig.clock.advance(1_000);
    await closed;
    expect(rig.clock.pendingTimers).toBe(0);
  });
});

describe("a carrier of another kind", () => {
  async function onFake(supports: FakeExecutor["supports"]): Promise<{ readonly cell: Cell; readonly fake: FakeExecutor; readonly begunAt: number }> {
    const fake = new FakeExecutor({ supports });
    rig = await Rig.open({ executors: [fake] });
    const cell = await rig.submit(puppet.run, { executor: fake.kind });
    fake.last.launched();
    await rig.settle();
    return { cell, fake, begunAt: rig.clock.now() };
  }

  const OUTSIDE = { pause: true, kill: true, closures: true, syncCheckpoint: true } as const;

  test("that does not beat by itself is looked at: alive while it is there", async () => {
    const { cell, fake, begunAt } = await onFake({ ...OUTSIDE, beats: false });
    await rig.clock.advance(5_000);
    expect(await rig.row(cell)).toMatchObject({ lastHeartbeatAt: begunAt + 5_000 });
    fake.last.running = false;
    await rig.clock.advance(10_000);
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[5_000], begunAt + 5_000]);
    fake.last.settle({ type: "returned", value: 1, noticed: false });
    await rig.settle();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("that beats by itself is not beaten for: silence is silence, and no timer runs", async () => {
    const { cell, begunAt } = await onFake({ ...OUTSIDE, beats: true });
    expect(rig.clock.pendingTimers).toBe(0);
    await rig.clock.advance("1h");
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[], begunAt]);
  });

  test("that beats by itself is alive when it says so, and not after its end", async () => {
    const { cell, fake, begunAt } = await onFake({ ...OUTSIDE, beats: true });
    await rig.clock.advance(700);
    fake.last.request.reports.beat();
    await rig.settle();
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[700], begunAt + 700]);
    fake.last.settle({ type: "returned", value: 1, noticed: false });
    await rig.clock.advance(700);
    fake.last.request.reports.beat();
    await rig.settle();
    expect([beatsSince(begunAt, cell), (await rig.row(cell)).lastHeartbeatAt]).toEqual([[700], begunAt + 700]);
  });
});
