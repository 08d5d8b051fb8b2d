import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { FakeClock } from "../../src/testing/index.ts";

let clock: FakeClock;
let ran: string[];

beforeEach(() => {
  clock = new FakeClock({ now: 1_000 });
  ran = [];
});

/** A timer that notes its name and when it ran. */
function note(delayMs: number, name: string): ReturnType<FakeClock["setTimer"]> {
  return clock.setTimer(delayMs, () => ran.push(`${name}@${clock.monotonic()}`));
}

function wait(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}

describe("time", () => {
  test("stands still until it is moved; advance moves wall and monotonic time together", async () => {
    expect([clock.now(), clock.monotonic()]).toEqual([1_000, 0]);
    await clock.advance("1.5s");
    expect([clock.now(), clock.monotonic()]).toEqual([2_500, 1_500]);
    await clock.advance(0.5);
    expect([clock.now(), clock.monotonic()]).toEqual([2_500, 1_500.5]);
  });

  test("begins at a fixed instant where nothing is said", () => {
    expect(new FakeClock().now()).toBe(Date.UTC(2026, 0, 1));
  });

  test.each([3_600_000, -3_600_000])("jumpWall(%o) moves the wall clock alone and brings nothing due", async (ms) => {
    note(10, "a");
    clock.jumpWall(ms);
    expect([clock.now(), clock.monotonic()]).toEqual([1_000 + ms, 0]);
    await clock.advance(9);
    expect(ran).toEqual([]);
    await clock.advance(1);
    expect(ran).toEqual(["a@10"]);
    expect(clock.now()).toBe(1_010 + ms);
  });
});

