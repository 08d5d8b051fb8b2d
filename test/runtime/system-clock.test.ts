import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { systemClock } from "../../src/runtime/system-clock.ts";

describe("the machine's time", () => {
  test("now is the wall clock, monotonic never goes back", () => {
    const before = Date.now();
    const now = systemClock.now();
    const [first, second] = [systemClock.monotonic(), systemClock.monotonic()];
    expect(now).toBeGreaterThanOrEqual(before);
    expect(now).toBeLessThanOrEqual(Date.now());
    expect(second).toBeGreaterThanOrEqual(first);
  });

  test("a timer fires once, and never early on the monotonic clock", async () => {
    const start = systemClock.monotonic();
    const waits = [0, 0.4, 1, 2.5, 5].map(
      (delayMs) =>
        new Promise<number>((resolve) => {
          systemClock.setTimer(delayMs, () => resolve(systemClock.monotonic() - start - delayMs));
        }),
    );
    for (const lateMs of await Promise.all(waits)) expect(lateMs).toBeGreaterThanOrEqual(0);
  });

  test("a turn lets what the event loop had ready run first", async () => {
    const ran: string[] = [];
    setImmediate(() => ran.push("immediate"));
    await systemClock.turn();
    expect(ran).toEqual(["immediate"]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("a delay of %o is refused", (delayMs) => {
    expect(() => systemClock.setTimer(delayMs, () => {})).toThrow(ConfigurationError);
  });
});

describe("timers, by a clock that the test moves", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  test("a delay that setTimeout cannot hold comes in parts", () => {
    const set = vi.spyOn(globalThis, "setTimeout");
    const fire = vi.fn<() => void>();
    const delayMs = 2 ** 31 * 3 + 5;
    systemClock.setTimer(delayMs, fire);
    vi.advanceTimersByTime(delayMs - 1);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
    expect(Math.max(...set.mock.calls.map(([, ms]) => ms ?? 0))).toBe(2 ** 31 - 1);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([5, 2 ** 31 * 2])("a timer of %o ms that was cancelled never fires, nor keeps anything alive", (delayMs) => {
    const fire = vi.fn<() => void>();
    const timer = systemClock.setTimer(delayMs, fire);
    vi.advanceTimersByTime(delayMs - 1);
    timer.cancel();
    timer.cancel();
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(delayMs);
    expect(fire).not.toHaveBeenCalled();
  });

  test("cancelling after it fired is harmless", () => {
    const fire = vi.fn<() => void>();
    const timer = systemClock.setTimer(1, fire);
    vi.advanceTimersByTime(1);
    timer.cancel();
    expect(fire).toHaveBeenCalledTimes(1);
  });

  test("a setTimeout that fires early is set again for the rest", () => {
    const fire = vi.fn<() => void>();
    const start = performance.now();
    const early = vi.spyOn(performance, "now");
    systemClock.setTimer(10, fire);
    early.mockReturnValueOnce(start + 9.4);
    vi.advanceTimersByTime(10);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
  });

  test("a delay of less than nothing fires as soon as can be", () => {
    const fire = vi.fn<() => void>();
    systemClock.setTimer(-5, fire);
    expect(fire).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(fire).toHaveBeenCalledTimes(1);
  });
});
