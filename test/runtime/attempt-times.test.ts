import { beforeEach, describe, expect, test } from "vitest";
import { NO_TIMES } from "../../src/core/attempt.ts";
import type { AttemptTimes } from "../../src/core/attempt.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { Puppet, polling } from "./support/puppet.ts";
import { ADA, Rig } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;
let begunAt: number;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
  begunAt = rig.clock.now();
});

/** The times on the record of each attempt, as milliseconds since the beginning. */
async function timesOf(cell: Cell): Promise<readonly AttemptTimes[]> {
  const since = (at: number | null): number | null => (at === null ? null : at - begunAt);
  return (await rig.store.audit.attempts(cell.taskId)).map((attempt) => ({
    stopAskedAt: since(attempt.stopAskedAt),
    stopSeenAt: since(attempt.stopSeenAt),
    pauseAskedAt: since(attempt.pauseAskedAt),
    pauseSeenAt: since(attempt.pauseSeenAt),
  }));
}

describe("the record of an attempt of which nothing was asked", () => {
  test("has no times, neither while it runs nor at its end", async () => {
    const cell = await rig.submit(puppet.run);
    expect(await timesOf(cell)).toEqual([NO_TIMES]);
    puppet.last.returns(1);
    await rig.settle();
    expect(await timesOf(cell)).toEqual([NO_TIMES]);
  });
});

describe("a stop", () => {
  test("is seen at the checkpoint that throws", async () => {
    const cell = await rig.submit(polling(rig.clock, 300));
    await rig.clock.advance(1_000);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.clock.advance(1_000);
    expect(await stopped).toMatchObject({ status: "stopped" });
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 1_000, stopSeenAt: 1_200 }]);
  });

  test("is seen at once by a body that has taken the signal", async () => {
    const cell = await rig.submit(puppet.run);
    const { signal } = puppet.last.ctx;
    await rig.clock.advance(1_000);
    const stopped = rig.engine.control.halt(cell, "cancel", ADA);
    await rig.clock.advance(200);
    puppet.last.throws(signal.reason);
    expect(await stopped).toMatchObject({ status: "cancelled" });
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 1_000, stopSeenAt: 1_000 }]);
  });

  test("is seen by a body that takes the signal afterwards, and once only", async () => {
    const cell = await rig.submit(puppet.run);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.clock.advance(400);
    const { signal } = puppet.last.ctx;
    await rig.clock.advance(400);
    await expect(puppet.last.ctx.checkpoint()).rejects.toBe(signal.reason);
    puppet.last.throws(signal.reason);
    await stopped;
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 0, stopSeenAt: 400 }]);
  });

  test.each([
    ["is given up on", 500, "lost"],
    ["finishes first", 5_000, "succeeded"],
  ])("is not seen by a deaf body that %s", async (_what, graceMs, status) => {
    const cell = await rig.submit(puppet.run);
    const stopped = rig.engine.control.halt(cell, "stop", { ...ADA, graceMs });
    await rig.clock.advance(1_000);
    puppet.last.returns(1);
    expect(await stopped).toMatchObject({ status });
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 0 }]);
  });

  test("that comes before the launch is not seen: nothing ran", async () => {
    const barrier = rig.store.hold("commit");
    const cell = await rig.submit(puppet.run);
    await rig.clock.advance(100);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    barrier.release();
    await stopped;
    expect(puppet.calls).toHaveLength(0);
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 100 }]);
  });

  test("asked for twice was asked for when it was first", async () => {
    const cell = await rig.submit(puppet.run);
    const stops = [rig.engine.control.halt(cell, "stop", ADA)];
    await rig.clock.advance(300);
    stops.push(rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 100 }));
    await rig.clock.advance(100);
    await Promise.all(stops);
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, stopAskedAt: 0 }]);
  });

  test("is asked for by a timeout as well, and each attempt has its own times", async () => {
    const cell = await rig.submit(polling(rig.clock, 400), {
      timeout: { attempt: "1s" },
      retry: { maxAttempts: 2, backoff: constant({ delay: "10s", jitter: "none" }) },
    });
    await rig.clock.advance("1m");
    expect(await timesOf(cell)).toEqual([
      { ...NO_TIMES, stopAskedAt: 1_000, stopSeenAt: 1_200 },
      { ...NO_TIMES, stopAskedAt: 12_200, stopSeenAt: 12_400 },
    ]);
  });
});

describe("a pause", () => {
  test("is seen where a checkpoint holds the body", async () => {
    const cell = await rig.submit(polling(rig.clock, 300));
    await rig.clock.advance(1_000);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(1_000);
    expect(await paused).toBe(true);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.settle();
    await stopped;
    expect(await timesOf(cell)).toEqual([{ stopAskedAt: 2_000, stopSeenAt: 2_000, pauseAskedAt: 1_000, pauseSeenAt: 1_200 }]);
  });

  test("that is taken back unseen was asked for, no more", async () => {
    const cell = await rig.submit(puppet.run);
    const paused = rig.engine.control.pause(cell, { ...ADA, pauseTimeoutMs: 1_000 });
    await rig.clock.advance(1_000);
    expect(await paused).toBe(false);
    await puppet.last.ctx.checkpoint();
    puppet.last.returns(1);
    await rig.settle();
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, pauseAskedAt: 0 }]);
  });

  test("is the last one where there were several", async () => {
    const cell = await rig.submit(puppet.run);
    const first = rig.engine.control.pause(cell, ADA);
    const held = puppet.last.ctx.checkpoint();
    await rig.settle();
    expect(await first).toBe(true);
    await rig.engine.control.resume(cell, ADA);
    await held;
    await rig.clock.advance(700);
    const second = rig.engine.control.pause(cell, ADA);
    puppet.last.returns(1);
    expect(await second).toBe(false);
    expect(await timesOf(cell)).toEqual([{ ...NO_TIMES, pauseAskedAt: 700 }]);
  });
});