describe("timers", () => {
  test("run at their own instant, by due time and then in the order in which they were set", async () => {
    note(20, "c");
    note(10, "a");
    note(20, "d");
    note(10, "b");
    note(31, "e");
    await clock.advance(30);
    expect(ran).toEqual(["a@10", "b@10", "c@20", "d@20"]);
    expect(clock.pendingTimers).toBe(1);
    expect(clock.monotonic()).toBe(30);
  });

  test("one set by a timer that ran, due within the span, runs in the same advance and in its place", async () => {
    clock.setTimer(10, () => note(5, "inner"));
    note(12, "before");
    note(20, "after");
    clock.setTimer(25, () => note(50, "later"));
    await clock.advance(30);
    expect(ran).toEqual(["before@12", "inner@15", "after@20"]);
    expect(clock.pendingTimers).toBe(1);
  });

  test("chains of awaited timers run to their end in one advance", async () => {
    const chain = (async () => {
      for (let step = 0; step < 50; step += 1) {
        await wait(10);
        await Promise.resolve();
        ran.push(`${step}@${clock.monotonic()}`);
      }
    })();
    await clock.advance(499);
    expect(ran).toHaveLength(49);
    await clock.advance(1);
    await chain;
    expect(ran.at(-1)).toBe("49@500");
  });

  test("what a timer sets off settles before the next one runs, turns included", async () => {
    clock.setTimer(10, () => {
      void (async () => {
        await clock.turn();
        await clock.turn();
        await Promise.resolve();
        ran.push(`settled@${clock.monotonic()}`);
      })();
    });
    note(11, "next");
    await clock.advance(11);
    expect(ran).toEqual(["settled@10", "next@11"]);
  });

  test("what was begun before the advance sets its timers at the time before it", async () => {
    void Promise.resolve()
      .then(() => clock.turn())
      .then(() => note(10, "a"));
    await clock.advance(10);
    expect(ran).toEqual(["a@10"]);
  });

  test.each([0, -0, -5])("a delay of %o is due at once: the next advance runs it, by nothing too", async (delayMs) => {
    note(1, "later");
    note(delayMs, "a");
    await clock.turn();
    expect(ran).toEqual([]);
    await clock.advance(0);
    expect(ran).toEqual(["a@0"]);
  });

  test("a cancelled one never runs; cancelling again, or after it ran, is harmless", async () => {
    const a = note(10, "a");
    const b = note(10, "b");
    a.cancel();
    a.cancel();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(10);
    b.cancel();
    expect(ran).toEqual(["b@10"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("one can be cancelled by another that runs at the same instant", async () => {
    clock.setTimer(10, () => late.cancel());
    const late = note(10, "late");
    await clock.advance(10);
    expect(ran).toEqual([]);
  });

  test("runNext moves to the next one and runs it alone", async () => {
    note(10, "a");
    note(10, "b");
    note(70_000, "c");
    expect(await clock.runNext()).toBe(true);
    expect(ran).toEqual(["a@10"]);
    expect(await clock.runNext()).toBe(true);
    expect(await clock.runNext()).toBe(true);
    expect(ran).toEqual(["a@10", "b@10", "c@70000"]);
    expect(clock.now()).toBe(71_000);
    expect(await clock.runNext()).toBe(false);
    expect(clock.monotonic()).toBe(70_000);
  });

  test("what runNext set off has settled when it resolves", async () => {
    void wait(10)
      .then(() => clock.turn())
      .then(() => ran.push("settled"));
    await clock.runNext();
    expect(ran).toEqual(["settled"]);
  });

  test("one that throws rejects the advance; time stands there, and the others wait", async () => {
    clock.setTimer(10, () => {
      throw new Error("no");
    });
    note(10, "other");
    await expect(clock.advance(20)).rejects.toThrow("no");
    expect([clock.monotonic(), clock.pendingTimers]).toEqual([10, 1]);
    await clock.advance(10);
    expect(ran).toEqual(["other@10"]);
  });

  test("any set of timers runs as if sorted, whatever the spans", async () => {
    const delays = fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(delays, fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 4 }), async (set, spans) => {
        const moved = new FakeClock();
        const seen: (readonly [number, number])[] = [];
        for (const [index, delayMs] of set.entries()) moved.setTimer(delayMs, () => seen.push([moved.monotonic(), index]));
        for (const span of spans) await moved.advance(span);
        const end = spans.reduce((sum, span) => sum + span, 0);
        const sorted = set.map((delayMs, index) => [delayMs, index] as const).toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
        expect(seen).toEqual(spans.length === 0 ? [] : sorted.filter(([dueMs]) => dueMs <= end));
        expect(moved.pendingTimers).toBe(set.length - seen.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe("turns", () => {
  test("a turn moves no time", async () => {
    await clock.turn();
    expect(clock.monotonic()).toBe(0);
  });

  test("code that turns for ever does not hang an advance", async () => {
    let isOver = false;
    const endless = (async () => {
      while (!isOver) await clock.turn();
    })();
    note(10, "a");
    await clock.advance(10);
    expect(ran).toEqual(["a@10"]);
    isOver = true;
    await endless;
  });
});

describe("what is refused", () => {
  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, "5", "5 m s"])("advance(%o)", async (duration) => {
    await expect(clock.advance(duration as number)).rejects.toThrow(ConfigurationError);
    expect(clock.monotonic()).toBe(0);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])("a jump, a delay or a start of %o", (ms) => {
    expect(() => clock.jumpWall(ms)).toThrow(ConfigurationError);
    expect(() => note(ms, "a")).toThrow(ConfigurationError);
    expect(() => new FakeClock({ now: ms })).toThrow(ConfigurationError);
    expect([clock.now(), clock.pendingTimers]).toEqual([1_000, 0]);
  });

  test("a second move while one is not over", async () => {
    note(5, "a");
    const first = clock.advance(10);
    await expect(clock.advance(1)).rejects.toThrow(/already being moved/);
    await expect(clock.runNext()).rejects.toThrow(ConfigurationError);
    await first;
    expect(ran).toEqual(["a@5"]);
    await clock.advance(1);
    expect(clock.monotonic()).toBe(11);
  });
});
