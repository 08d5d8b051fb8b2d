import { beforeEach, describe, expect, test } from "vitest";
import { StopSequence } from "../../../src/runtime/executors/stop-sequence.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";

let clock: FakeClock;
let done: string[];
let stop: StopSequence;

beforeEach(() => {
  clock = new FakeClock();
  done = [];
  const note = (step: string) => () => void done.push(`${step} at ${clock.monotonic()}`);
  stop = new StopSequence(clock, { ask: (message) => void done.push(`ask: ${message}`), warn: note("warn"), lastResort: note("end") });
});

test("asks at once, warns at three quarters of the grace, and ends at its end", async () => {
  stop.request({ graceMs: 10_000, message: "stopped" });
  expect(done).toEqual(["ask: stopped"]);
  await clock.advance("1m");
  expect(done).toEqual(["ask: stopped", "warn at 7500", "end at 10000"]);
  expect(clock.pendingTimers).toBe(0);
});

test("gives no warning where there is no grace, or nothing to warn with", async () => {
  stop.request({ graceMs: 0, message: "stopped" });
  await clock.advance(0);
  expect(done).toEqual(["ask: stopped", "end at 0"]);
  const plain = new StopSequence(clock, { ask: () => {}, lastResort: () => void done.push("plain end") });
  plain.request({ graceMs: 1_000, message: "stopped" });
  expect(clock.pendingTimers).toBe(1);
  await clock.advance("1s");
  expect(done).toContain("plain end");
});

test("asked again with a shorter grace, it tightens both deadlines", async () => {
  stop.request({ graceMs: 60_000, message: "first" });
  await clock.advance("1s");
  stop.request({ graceMs: 4_000, message: "second" });
  await clock.advance("1h");
  expect(done).toEqual(["ask: first", "ask: second", "warn at 4000", "end at 5000"]);
});

test("asked again with a longer grace, or one that ends at the same instant, it keeps the first", async () => {
  stop.request({ graceMs: 4_000, message: "first" });
  await clock.advance("1s");
  stop.request({ graceMs: 3_000, message: "second" });
  stop.request({ graceMs: 60_000, message: "third" });
  await clock.advance("1h");
  expect(done).toEqual(["ask: first", "ask: second", "ask: third", "warn at 3000", "end at 4000"]);
});

test("asked with no grace behind the warning, it ends at once and warns no more", async () => {
  stop.request({ graceMs: 4_000, message: "first" });
  await clock.advance("3s");
  stop.request({ graceMs: 0, message: "now" });
  await clock.advance("1h");
  expect(done).toEqual(["ask: first", "warn at 3000", "ask: now", "end at 3000"]);
});

test("does nothing more once the body has ended", async () => {
  stop.request({ graceMs: 4_000, message: "first" });
  stop.end();
  expect(clock.pendingTimers).toBe(0);
  stop.request({ graceMs: 0, message: "late" });
  await clock.advance("1h");
  expect(done).toEqual(["ask: first"]);
});

test("ends once only", async () => {
  stop.request({ graceMs: 1_000, message: "first" });
  await clock.advance("1s");
  stop.request({ graceMs: 0, message: "again" });
  stop.end();
  await clock.advance("1h");
  expect(done).toEqual(["ask: first", "warn at 750", "end at 1000"]);
});

describe("where the event loop has stalled past the grace", () => {
  /** Its timers fire late, and all at once, as those of a loop that was blocked. */
  class StalledClock extends FakeClock {
    stalledMs = 0;

    override monotonic(): number {
      return super.monotonic() + this.stalledMs;
    }
  }

  test("what was asked to end has one more moment in which to hear it", async () => {
    const stalled = new StalledClock();
    const late = new StopSequence(stalled, { ask: () => {}, lastResort: () => void done.push("end") });
    late.request({ graceMs: 1_000, message: "stopped" });
    stalled.stalledMs = 60_000;
    await stalled.advance(1_000);
    expect(done).toEqual([]);
    await stalled.advance(100);
    expect(done).toEqual(["end"]);
    expect(stalled.pendingTimers).toBe(0);
  });

  test("and where it ends in that moment, nothing more is done to it", async () => {
    const stalled = new StalledClock();
    const late = new StopSequence(stalled, { ask: () => {}, lastResort: () => void done.push("end") });
    late.request({ graceMs: 1_000, message: "stopped" });
    stalled.stalledMs = 60_000;
    await stalled.advance(1_000);
    late.end();
    await stalled.advance("1m");
    expect(done).toEqual([]);
    expect(stalled.pendingTimers).toBe(0);
  });
});
