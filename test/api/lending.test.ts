import { describe, expect, it } from "vitest";
import { constant, Controller, Deadlock, definePipeline, TaskCancelled, task } from "../../src/index.ts";
import type { TaskHandle } from "../../src/index.ts";
import { gate, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** A stage and tasks that know its controller. */
interface Play {
  stage: Stage;
}

const FOREVER = { timeout: "none" } as const;

describe("a task that waits for another one", () => {
  it.each(["async", "inline"] as const)("lends its slot meanwhile: with one slot in all, %s", async (executor) => {
    const child = task({ name: "child", executor }, (_ctx, value: number) => value * 2);
    const parent = task({ name: "parent", executor }, async (): Promise<number> => {
      const handle = await play.stage.controller.submit(child, [21]);
      return await handle.result();
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe(42);
  });

  it("hears that it would wait for ever when a limit is lowered meanwhile", async () => {
    const child = task({ name: "child", tags: ["x"] }, () => 1);
    const parent = task({ name: "parent", tags: ["x"] }, async () => {
      const handle = await play.stage.controller.submit(child, [], { delay: "1m" });
      await handle.result();
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { limits: { x: 2 } } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    await stage.controller.setLimits({ limits: { x: 1 } });
    await stage.clock.advance("2m");
    expect(await handle.wait({ timeout: "1s" })).toMatchObject({ status: "failed", failure: { name: "Deadlock" } });
  });

  it("may be nested a thousand deep in one slot", async () => {
    const nest = task({ name: "nest" }, async (_ctx, depth: number): Promise<number> => {
      if (depth === 0) return 0;
      const below: TaskHandle<unknown> = await play.stage.controller.submit("nest", [depth - 1]);
      return Number(await below.result()) + 1;
    });
    const play: Play = { stage: await openStage({ tasks: [nest], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(nest, [1_000]);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe(1_000);
  });

  it("goes on ahead of what was queued before, and not before it has its slot again", async () => {
    const seen: string[] = [];
    const doors = { child: gate(), other: gate() };
    const child = task({ name: "child" }, async () => {
      seen.push("child");
      await doors.child.opened;
    });
    const other = task({ name: "other" }, async (_ctx, name: string) => {
      seen.push(name);
      await doors.other.opened;
    });
    const parent = task({ name: "parent" }, async () => {
      seen.push("parent");
      await (await play.stage.controller.submit(child, [], { priority: 9 })).wait(FOREVER);
      seen.push("parent goes on");
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child, other], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent, [], { priority: 1 });
    for (const name of ["first", "second"]) await stage.controller.submit(other, [name]);
    await stage.clock.advance(1);
    expect(seen).toEqual(["parent", "child"]);
    doors.child.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["parent", "child", "parent goes on", "first"]);
    doors.other.open();
    await stage.clock.advance(1);
    expect(seen.at(-1)).toBe("second");
  });

  it("waits for its slot where another task holds it, and takes it before the next in the queue", async () => {
    const seen: string[] = [];
    const doors = { child: gate(), first: gate() };
    const child = task({ name: "child" }, async () => await doors.child.opened);
    const other = task({ name: "other" }, async (_ctx, name: string) => {
      seen.push(name);
      if (name === "first") await doors.first.opened;
    });
    const parent = task({ name: "parent" }, async () => {
      const handle = await play.stage.controller.submit(child);
      for (const name of ["first", "second"]) await play.stage.controller.submit(other, [name]);
      await handle.cancel({ grace: 0 });
      await handle.wait(FOREVER);
      await (await play.stage.controller.submit(other, ["third"])).wait(FOREVER);
      seen.push("parent goes on");
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child, other], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent);
    await stage.clock.advance(1);
    doors.first.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["first", "second", "third", "parent goes on"]);
  });

  it("lends its bucket slot, and never its semaphores", async () => {
    const seen: string[] = [];
    const door = gate();
    const child = task({ name: "child" }, async () => await door.opened);
    const tagged = task({ name: "tagged", tags: ["db"] }, () => void seen.push("tagged"));
    const parent = task({ name: "parent", tags: ["db"] }, async () => {
      await (await play.stage.controller.submit(child)).wait(FOREVER);
      seen.push("parent goes on");
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child, tagged], concurrency: { maxParallel: 1, limits: { db: 1 } } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent);
    await stage.controller.submit(tagged);
    await stage.clock.advance(1);
    expect(seen).toEqual([]);
    door.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["parent goes on", "tagged"]);
  });

  it("lends until the last of several waits ends, and takes the slot back once", async () => {
    const child = task({ name: "child" }, (_ctx, value: number) => value);
    const parent = task({ name: "parent" }, async (): Promise<number> => {
      const handles = await Promise.all([1, 2, 3, 4].map(async (value) => await play.stage.controller.submit(child, [value])));
      const values = await Promise.all(handles.map(async (handle) => await handle.result()));
      return values.reduce((sum, value) => sum + value, 0);
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handles = [await stage.controller.submit(parent), await stage.controller.submit(parent)];
    await stage.clock.advance(1);
    for (const handle of handles) expect(await handle.result()).toBe(10);
  });

  it("may wait for a run", async () => {
    const child = task({ name: "child" }, (_ctx, value: number) => value);
    const pair = definePipeline("pair", {}, (p) => {
      const first = p.add(child, { name: "first", args: [1] });
      p.add(child, { name: "second", deps: [first], args: (up) => [up(first) + 1] });
    });
    const parent = task({ name: "parent" }, async () => (await (await play.stage.controller.startRun(pair)).wait(FOREVER)).status);
    const play: Play = { stage: await openStage({ tasks: [parent], pipelines: [pair], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe("succeeded");
  });

  it("is next when the run ends that it waits for", async () => {
    const seen: string[] = [];
    const door = gate();
    const node = task({ name: "node" }, async () => await door.opened);
    const one = definePipeline("one", {}, (p) => void p.add(node));
    const other = task({ name: "other" }, () => void seen.push("other"));
    const parent = task({ name: "parent" }, async () => {
      const run = await play.stage.controller.startRun(one, [], { priority: 9 });
      await run.wait(FOREVER);
      seen.push("parent goes on");
    });
    const play: Play = { stage: await openStage({ tasks: [parent, other], pipelines: [one], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent, [], { priority: 1 });
    await stage.controller.submit(other);
    await stage.clock.advance(1);
    expect(seen).toEqual([]);
    door.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["parent goes on", "other"]);
  });

  it("that ends in the midst of a wait leaves nothing behind: the next attempt lends and takes back its own", async () => {
    const doors = { held: gate(), end: gate() };
    const seen: string[] = [];
    const held = task({ name: "held" }, async () => await doors.held.opened);
    const quick = task({ name: "quick" }, () => "quick");
    const leaver = task({ name: "leaver" }, async (ctx, heldId: string) => {
      if (ctx.attempt === 1) {
        void play.stage.controller.wait(heldId, FOREVER).then(() => seen.push("late"));
        throw new Error("once");
      }
      seen.push(String(await (await play.stage.controller.submit(quick)).result()));
      await doors.end.opened;
    });
    const play: Play = { stage: await openStage({ tasks: [held, quick, leaver], concurrency: { maxParallel: 2 } }) };
    await using stage = play.stage;
    const awaited = await stage.controller.submit(held);
    const handle = await stage.controller.submit(leaver, [awaited.id]);
    await stage.clock.advance(1);
    await handle.retry();
    await stage.clock.advance(1);
    expect(seen).toEqual(["quick"]);
    const next = await stage.controller.submit(quick);
    await stage.clock.advance(1);
    expect((await next.snapshot()).status).toBe("queued");
    doors.held.open();
    doors.end.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["quick", "late"]);
    expect(await next.result()).toBe("quick");
  });

  it("lends nothing for what has ended already, and what it left behind when it ended waits like anybody", async () => {
    const door = gate();
    const late: string[] = [];
    const held = task({ name: "held" }, async () => await door.opened);
    const leaver = task({ name: "leaver" }, async () => {
      const handle = await play.stage.controller.submit(held);
      void handle.wait(FOREVER).then(({ status }) => late.push(status));
    });
    const play: Play = { stage: await openStage({ tasks: [held, leaver], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(leaver);
    await stage.clock.advance(1);
    expect((await handle.snapshot()).status).toBe("succeeded");
    door.open();
    await stage.clock.advance(1);
    expect(late).toEqual(["succeeded"]);
    expect(await (await stage.controller.submit(leaver)).result()).toBeUndefined();
  });
});

describe("a wait that could never end", () => {
  it("is refused where the awaited task needs a semaphore that the waiter holds; both are named", async () => {
    const child = task({ name: "child", tags: ["db"] }, () => 1);
    let refused: unknown;
    let childId = "";
    const parent = task({ name: "parent", tags: ["db"] }, async () => {
      const handle = await play.stage.controller.submit(child);
      childId = handle.id;
      refused = await handle.result().catch((error: unknown) => error);
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { limits: { db: 1 } } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(refused).toBeInstanceOf(Deadlock);
    expect(refused).toMatchObject({ code: "DEADLOCK", path: [handle.id, childId, handle.id] });
    expect(String(refused)).toContain(`task ${handle.id} ("parent")`);
    expect(String(refused)).toContain(`task ${childId} ("child")`);
    expect(String(refused)).toContain('semaphore "db"');
    expect((await stage.controller.get(childId)).status).toBe("succeeded");
  });

  it("is none where somebody else will give the semaphore up", async () => {
    const door = gate();
    const child = task({ name: "child", tags: ["db"] }, () => 1);
    const other = task({ name: "other", tags: ["db"] }, async () => await door.opened);
    const parent = task({ name: "parent", tags: ["db"] }, async () => await (await play.stage.controller.submit(child)).result());
    const play: Play = { stage: await openStage({ tasks: [parent, child, other], concurrency: { limits: { db: 2 } } }) };
    await using stage = play.stage;
    await stage.controller.submit(other);
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect((await handle.snapshot()).status).toBe("running");
    door.open();
    await stage.clock.advance(1);
    expect(await handle.result()).toBe(1);
  });

  it("is refused where the awaited task waits for the waiter, through others too", async () => {
    const ids = new Map<string, string>();
    const ready = gate();
    const ends: unknown[] = [];
    const link = task({ name: "link" }, async (_ctx, next: string) => {
      await ready.opened;
      try {
        return (await play.stage.controller.wait(ids.get(next) ?? "", FOREVER)).status;
      } catch (error) {
        ends.push(error);
        throw error;
      }
    });
    const play: Play = { stage: await openStage({ tasks: [link], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    for (const [name, next] of [
      ["a", "b"],
      ["b", "c"],
      ["c", "a"],
    ] as const)
      ids.set(name, (await stage.controller.submit(link, [next])).id);
    ready.open();
    await stage.clock.advance(1);
    expect(ends).toHaveLength(1);
    expect(ends[0]).toBeInstanceOf(Deadlock);
    expect(ends[0]).toMatchObject({ path: [ids.get("c"), ids.get("a"), ids.get("b"), ids.get("c")] });
    const statuses = await Promise.all(["a", "b", "c"].map(async (name) => (await stage.controller.get(ids.get(name) ?? "")).status));
    expect(statuses).toEqual(["succeeded", "succeeded", "failed"]);
  });

  it("is told to one that waits already, once the awaited task comes to need the semaphore", async () => {
    const door = gate();
    const ends: unknown[] = [];
    const slow = task({ name: "slow" }, async () => await door.opened);
    const needy = task({ name: "needy", tags: ["db"] }, () => 1);
    const chain = definePipeline("chain", {}, (p) => {
      const first = p.add(slow);
      p.add(needy, { deps: [first] });
    });
    const parent = task({ name: "parent", tags: ["db"] }, async () => {
      const run = await play.stage.controller.startRun(chain);
      const awaited = run.graph().find(({ name }) => name === "needy")?.taskId ?? "";
      ends.push(await play.stage.controller.wait(awaited, FOREVER).catch((error: unknown) => error));
      ends.push((await run.snapshot()).status);
    });
    const play: Play = { stage: await openStage({ tasks: [parent], pipelines: [chain], concurrency: { limits: { db: 1 } } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(ends).toEqual([]);
    door.open();
    await stage.clock.advance(1);
    expect(ends[0]).toBeInstanceOf(Deadlock);
    expect(ends[1]).toBe("running");
    expect((await stage.controller.stats()).succeeded).toBe(3);
  });

  it("is told after a failed attempt, when somebody else has the semaphore and waits for the task", async () => {
    const door = gate();
    const ends: unknown[] = [];
    const twice = { done: false };
    const child = task({ name: "child", tags: ["db"], retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, async () => {
      if (twice.done) return "second time";
      twice.done = true;
      await door.opened;
      throw new Error("once");
    });
    const parent = task({ name: "parent", tags: ["db"] }, async (_ctx, childId: string) => {
      ends.push(await play.stage.controller.wait(childId, FOREVER).catch((error: unknown) => error));
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { limits: { db: 1 } } }) };
    await using stage = play.stage;
    const awaited = await stage.controller.submit(child);
    await stage.controller.submit(parent, [awaited.id]);
    door.open();
    await stage.clock.advance(1);
    expect(ends).toHaveLength(1);
    expect(ends[0]).toBeInstanceOf(Deadlock);
    await stage.clock.advance("1s");
    expect(await awaited.result()).toBe("second time");
  });

  it("is told once the last node that could have brought the run to its end is over", async () => {
    const door = gate();
    const refused: unknown[] = [];
    const slow = task({ name: "slow" }, async () => await door.opened);
    const needy = task({ name: "needy", tags: ["db"] }, () => 1);
    const both = definePipeline("both", {}, (p) => {
      p.add(slow);
      p.add(needy);
    });
    const parent = task({ name: "parent", tags: ["db"] }, async () => {
      const run = await play.stage.controller.startRun(both);
      refused.push(await run.wait(FOREVER).catch((error: unknown) => error));
    });
    const play: Play = { stage: await openStage({ tasks: [parent], pipelines: [both], concurrency: { limits: { db: 1 } } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(refused).toEqual([]);
    door.open();
    await stage.clock.advance(1);
    expect(refused).toHaveLength(1);
    expect(refused[0]).toBeInstanceOf(Deadlock);
  });
});

describe("a map among the waits", () => {
  it("goes on in one slot while a task waits for it, and its items may wait for others", async () => {
    const leaf = task({ name: "leaf" }, (_ctx, value: number) => value);
    const item = task({ name: "item" }, async (_ctx, value: number): Promise<number> => await (await play.stage.controller.submit(leaf, [value])).result());
    const all = definePipeline("all", {}, (p) => void p.map(item, { items: [1, 2, 3], maxParallel: 2 }));
    const parent = task({ name: "parent" }, async () => (await (await play.stage.controller.startRun(all)).wait(FOREVER)).status);
    const play: Play = { stage: await openStage({ tasks: [leaf, parent], pipelines: [all], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe("succeeded");
  });

  it("is a ring with its item that waits for it, or for one whose turn comes after its own", async () => {
    const refused: unknown[] = [];
    const awaited: Record<string, string> = {};
    const item = task({ name: "item" }, async (ctx, who: string) => {
      if (who === "last") return;
      const id = who === "map" ? awaited["map"] : (await play.stage.controller.list({ name: "item" })).items.at(-1)?.taskId;
      refused.push(await play.stage.controller.wait(id ?? "", FOREVER).catch((error: unknown) => error));
      void ctx;
    });
    const all = definePipeline("all", {}, (p, who: string) => void p.map(item, { name: "each", items: [who, "last"], maxParallel: 1 }));
    const play: Play = { stage: await openStage({ pipelines: [all] }) };
    await using stage = play.stage;
    for (const who of ["map", "sibling"]) {
      const run = await stage.controller.startRun(all, [who]);
      awaited["map"] = run.graph().find(({ name }) => name === "each")?.taskId ?? "";
      await stage.clock.advance(1);
      expect((await run.snapshot()).status).toBe("succeeded");
    }
    expect(refused).toHaveLength(2);
    for (const error of refused) expect(error).toBeInstanceOf(Deadlock);
  });

  it("is a ring where its items need a semaphore that the one who waits for it holds", async () => {
    let refused: unknown;
    const item = task({ name: "item", tags: ["db"] }, (_ctx, value: number) => value);
    const all = definePipeline("all", {}, (p) => void p.map(item, { items: [1, 2] }));
    const parent = task({ name: "parent", tags: ["db"] }, async () => {
      const run = await play.stage.controller.startRun(all);
      refused = await run.wait(FOREVER).catch((error: unknown) => error);
    });
    const play: Play = { stage: await openStage({ tasks: [parent], pipelines: [all], concurrency: { limits: { db: 1 } } }) };
    await using stage = play.stage;
    await stage.controller.submit(parent);
    await stage.clock.advance(1);
    expect(refused).toBeInstanceOf(Deadlock);
  });
});

describe("a task that waits is controlled as at a checkpoint", () => {
  async function waiting(door: Promise<unknown>): Promise<{ readonly stage: Stage; readonly parent: TaskHandle<unknown>; readonly seen: unknown[] }> {
    const seen: unknown[] = [];
    const child = task({ name: "child" }, async () => await door);
    const parent = task({ name: "parent" }, async () => {
      const handle = await play.stage.controller.submit(child);
      try {
        await handle.wait(FOREVER);
        seen.push("goes on");
      } catch (error) {
        seen.push(error);
        throw error;
      }
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child], concurrency: { maxParallel: 1 } }) };
    const handle = await play.stage.controller.submit(parent);
    await play.stage.clock.advance(1);
    return { stage: play.stage, parent: handle, seen };
  }

  it("a stop ends the wait", async () => {
    const { stage, parent, seen } = await waiting(gate().opened);
    await using _ = stage;
    const stopped = parent.stop();
    await stage.clock.advance(1);
    expect((await stopped).status).toBe("stopped");
    expect(seen).toHaveLength(1);
    expect(seen[0]).toBeInstanceOf(TaskCancelled);
  });

  it("told to stop it cleans up at once, and the next slot that is free is its own", async () => {
    const doors = { child: gate(), cleanUp: gate() };
    const seen: string[] = [];
    const child = task({ name: "child" }, async () => await doors.child.opened);
    const other = task({ name: "other" }, () => void seen.push("other"));
    const parent = task({ name: "parent" }, async () => {
      try {
        await (await play.stage.controller.submit(child)).wait(FOREVER);
      } finally {
        await doors.cleanUp.opened;
      }
    });
    const play: Play = { stage: await openStage({ tasks: [parent, child, other], concurrency: { maxParallel: 1 } }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(parent);
    await stage.clock.advance(1);
    const stopped = handle.stop();
    await stage.controller.submit(other);
    doors.child.open();
    await stage.clock.advance(1);
    expect(seen).toEqual([]);
    doors.cleanUp.open();
    await stage.clock.advance(1);
    expect((await stopped).status).toBe("stopped");
    expect(seen).toEqual(["other"]);
  });

  it("one that is given up on in a wait loses its slot once", async () => {
    const { stage, parent } = await waiting(gate().opened);
    await using _ = stage;
    const stopped = parent.stop({ grace: 0 });
    await stage.clock.advance(1);
    expect(["stopped", "lost"]).toContain((await stopped).status);
    const next = await stage.controller.submit("child");
    await stage.clock.advance(1);
    expect((await next.snapshot()).status).toBe("queued");
  });

  it("a pause takes hold in the wait and outlasts it", async () => {
    const door = gate();
    const { stage, parent, seen } = await waiting(door.opened);
    await using _ = stage;
    const paused = parent.pause();
    await stage.clock.advance(1);
    expect(await paused).toBe(true);
    door.open();
    await stage.clock.advance(1);
    expect(seen).toEqual([]);
    await parent.resume();
    await stage.clock.advance(1);
    expect(seen).toEqual(["goes on"]);
    expect((await parent.snapshot()).status).toBe("succeeded");
  });
});

describe("close() from inside a task of the controller", () => {
  it("is refused: it would wait for itself", async () => {
    const closer = task({ name: "closer" }, async () => await play.stage.controller.close());
    const play: Play = { stage: await openStage({ tasks: [closer] }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(closer);
    await stage.clock.advance(1);
    const { status, failure } = await handle.snapshot();
    expect({ status, name: failure?.name }).toEqual({ status: "failed", name: "Deadlock" });
    expect(failure?.message).toContain(handle.id);
  });

  it("is the affair of whoever opened another controller inside a task", async () => {
    const host = task({ name: "host" }, async () => {
      await using inner = await Controller.open({ tasks: [leaf], clock: play.stage.clock });
      return await (await inner.submit(leaf)).result();
    });
    const leaf = task({ name: "leaf" }, () => "leaf");
    const play: Play = { stage: await openStage({ tasks: [host] }) };
    await using stage = play.stage;
    const handle = await stage.controller.submit(host);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe("leaf");
  });
});
