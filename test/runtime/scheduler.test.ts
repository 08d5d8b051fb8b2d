import { describe, expect, it } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import type { ResolvedConcurrencyPolicy } from "../../src/core/policies/concurrency.ts";
import type { Timer } from "../../src/core/ports/clock.ts";
import { Scheduler } from "../../src/runtime/scheduler.ts";
import type { ScheduledItem } from "../../src/runtime/scheduler.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

const START = Date.UTC(2026, 0, 1);

/** Time can pass on it without its timers being run, as when the event loop was busy; and they can run early. */
class UnevenClock extends FakeClock {
  busyMs = 0;
  earlyMs = 0;

  override monotonic(): number {
    return super.monotonic() + this.busyMs;
  }

  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(Math.max(0, delayMs - this.earlyMs), fire);
  }
}

function newConcurrency(given: Partial<ResolvedConcurrencyPolicy> = {}): ResolvedConcurrencyPolicy {
  return { maxParallel: 2, limits: new Map(), perBucket: null, defaultPriority: 0, agingMs: null, ...given };
}

function newItem(taskId: string, given: Partial<ScheduledItem> = {}): ScheduledItem {
  return { taskId, name: "work", priority: 0, bucket: null, tags: [], availableAt: null, backoff: false, ...given };
}

interface Bench {
  readonly clock: UnevenClock;
  readonly scheduler: Scheduler;
  /** What was called back, in order: a task's id, or `id: backoff ended`. */
  readonly calls: string[];
  onDispatch: (taskId: string) => void;
}

function newBench(concurrency: Partial<ResolvedConcurrencyPolicy> = {}): Bench {
  const clock = new UnevenClock();
  const calls: string[] = [];
  const scheduler = new Scheduler({
    clock,
    concurrency: newConcurrency(concurrency),
    dispatch(taskId) {
      calls.push(taskId);
      bench.onDispatch(taskId);
    },
    backoffEnded: (taskId) => void calls.push(`${taskId}: backoff ended`),
  });
  const bench: Bench = { clock, scheduler, calls, onDispatch: () => {} };
  return bench;
}

describe("dispatch", () => {
  it("happens behind the code that asked for it, by priority, up to the limit", async () => {
    const { clock, scheduler, calls } = newBench();
    for (const [taskId, priority] of [
      ["a", 0],
      ["b", 1],
      ["c", 2],
    ] as const)
      scheduler.enqueue(newItem(taskId, { priority }));
    expect(calls).toEqual([]);
    await clock.turn();
    expect(calls).toEqual(["c", "b"]);
    expect([scheduler.held.total, scheduler.queuedCount]).toEqual([2, 1]);
  });

  it("finds the slots taken, in all, by tag and by bucket", async () => {
    const bench = newBench({ limits: new Map([["io", 1]]), perBucket: 1 });
    const { clock, scheduler } = bench;
    const seen: unknown[] = [];
    bench.onDispatch = () => void seen.push([scheduler.held.total, scheduler.held.byTag.get("io"), scheduler.held.byBucket.get(3)]);
    scheduler.enqueue(newItem("a", { tags: ["io"], bucket: 3 }));
    await clock.turn();
    expect(seen).toEqual([[1, 1, 1]]);
  });

  it("follows each release", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 1 });
    for (const taskId of ["a", "b", "c"]) scheduler.enqueue(newItem(taskId));
    await clock.turn();
    scheduler.release("a");
    await clock.turn();
    expect(calls).toEqual(["a", "b"]);
    scheduler.release("b");
    await clock.turn();
    expect(calls).toEqual(["a", "b", "c"]);
  });

  it("may release, enqueue and remove from inside itself", async () => {
    const bench = newBench({ maxParallel: 1 });
    const { clock, scheduler, calls } = bench;
    bench.onDispatch = (taskId) => {
      if (calls.length === 6) return;
      scheduler.release(taskId);
      scheduler.remove("dropped");
      if (taskId === "a") scheduler.enqueue(newItem("urgent", { priority: 9 }));
      if (taskId === "urgent") scheduler.enqueue(newItem("a"));
    };
    for (const taskId of ["a", "dropped", "b"]) scheduler.enqueue(newItem(taskId));
    await clock.turn();
    expect(calls).toEqual(["a", "urgent", "b", "a", "urgent", "a"]);
  });

  it("of an exempt task waits for nothing and takes nothing", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 1, limits: new Map([["io", 1]]) });
    scheduler.enqueue(newItem("a", { tags: ["io"] }));
    await clock.turn();
    for (const taskId of ["x", "y"]) scheduler.enqueue(newItem(taskId, { tags: ["io"], exempt: true }));
    await clock.turn();
    expect(calls).toEqual(["a", "x", "y"]);
    expect([scheduler.held.total, scheduler.held.byTag.get("io")]).toEqual([1, 1]);
    scheduler.release("x");
    expect(() => scheduler.release("x")).toThrow(InternalError);
  });
});

