import { describe, expect, it } from "vitest";
import { Scheduler } from "../../src/runtime/scheduler.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

interface Bench {
  readonly clock: FakeClock;
  readonly scheduler: Scheduler;
  readonly started: string[];
  /** Puts them into the queue and lets their turn come. */
  readonly enqueue: (...tasks: readonly (readonly [taskId: string, bucket?: number])[]) => Promise<void>;
}

function newBench(maxParallel: number, perBucket: number | null = null): Bench {
  const clock = new FakeClock();
  const started: string[] = [];
  const limits = new Map([["db", 1]]);
  const scheduler = new Scheduler({
    clock,
    concurrency: { maxParallel, limits, perBucket, defaultPriority: 0, agingMs: null },
    dispatch: (taskId) => void started.push(taskId),
    backoffEnded: () => {},
  });
  const enqueue: Bench["enqueue"] = async (...tasks) => {
    for (const [taskId, bucket = null] of tasks) {
      const tags = taskId.startsWith("db") ? ["db"] : [];
      scheduler.enqueue({ taskId, name: "work", priority: 0, bucket, tags, availableAt: null, backoff: false });
    }
    await clock.turn();
  };
  return { clock, scheduler, started, enqueue };
}

/** Notes when the slots are back. */
function noteBack(scheduler: Scheduler, taskId: string, seen: string[]): void {
  const back = scheduler.takeBack(taskId);
  if (back === null) seen.push(taskId);
  else void back.then(() => seen.push(taskId));
}

describe("slots that were lent", () => {
  it("start somebody else, and the tags stay held", async () => {
    const { scheduler, started, enqueue, clock } = newBench(1);
    await enqueue(["db a"], ["db b"], ["c"]);
    scheduler.lend("db a");
    await clock.turn();
    expect(started).toEqual(["db a", "c"]);
    expect([scheduler.held.total, scheduler.held.byTag.get("db")]).toEqual([1, 1]);
  });

  it("come back at once where there is room", async () => {
    const { scheduler, enqueue } = newBench(1);
    await enqueue(["a"]);
    scheduler.lend("a");
    expect(scheduler.held.total).toBe(0);
    expect(scheduler.takeBack("a")).toBeNull();
    expect(scheduler.held.total).toBe(1);
  });

  it("come back in the order in which they were asked for, ahead of the queue", async () => {
    const { scheduler, started, enqueue, clock } = newBench(2);
    await enqueue(["a"], ["b"]);
    for (const taskId of ["a", "b"]) scheduler.lend(taskId);
    await enqueue(["c"], ["d"], ["e"]);
    const back: string[] = [];
    for (const taskId of ["b", "a"]) noteBack(scheduler, taskId, back);
    await clock.turn();
    expect([started, back]).toEqual([["a", "b", "c", "d"], []]);
    scheduler.release("c");
    await clock.turn();
    expect(back).toEqual(["b"]);
    scheduler.release("d");
    await clock.turn();
    expect(back).toEqual(["b", "a"]);
    scheduler.release("a");
    await clock.turn();
    expect(started.at(-1)).toBe("e");
  });

  it("of a bucket that is full hold up nobody of another", async () => {
    const { scheduler, started, enqueue, clock } = newBench(2, 1);
    await enqueue(["a", 1]);
    scheduler.lend("a");
    await enqueue(["b", 1]);
    const back: string[] = [];
    noteBack(scheduler, "a", back);
    await enqueue(["c", 1], ["d", 2]);
    expect([started, back]).toEqual([["a", "b", "d"], []]);
    scheduler.release("b");
    await clock.turn();
    expect([started, back]).toEqual([["a", "b", "d"], ["a"]]);
  });

  it("stay lent when the task waits again before it has them back", async () => {
    const { scheduler, enqueue, clock } = newBench(1);
    await enqueue(["a"]);
    scheduler.lend("a");
    await enqueue(["b"]);
    const back: string[] = [];
    noteBack(scheduler, "a", back);
    scheduler.lend("a");
    await clock.turn();
    expect(back).toEqual(["a"]);
    scheduler.release("b");
    await clock.turn();
    expect(scheduler.held.total).toBe(0);
  });

  it("are given up with the task, whatever it waits for, and once", async () => {
    const { scheduler, enqueue, clock } = newBench(1);
    await enqueue(["db a"]);
    scheduler.lend("db a");
    scheduler.lend("db a");
    await enqueue(["b"]);
    const back: string[] = [];
    noteBack(scheduler, "db a", back);
    scheduler.release("db a", { keepTags: true });
    await clock.turn();
    expect(back).toEqual(["db a"]);
    scheduler.release("b");
    await clock.turn();
    expect([scheduler.held.total, scheduler.held.byTag.get("db")]).toEqual([0, 1]);
    scheduler.releaseTags("db a");
    expect(scheduler.held.byTag.size).toBe(0);
    scheduler.lend("db a");
    expect(scheduler.takeBack("db a")).toBeNull();
  });
});
