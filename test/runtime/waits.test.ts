import { beforeEach, describe, expect, test, vi } from "vitest";
import { WaitImpossible, WaitTimeout } from "../../src/core/errors.ts";
import { impossible, waitWith } from "../../src/runtime/waits.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

let clock: FakeClock;
let gate: PromiseWithResolvers<number>;
/** Whether the arrival was told that nobody waits any more. */
let givenUp: boolean;

beforeEach(() => {
  clock = new FakeClock();
  gate = Promise.withResolvers<number>();
  givenUp = false;
});

async function arrival(over?: AbortSignal): Promise<number> {
  over?.addEventListener("abort", () => (givenUp = true));
  return await gate.promise;
}

/** A signal that knows how many listen to it. */
function countingSignal(): { readonly signal: AbortSignal; readonly abort: (reason: unknown) => void; readonly listeners: () => number } {
  const controller = new AbortController();
  const added = vi.spyOn(controller.signal, "addEventListener");
  const removed = vi.spyOn(controller.signal, "removeEventListener");
  return { signal: controller.signal, abort: (reason) => controller.abort(reason), listeners: () => added.mock.calls.length - removed.mock.calls.length };
}

describe("a wait", () => {
  test("gives what arrives, and leaves no timer and no listener", async () => {
    const { signal, listeners } = countingSignal();
    const waiting = waitWith(arrival, { clock, timeoutMs: 1_000, signal, what: "it" });
    expect([clock.pendingTimers, listeners()]).toEqual([1, 1]);
    gate.resolve(7);
    expect(await waiting).toBe(7);
    expect([clock.pendingTimers, listeners(), givenUp]).toEqual([0, 0, true]);
  });

  test("ends with WaitTimeout when time is up, says for what, and tells the arrival", async () => {
    const waiting = waitWith(arrival, { clock, timeoutMs: 1_500, what: 'task t1: "paused"' });
    const settled = Promise.allSettled([waiting]);
    await clock.advance(1_500);
    await settled;
    await expect(waiting).rejects.toThrow('task t1: "paused" was not reached within 1.5 s.');
    await expect(waiting).rejects.toBeInstanceOf(WaitTimeout);
    expect([clock.pendingTimers, givenUp]).toEqual([0, true]);
  });

  test("without a timeout waits as long as it takes, on no timer", async () => {
    const waiting = waitWith(arrival, { clock, timeoutMs: null, what: "it" });
    expect(clock.pendingTimers).toBe(0);
    await clock.advance("365d");
    gate.resolve(7);
    expect(await waiting).toBe(7);
  });

  test("ends with the reason of its signal, and leaves no timer and no listener", async () => {
    const { signal, abort, listeners } = countingSignal();
    const waiting = waitWith(arrival, { clock, timeoutMs: 1_000, signal, what: "it" });
    const reason = new Error("the browser was closed");
    abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect([clock.pendingTimers, listeners(), givenUp]).toEqual([0, 0, true]);
  });

  test("with a signal that is aborted already asks for nothing at all", async () => {
    const reason = new Error("too late");
    const asked = vi.fn<typeof arrival>(arrival);
    await expect(waitWith(asked, { clock, timeoutMs: 1_000, signal: AbortSignal.abort(reason), what: "it" })).rejects.toBe(reason);
    expect([asked.mock.calls.length, clock.pendingTimers]).toEqual([0, 0]);
  });

  test("passes on what the arrival fails with", async () => {
    const waiting = waitWith(arrival, { clock, timeoutMs: 1_000, what: "it" });
    gate.reject(new Error("not stored"));
    await expect(waiting).rejects.toThrow("not stored");
    expect(clock.pendingTimers).toBe(0);
  });

  test("that has ended hears nothing of a failure that comes later", async () => {
    const waiting = waitWith(arrival, { clock, timeoutMs: 0, what: "it" });
    const settled = Promise.allSettled([waiting]);
    await clock.advance(0);
    await settled;
    await expect(waiting).rejects.toBeInstanceOf(WaitTimeout);
    gate.reject(new Error("nobody waits for this any more"));
    await clock.advance(0);
  });
});

test("an awaited status that cannot come any more is named, with the status that came instead", () => {
  const error = impossible("t1", "paused", "failed");
  expect(error).toBeInstanceOf(WaitImpossible);
  expect(error.message).toBe('task t1 ended failed, so "paused" cannot come any more.');
});