describe("slots", () => {
  it("are given back exactly once, by who holds them", async () => {
    const { clock, scheduler } = newBench({ maxParallel: 1 });
    scheduler.enqueue(newItem("a"));
    scheduler.enqueue(newItem("b"));
    await clock.turn();
    expect(() => scheduler.release("b")).toThrow(/b .*ready/);
    scheduler.release("a");
    expect(() => scheduler.release("a")).toThrow(InternalError);
    expect(() => scheduler.release("nobody")).toThrow(InternalError);
    await clock.turn();
    expect(scheduler.held.total).toBe(1);
  });

  it("keep their tags for an abandoned body until it has ended", async () => {
    const { clock, scheduler, calls } = newBench({ limits: new Map([["io", 1]]), perBucket: 1 });
    scheduler.enqueue(newItem("a", { tags: ["io"], bucket: 1 }));
    await clock.turn();
    scheduler.enqueue(newItem("same bucket", { bucket: 1 }));
    scheduler.enqueue(newItem("same tag", { tags: ["io"] }));
    scheduler.release("a", { keepTags: true });
    await clock.turn();
    expect(calls).toEqual(["a", "same bucket"]);
    expect([scheduler.held.total, scheduler.held.byTag.get("io")]).toEqual([1, 1]);
    scheduler.releaseTags("a");
    await clock.turn();
    expect(calls).toEqual(["a", "same bucket", "same tag"]);
    expect(() => scheduler.releaseTags("a")).toThrow(InternalError);
  });

  it("of a forced new attempt stand beside those of its abandoned bodies", async () => {
    const { clock, scheduler, calls } = newBench({ limits: new Map([["io", 3]]) });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      scheduler.enqueue(newItem("a", { tags: ["io"] }));
      await clock.turn();
      scheduler.release("a", { keepTags: true });
    }
    scheduler.enqueue(newItem("a", { tags: ["io"] }));
    await clock.turn();
    expect([calls, scheduler.held.total, scheduler.held.byTag.get("io")]).toEqual([["a", "a", "a"], 0, 3]);
    for (let attempt = 0; attempt < 3; attempt += 1) scheduler.releaseTags("a");
    await clock.turn();
    expect([calls.length, scheduler.held.total, scheduler.held.byTag.get("io")]).toEqual([4, 1, 1]);
    scheduler.release("a");
    expect([scheduler.held.total, scheduler.held.byTag.size]).toEqual([0, 0]);
  });

  it("can be abandoned where there are no tags to keep", async () => {
    const { clock, scheduler } = newBench();
    scheduler.enqueue(newItem("plain"));
    scheduler.enqueue(newItem("exempt", { exempt: true }));
    await clock.turn();
    for (const taskId of ["plain", "exempt"]) {
      scheduler.release(taskId, { keepTags: true });
      scheduler.releaseTags(taskId);
      expect(() => scheduler.releaseTags(taskId)).toThrow(InternalError);
    }
    expect(scheduler.held.total).toBe(0);
  });
});

