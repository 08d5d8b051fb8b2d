import { beforeEach, describe, expect, test } from "vitest";
import { TaskCancelled } from "../../src/core/errors.ts";
import { CancellationToken } from "../../src/runtime/cancellation.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

/** Counts how often somebody reads it and gives way to it. */
class CountingClock extends FakeClock {
  readings = 0;
  turns = 0;

  override monotonic(): number {
    this.readings += 1;
    return super.monotonic();
  }

  override async turn(): Promise<void> {
    this.turns += 1;
    await super.turn();
  }
}

let clock: CountingClock;
let told: string[];

beforeEach(() => {
  clock = new CountingClock();
  told = [];
});

function newToken(countsIdle = false): CancellationToken {
  const listener = {
    pauseReached: (): void => void told.push("paused"),
    active: (): void => void told.push("active"),
    stopSeen: (): void => void told.push("stop seen"),
    beat: (): void => void told.push("beat"),
  };
  return new CancellationToken(clock, listener, { countsIdle });
}

/** Whether the promise has settled once everything else has. */
async function stateOf(promise: Promise<unknown>): Promise<"held" | "passed" | "threw"> {
  let state: "held" | "passed" | "threw" = "held";
  promise.then(
    () => (state = "passed"),
    () => (state = "threw"),
  );
  await clock.advance(0);
  return state;
}

describe("a checkpoint at which nothing is asked", () => {
  test("gives back the same resolved promise each time", async () => {
    const token = newToken();
    const promises = new Set(Array.from({ length: 1_000 }, () => token.checkpoint()));
    expect(promises.size).toBe(1);
    expect(await stateOf([...promises][0] ?? Promise.reject(new Error("none")))).toBe("passed");
    expect(clock.turns).toBe(0);
  });

  test("reads the clock once in 16 calls at most", () => {
    const token = newToken();
    for (let call = 0; call < 100; call += 1) void token.checkpoint();
    clock.readings = 0;
    for (let call = 0; call < 1_600; call += 1) void token.checkpoint();
    expect(clock.readings).toBe(100);
  });

  test("gives way to the event loop once the body has run for 8 ms, and then not for another 8", async () => {
    const token = newToken();
    await clock.advance(7.9);
    for (let call = 0; call < 16; call += 1) await token.checkpoint();
    expect(clock.turns).toBe(0);
    await clock.advance(0.1);
    for (let call = 0; call < 16; call += 1) await token.checkpoint();
    expect(clock.turns).toBe(1);
    for (let call = 0; call < 160; call += 1) await token.checkpoint();
    expect(clock.turns).toBe(1);
  });

  test("gives way each time where 10 ms of work lie between two of them", async () => {
    const token = newToken();
    for (let call = 0; call < 40; call += 1) {
      await clock.advance(10);
      await token.checkpoint();
    }
    expect(clock.turns).toBeGreaterThanOrEqual(39);
  });

  test("holds and throws also when the wish came while it gave way", async () => {
    const token = newToken();
    await clock.advance(10);
    const passing = Array.from({ length: 16 }, () => token.checkpoint());
    token.stop("stopped by ada");
    await expect(Promise.all(passing)).rejects.toThrow("stopped by ada");
    expect(token.noticed).toBe(true);
  });

  test("tells that the body is active only where somebody counts idle time", () => {
    void newToken(true).checkpoint();
    expect(told).toEqual(["active"]);
    void newToken(false).checkpoint();
    expect(told).toEqual(["active"]);
  });
});

describe("a pause", () => {
  test("holds the next checkpoint, says so, and lets go with the resume", async () => {
    const token = newToken();
    token.pause();
    const held = token.checkpoint();
    expect(await stateOf(held)).toBe("held");
    expect(told).toEqual(["paused"]);
    token.resume();
    expect(await stateOf(held)).toBe("passed");
    expect(await stateOf(token.checkpoint())).toBe("passed");
  });

  test("taken back before a checkpoint holds nothing", async () => {
    const token = newToken();
    token.pause();
    token.resume();
    expect(await stateOf(token.checkpoint())).toBe("passed");
    expect(told).toEqual([]);
  });

  test("asked again right behind the resume holds the same checkpoint again, and says so again", async () => {
    const token = newToken();
    token.pause();
    const held = token.checkpoint();
    token.resume();
    token.pause();
    expect(await stateOf(held)).toBe("held");
    expect(told).toEqual(["paused", "paused"]);
    token.resume();
    expect(await stateOf(held)).toBe("passed");
  });

  test("holds every loop of the body, and one resume lets all of them go", async () => {
    const token = newToken();
    token.pause();
    const held = [token.checkpoint(), token.checkpoint(), token.checkpoint()];
    expect(await stateOf(Promise.race(held))).toBe("held");
    token.resume();
    expect(await stateOf(Promise.all(held))).toBe("passed");
  });

  test("ends with a stop: what it held throws", async () => {
    const token = newToken();
    token.pause();
    const held = token.checkpoint();
    await stateOf(held);
    token.stop("stopped by ada");
    await expect(held).rejects.toThrow(TaskCancelled);
  });
});

describe("a stop", () => {
  test("makes every checkpoint throw the same error", async () => {
    const token = newToken();
    token.stop("stopped by ada: too slow");
    const [first, second] = await Promise.allSettled([token.checkpoint(), token.checkpoint()]);
    expect(first).toMatchObject({ status: "rejected", reason: { code: "TASK_CANCELLED", message: "stopped by ada: too slow" } });
    expect(second).toEqual(first);
  });

  test("asked twice keeps the first message", async () => {
    const token = newToken();
    token.stop("first");
    token.stop("second");
    await expect(token.checkpoint()).rejects.toThrow("first");
  });

  test("beats a pause, whichever came first", async () => {
    const token = newToken();
    token.stop("stopped");
    token.pause();
    await expect(token.checkpoint()).rejects.toThrow("stopped");
    expect(told).toEqual(["stop seen"]);
  });

  test("aborts a signal that was taken before, with the checkpoint's error as its reason", async () => {
    const token = newToken();
    const { signal } = token;
    expect(signal.aborted).toBe(false);
    token.stop("stopped");
    expect(signal.aborted).toBe(true);
    await expect(token.checkpoint()).rejects.toBe(signal.reason);
  });

  test("gives a signal that is taken afterwards aborted already; it is one and the same signal", () => {
    const token = newToken();
    token.stop("stopped");
    expect(token.signal.aborted).toBe(true);
    expect(token.signal.reason).toMatchObject({ message: "stopped" });
    expect(token.signal).toBe(token.signal);
  });
});

describe("whether the body can have noticed", () => {
  test("no: it never looked", () => {
    const token = newToken();
    token.stop("stopped");
    expect(token.noticed).toBe(false);
    expect(token.stopWished).toBe(true);
  });

  test("no: its checkpoints all passed before the stop", async () => {
    const token = newToken();
    await token.checkpoint();
    token.stop("stopped");
    expect(token.noticed).toBe(false);
  });

  test("yes: a checkpoint threw", async () => {
    const token = newToken();
    token.stop("stopped");
    await stateOf(token.checkpoint());
    expect(token.noticed).toBe(true);
  });

  test.each(["before", "after"])("yes: it took the signal %s the stop", (when) => {
    const token = newToken();
    if (when === "before") void token.signal;
    token.stop("stopped");
    if (when === "after") void token.signal;
    expect(token.noticed).toBe(true);
  });
});
