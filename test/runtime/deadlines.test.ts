import { beforeEach, describe, expect, test } from "vitest";
import type { TimeoutPolicy } from "../../src/core/policies/timeout.ts";
import { resolveTimeoutPolicy } from "../../src/core/policies/timeout.ts";
import { Deadlines } from "../../src/runtime/deadlines.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

let clock: FakeClock;
/** What fired: `scope@when`. */
let fired: string[];

beforeEach(() => {
  clock = new FakeClock();
  fired = [];
});

function newDeadlines(policy: TimeoutPolicy): Deadlines {
  return new Deadlines(clock, resolveTimeoutPolicy(policy, "timeout"), (scope) => fired.push(`${scope}@${clock.monotonic()}`));
}

describe("alone", () => {
  test("start covers the launch and nothing after it", async () => {
    newDeadlines({ start: 100 });
    await clock.advance(200);
    expect(fired).toEqual(["start@100"]);
    const launched = newDeadlines({ start: 100 });
    await clock.advance(99);
    launched.running();
    await clock.advance("1h");
    expect(fired).toEqual(["start@100"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("attempt begins with the body, not with the launch", async () => {
    const deadlines = newDeadlines({ attempt: 100 });
    await clock.advance("1h");
    expect(fired).toEqual([]);
    deadlines.running();
    await clock.advance(99);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["attempt@3600100"]);
  });

  test("idle begins with the body and with each sign of life", async () => {
    const deadlines = newDeadlines({ idle: 100 });
    await clock.advance(500);
    deadlines.running();
    await clock.advance(90);
    deadlines.active();
    await clock.advance(90);
    deadlines.active();
    await clock.advance(99);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toEqual(["idle@780"]);
  });

  test("a sign of life sets no timer: one is enough for all of them", () => {
    const deadlines = newDeadlines({ idle: 100 });
    deadlines.running();
    for (let sign = 0; sign < 1_000; sign += 1) deadlines.active();
    expect(clock.pendingTimers).toBe(1);
  });
});

describe("together", () => {
  test("the earliest fires, once, on one timer", async () => {
    const deadlines = newDeadlines({ start: 50, attempt: 300, idle: 200 });
    deadlines.running();
    expect(clock.pendingTimers).toBe(1);
    await clock.advance("1h");
    expect(fired).toEqual(["idle@200"]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("signs of life move idle and never the attempt", async () => {
    const deadlines = newDeadlines({ attempt: 300, idle: 200 });
    deadlines.running();
    for (let step = 0; step < 5; step += 1) {
      await clock.advance(50);
      deadlines.active();
    }
    await clock.advance("1h");
    expect(fired).toEqual(["attempt@300"]);
  });

  test("at the same instant it is the attempt's", async () => {
    newDeadlines({ attempt: 200, idle: 200 }).running();
    await clock.advance("1h");
    expect(fired).toEqual(["attempt@200"]);
  });
});

describe("a pause", () => {
  test("stops both clocks: the attempt's goes on where it was, idle's begins anew", async () => {
    const deadlines = newDeadlines({ attempt: 300, idle: 100 });
    deadlines.running();
    await clock.advance(60);
    deadlines.paused();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance("1h");
    deadlines.resumed();
    await clock.advance(99);
    expect(fired).toEqual([]);
    deadlines.active();
    await clock.advance(100);
    expect(fired).toEqual(["idle@3600259"]);
  });

  test("moves the deadline by its length, also while it lasts, also twice", async () => {
    const deadlines = newDeadlines({ attempt: 300 });
    expect(deadlines.remainingMs()).toBe(300);
    deadlines.running();
    for (let time = 0; time < 2; time += 1) {
      await clock.advance(100);
      deadlines.paused();
      await clock.advance("1h");
      expect(deadlines.remainingMs()).toBe(200 - time * 100);
      deadlines.resumed();
    }
    await clock.advance(99);
    expect(fired).toEqual([]);
    await clock.advance(1);
    expect(fired).toHaveLength(1);
  });
});

test("a jump of the wall clock fires nothing and keeps nothing from firing", async () => {
  newDeadlines({ attempt: 300 }).running();
  clock.jumpWall(86_400_000);
  await clock.advance(299);
  expect(fired).toEqual([]);
  clock.jumpWall(-172_800_000);
  await clock.advance(1);
  expect(fired).toEqual(["attempt@300"]);
});

test("after the end nothing fires and no timer is left, whatever still comes", async () => {
  const deadlines = newDeadlines({ start: 10, attempt: 300, idle: 100 });
  deadlines.running();
  deadlines.end();
  deadlines.active();
  deadlines.paused();
  deadlines.resumed();
  expect(clock.pendingTimers).toBe(0);
  await clock.advance("1h");
  expect(fired).toEqual([]);
});

test("without an attempt timeout there is no deadline", () => {
  const deadlines = newDeadlines({ idle: 100 });
  deadlines.running();
  expect(deadlines.remainingMs()).toBeNull();
});