describe("a hold", () => {
  it("keeps back what is under it, exempt or not; what runs goes on and gives its slots back", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 9 });
    scheduler.enqueue(newItem("runs", { run: "r" }));
    await clock.turn();
    expect(scheduler.hold({ kind: "run", runId: "r" })).toBe(true);
    expect(scheduler.hold({ kind: "run", runId: "r" })).toBe(false);
    scheduler.enqueue(newItem("held", { run: "r" }));
    scheduler.enqueue(newItem("held exempt", { run: "r", exempt: true }));
    scheduler.enqueue(newItem("free", { run: "other" }));
    await clock.turn();
    scheduler.release("runs");
    await clock.turn();
    expect(calls).toEqual(["runs", "free"]);
    expect([scheduler.queuedCount, scheduler.held.total]).toEqual([2, 1]);
    expect(scheduler.endHold({ kind: "run", runId: "r" })).toBe(true);
    expect(scheduler.endHold({ kind: "run", runId: "r" })).toBe(false);
    await clock.turn();
    expect(calls).toEqual(["runs", "free", "held exempt", "held"]);
  });

  it("lets times go on: a backoff ends, a delay is over, and the task waits for the hold alone", async () => {
    const { clock, scheduler, calls } = newBench();
    scheduler.hold({ kind: "name", name: "work" });
    scheduler.enqueue(newItem("delayed", { availableAt: START + 100 }));
    scheduler.enqueue(newItem("backs off", { availableAt: START + 100, backoff: true }));
    await clock.advance("1s");
    expect(calls).toEqual(["backs off: backoff ended"]);
    expect(clock.pendingTimers).toBe(0);
    scheduler.endHold({ kind: "name", name: "work" });
    await clock.turn();
    expect(calls).toEqual(["backs off: backoff ended", "delayed", "backs off"]);
  });

  it("holds while one of several is left", async () => {
    const { clock, scheduler, calls } = newBench();
    const keys = [{ kind: "name", name: "work" } as const, { kind: "tag", tag: "io" } as const, { kind: "bucket", bucket: 2 } as const];
    for (const key of keys) scheduler.hold(key);
    scheduler.enqueue(newItem("a", { tags: ["io"], bucket: 2 }));
    for (const key of keys) {
      await clock.turn();
      expect(calls).toEqual([]);
      scheduler.endHold(key);
    }
    await clock.turn();
    expect(calls).toEqual(["a"]);
  });
});

describe("limits", () => {
  it("that are lowered take effect as tasks end, raised ones at once", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 3 });
    for (const taskId of ["a", "b", "c", "d", "e", "f"]) scheduler.enqueue(newItem(taskId));
    await clock.turn();
    scheduler.setLimits(newConcurrency({ maxParallel: 1 }));
    scheduler.release("a");
    scheduler.release("b");
    await clock.turn();
    expect(calls).toEqual(["a", "b", "c"]);
    scheduler.release("c");
    await clock.turn();
    expect(calls).toEqual(["a", "b", "c", "d"]);
    scheduler.setLimits(newConcurrency({ maxParallel: 3 }));
    await clock.turn();
    expect(calls).toEqual(["a", "b", "c", "d", "e", "f"]);
  });

  it("that are new count what runs already", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 9 });
    scheduler.enqueue(newItem("a", { tags: ["io"], bucket: 1 }));
    await clock.turn();
    scheduler.setLimits(newConcurrency({ maxParallel: 9, limits: new Map([["io", 1]]), perBucket: 1 }));
    scheduler.enqueue(newItem("b", { tags: ["io"] }));
    scheduler.enqueue(newItem("c", { bucket: 1 }));
    scheduler.enqueue(newItem("d", { bucket: 2 }));
    await clock.turn();
    expect(calls).toEqual(["a", "d"]);
    scheduler.release("a");
    await clock.turn();
    expect(calls).toEqual(["a", "d", "b", "c"]);
  });
});

describe("a delayed task", () => {
  it("starts when its time has come, by one timer for the earliest", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 9 });
    scheduler.enqueue(newItem("late", { availableAt: START + 2_000 }));
    scheduler.enqueue(newItem("soon", { availableAt: START + 500 }));
    scheduler.enqueue(newItem("past", { availableAt: START - 1 }));
    await clock.turn();
    expect([calls, clock.pendingTimers, scheduler.delayedCount]).toEqual([["past"], 1, 2]);
    await clock.advance(499);
    expect(calls).toEqual(["past"]);
    await clock.advance(1);
    expect([calls, clock.pendingTimers]).toEqual([["past", "soon"], 1]);
    await clock.advance(1_500);
    expect([calls, clock.pendingTimers]).toEqual([["past", "soon", "late"], 0]);
  });

  it("is neither started nor held back by a jump of the wall clock", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 9 });
    scheduler.enqueue(newItem("a", { availableAt: START + 1_000 }));
    clock.jumpWall(3_600_000);
    await clock.advance(999);
    expect(calls).toEqual([]);
    clock.jumpWall(-7_200_000);
    await clock.advance(1);
    expect(calls).toEqual(["a"]);
  });

  it("leaves no timer behind when it is removed", async () => {
    const { clock, scheduler, calls } = newBench();
    scheduler.enqueue(newItem("a", { availableAt: START + 1_000 }));
    scheduler.enqueue(newItem("b", { availableAt: START + 2_000 }));
    expect([scheduler.remove("a"), clock.pendingTimers]).toEqual([true, 1]);
    expect([scheduler.remove("b"), scheduler.remove("b"), clock.pendingTimers]).toEqual([true, false, 0]);
    await clock.advance(5_000);
    expect(calls).toEqual([]);
  });

  it("that is due takes part in a pass for another reason, before its timer fires", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 1 });
    scheduler.enqueue(newItem("running"));
    await clock.turn();
    scheduler.enqueue(newItem("waiting"));
    scheduler.enqueue(newItem("due", { availableAt: START + 10, priority: 1 }));
    clock.busyMs = 50;
    scheduler.release("running");
    await clock.turn();
    expect([calls, clock.pendingTimers]).toEqual([["running", "due"], 0]);
  });

  it("survives a timer that fires early", async () => {
    const { clock, scheduler, calls } = newBench();
    clock.earlyMs = 3;
    scheduler.enqueue(newItem("a", { availableAt: START + 10 }));
    clock.earlyMs = 0;
    await clock.advance(9);
    expect([calls, clock.pendingTimers]).toEqual([[], 1]);
    await clock.advance(1);
    expect(calls).toEqual(["a"]);
  });
});

