import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import type { Progress } from "../../src/core/progress.ts";
import { ProgressThrottle } from "../../src/runtime/progress-throttle.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

let clock: FakeClock;
/** What went out: `done@when`. */
let sent: string[];
let last: Progress | null;
let throttle: ProgressThrottle;

beforeEach(() => {
  clock = new FakeClock();
  sent = [];
  last = null;
  throttle = new ProgressThrottle(clock, (progress) => {
    last = progress;
    sent.push(`${progress.done}@${clock.monotonic()}`);
  });
});

describe("what goes out", () => {
  test("the first report, at once", () => {
    throttle.report({ done: 1 });
    expect(sent).toEqual(["1@0"]);
  });

  test("the latest of what came within 500 ms, when they have passed", async () => {
    for (let done = 0; done < 100; done += 1) throttle.report({ done });
    await clock.advance(499);
    expect(sent).toEqual(["0@0"]);
    await clock.advance(1);
    expect(sent).toEqual(["0@0", "99@500"]);
  });

  test("nothing where nothing was reported since", async () => {
    throttle.report({ done: 1 });
    await clock.advance("10s");
    expect(sent).toEqual(["1@0"]);
  });

  test("at once after a long silence", async () => {
    throttle.report({ done: 1 });
    await clock.advance(2_000);
    throttle.report({ done: 2 });
    expect(sent).toEqual(["1@0", "2@2000"]);
  });

  test("a move by 1 % of the total, 50 ms after the one before at the earliest", async () => {
    throttle.report({ done: 0, total: 1_000 });
    await clock.advance(60);
    throttle.report({ done: 9 });
    expect(sent).toEqual(["0@0"]);
    throttle.report({ done: 10 });
    expect(sent).toEqual(["0@0", "10@60"]);
    throttle.report({ done: 500 });
    await clock.advance(49);
    expect(sent).toHaveLength(2);
    await clock.advance(1);
    expect(sent.at(-1)).toBe("500@110");
  });

  test("a move by 1 % that comes in the first 50 ms behind a small one: after 50, not after 500", async () => {
    throttle.report({ done: 0, total: 1_000 });
    throttle.report({ done: 1 });
    throttle.report({ done: 100 });
    await clock.advance(50);
    expect(sent).toEqual(["0@0", "100@50"]);
  });

  test("a move by 1 % of a total that was told later", async () => {
    throttle.report({ done: 0 });
    throttle.report({ total: 1_000 });
    await clock.advance(100);
    throttle.report({ done: 10 });
    expect(sent).toEqual(["0@0", "10@100"]);
  });

  test("a move backwards by 1 % as well", async () => {
    throttle.report({ done: 500, total: 1_000 });
    throttle.report({ done: 499 });
    await clock.advance(100);
    throttle.report({ done: 0 });
    expect(sent).toEqual(["500@0", "0@100"]);
  });

  test("the last one, at the end, and no timer stays behind", () => {
    throttle.report({ done: 1 });
    throttle.report({ done: 2 });
    throttle.flush();
    expect(sent).toEqual(["1@0", "2@0"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("nothing at the end where the last one has gone out", () => {
    throttle.report({ done: 1 });
    throttle.flush();
    expect(sent).toEqual(["1@0"]);
  });

  test("never more than 20 a second, whatever is reported, and the last value in the end", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(40), fc.nat(1_000)), { minLength: 1, maxLength: 60 }), async (steps) => {
        const ownClock = new FakeClock();
        const at: number[] = [];
        let lastDone: number | null = null;
        const own = new ProgressThrottle(ownClock, ({ done }) => {
          at.push(ownClock.monotonic());
          lastDone = done;
        });
        for (const [waitMs, done] of steps) {
          await ownClock.advance(waitMs);
          own.report({ done, total: 1_000 });
        }
        const gaps = at.slice(1).map((instant, index) => instant - (at[index] ?? 0));
        expect(Math.min(50, ...gaps)).toBe(50);
        own.flush();
        expect(lastDone).toBe(steps.at(-1)?.[1]);
        expect(ownClock.pendingTimers).toBe(0);
      }),
      { numRuns: 40 },
    );
  });
});

describe("what is in it", () => {
  test("each part as it was last told, and when", async () => {
    throttle.report({ total: 10, unit: "rows" });
    await clock.advance(600);
    throttle.report({ done: 3, message: "half way" });
    expect(last).toEqual({ done: 3, total: 10, unit: "rows", message: "half way", updatedAt: clock.now() });
  });

  test("what is no finite number changes nothing", () => {
    throttle.report({ done: 1, total: 5 });
    throttle.report({ done: Number.NaN, total: Number.POSITIVE_INFINITY });
    throttle.flush();
    expect(last).toMatchObject({ done: 1, total: 5 });
  });

  test("a total of 0 divides nothing", async () => {
    throttle.report({ done: 0, total: 0 });
    throttle.report({ done: 5 });
    await clock.advance(500);
    expect(sent).toEqual(["0@0", "5@500"]);
  });
});