describe("a backoff", () => {
  it("ends in dispatch when a slot is free", async () => {
    const { clock, scheduler, calls } = newBench();
    scheduler.enqueue(newItem("a", { availableAt: START + 100, backoff: true }));
    await clock.advance(100);
    expect(calls).toEqual(["a"]);
  });

  it("that ends while none is free is said once, and the task waits on", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 1 });
    scheduler.enqueue(newItem("running"));
    scheduler.enqueue(newItem("a", { availableAt: START + 100, backoff: true }));
    scheduler.enqueue(newItem("over already", { availableAt: START - 100, backoff: true }));
    await clock.turn();
    expect(calls).toEqual(["running", "over already: backoff ended"]);
    await clock.advance(1_000);
    scheduler.release("running");
    await clock.turn();
    expect(calls).toEqual(["running", "over already: backoff ended", "a: backoff ended", "over already"]);
  });

  it("is not said of a task that was removed meanwhile", async () => {
    const bench = newBench({ maxParallel: 1 });
    const { clock, scheduler, calls } = bench;
    bench.onDispatch = () => void scheduler.remove("b");
    scheduler.enqueue(newItem("a"));
    scheduler.enqueue(newItem("b", { backoff: true }));
    await clock.turn();
    expect(calls).toEqual(["a"]);
  });
});

describe("closing", () => {
  it("forgets what waits, dispatches nothing more and leaves no timer; slots can still be given back", async () => {
    const { clock, scheduler, calls } = newBench({ maxParallel: 1 });
    scheduler.enqueue(newItem("a"));
    await clock.turn();
    scheduler.enqueue(newItem("b"));
    scheduler.enqueue(newItem("c", { availableAt: START + 10 }));
    scheduler.enqueue(newItem("d", { exempt: true }));
    scheduler.close();
    expect([scheduler.queuedCount, scheduler.delayedCount, clock.pendingTimers]).toEqual([0, 0, 0]);
    scheduler.release("a");
    scheduler.enqueue(newItem("e"));
    await clock.advance(100);
    await clock.turn();
    expect([calls, scheduler.held.total]).toEqual([["a"], 0]);
  });

  it("inside a dispatch ends the pass", async () => {
    const bench = newBench();
    bench.onDispatch = () => bench.scheduler.close();
    for (const taskId of ["a", "b"]) bench.scheduler.enqueue(newItem(taskId));
    await bench.clock.turn();
    expect(bench.calls).toEqual(["a"]);
  });
});

it("refuses a task that is there already", async () => {
  const { clock, scheduler } = newBench({ maxParallel: 1 });
  for (const taskId of ["a", "b"]) scheduler.enqueue(newItem(taskId));
  scheduler.enqueue(newItem("c", { availableAt: START + 1 }));
  await clock.turn();
  expect(() => scheduler.enqueue(newItem("a"))).toThrow(/held/);
  expect(() => scheduler.enqueue(newItem("b"))).toThrow(/ready/);
  expect(() => scheduler.enqueue(newItem("c"))).toThrow(/delayed/);
  expect(scheduler.remove("a")).toBe(false);
});

it("goes on with the others when a dispatch throws", async () => {
  const bench = newBench({ maxParallel: 3 });
  bench.onDispatch = (taskId) => {
    if (taskId === "a") throw new Error("a bug");
  };
  // Due at one instant: the pass runs in the timer, so what is thrown comes out of the clock.
  for (const taskId of ["a", "b", "c"]) bench.scheduler.enqueue(newItem(taskId, { availableAt: START + 1 }));
  await expect(bench.clock.advance(1)).rejects.toThrow("a bug");
  await bench.clock.turn();
  expect(bench.calls).toEqual(["a", "b", "c"]);
});
