import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, isFailure, task } from "../../src/index.ts";
import type { AggregationPolicy, FailedItems, RunHandle, Task, TaskEvent, TaskSnapshot, TaskStatus } from "../../src/index.ts";
import { gate, listen, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const sum = task({ name: "sum" }, (_ctx, values: readonly unknown[]) =>
  values.reduce<number>((all, value) => all + (typeof value === "number" ? value : 0), 0),
);

interface MapStage extends Stage {
  readonly run: RunHandle;
  /** The node's id, or that of an item. */
  readonly id: (name: string) => string;
  readonly of: (name: string) => Promise<TaskSnapshot>;
  readonly items: () => readonly TaskStatus[];
}

interface MapStageOptions {
  readonly items: readonly number[];
  readonly onFailure?: AggregationPolicy;
  readonly maxParallel?: number;
  readonly failedItems?: FailedItems;
  /** Of the controller. */
  readonly slots?: number;
  /** Beside the map, so that the run stays open. */
  readonly beside?: Task<string, [], unknown>;
}

/** `each → sum` under way: `each` maps the items given. */
async function openMap(each: (stage: () => Stage) => Task<string, [value: number], number>, options: MapStageOptions): Promise<MapStage> {
  const mapped = each(() => stage);
  const pipeline = definePipeline("maps", { onFailure: options.onFailure ?? allSettled() }, (p) => {
    const { items, maxParallel, failedItems = "fail" } = options;
    const map = p.map(mapped, { name: "each", items, failedItems, ...(maxParallel === undefined ? {} : { maxParallel }) });
    p.add(sum, { deps: [map], args: (up) => [up(map)] });
    if (options.beside !== undefined) p.add(options.beside);
  });
  const stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: options.slots ?? 100 } });
  const run = await stage.controller.startRun(pipeline);
  const id = (name: string): string => [...run.graph(), ...run.items("each")].find((node) => node.name === name)?.taskId ?? name;
  return { ...stage, run, id, of: async (name) => await stage.controller.get(id(name)), items: () => run.items("each").map(({ status }) => status) };
}

/** Comes by a checkpoint every 10 ms until it has gone on for as long as its item says. */
const lasting = (stage: () => Stage) =>
  task({ name: "lasting" }, async (ctx, value: number) => {
    for (let passed = 0; passed < value; passed += 10) {
      await ctx.checkpoint();
      await new Promise<void>((resolve) => void stage().clock.setTimer(10, resolve));
    }
    return value;
  });

/** Fails in its first attempt where the item is odd. */
const oddFails = () =>
  task({ name: "odd-fails" }, (ctx, value: number) => {
    if (value % 2 === 1 && ctx.attempt === 1) throw new Error(`odd: ${value}`);
    return value * 10;
  });

/** The map has been launched and has made some of its items, not all: nothing but the loop's own turns goes on. */
async function expanding(run: RunHandle): Promise<void> {
  while (run.items("each").length === 0) await new Promise<void>((resolve) => void setImmediate(resolve));
}

const holds = task({ name: "holds" }, async (ctx) => {
  await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
  await ctx.checkpoint();
});

describe("pause of a map", () => {
  it("pauses what runs and holds back what waits; resume lets both go on", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100, 100], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    const paused = controller.pause(id("each"), { actor: "ada" });
    await clock.advance(20);
    expect(await paused).toBe(true);
    expect(await stage.of("each")).toMatchObject({ status: "paused", pausedBy: "ada" });
    expect(items()).toEqual(["paused", "paused", "queued", "queued"]);
    expect(await stage.of("each[0]")).toMatchObject({ pausedBy: "ada" });
    await clock.advance("1m");
    expect(items()).toEqual(["paused", "paused", "queued", "queued"]);
    await controller.resume(id("each"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [100, 100, 100, 100] });
    expect(await stage.run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("holds back also what waits for a slot of the controller", async () => {
    await using stage = await openMap(lasting, { items: [50, 50, 50], slots: 1 });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    const paused = controller.pause(id("each"));
    await clock.advance(20);
    expect(await paused).toBe(true);
    // The one that was paused in place is stopped, and gives its slot back.
    void controller.stop(id("each[0]"));
    await clock.advance("1m");
    expect(items()).toEqual(["stopped", "queued", "queued"]);
    await controller.resume(id("each"));
    await clock.advance("1m");
    expect(items()).toEqual(["stopped", "succeeded", "succeeded"]);
  });

  it("is over where its items are ended one by one meanwhile: begun again, it goes on", async () => {
    await using stage = await openMap(lasting, { items: [100, 100], beside: holds });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    const paused = controller.pause(id("each"));
    await clock.advance(20);
    expect(await paused).toBe(true);
    for (const name of ["each[0]", "each[1]"]) void controller.stop(id(name));
    await clock.advance(20);
    expect(await stage.of("each")).toMatchObject({ status: "stopped" });
    await controller.reset(id("each"), { confirm: true });
    await controller.start(id("each"));
    await clock.advance("1m");
    expect(items()).toEqual(["succeeded", "succeeded"]);
  });

  it("leaves paused what a person has paused by itself", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    void controller.pause(id("each[0]"));
    void controller.pause(id("each[2]"));
    await clock.advance(20);
    const paused = controller.pause(id("each"));
    await clock.advance(20);
    expect(await paused).toBe(true);
    await controller.resume(id("each"));
    await clock.advance("1m");
    expect(items()).toEqual(["paused", "succeeded", "paused"]);
    expect(await stage.of("each")).toMatchObject({ status: "running" });
    await controller.resume(id("each[0]"));
    await controller.resume(id("each[2]"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded" });
  });

  it("is taken back where an item reaches no checkpoint in time, and all of it runs on", async () => {
    const deaf = gate();
    const each = (stage: () => Stage) =>
      task({ name: "some-deaf" }, async (ctx, value: number) => {
        if (value === 0) await deaf.opened;
        else await listen(ctx, stage().clock);
        return value;
      });
    await using stage = await openMap(each, { items: [0, 1, 2], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    const warnings: TaskEvent[] = [];
    const enough = new AbortController();
    const watching = (async () => {
      for await (const event of controller.events({ types: ["TaskWarning"], signal: enough.signal })) warnings.push(event);
    })();
    await clock.advance(15);
    const paused = controller.pause(id("each"), { timeout: "10s" });
    await clock.advance("5s");
    expect(await stage.of("each")).toMatchObject({ status: "pausing" });
    expect(items()).toEqual(["pausing", "paused", "queued"]);
    await clock.advance("6s");
    expect(await paused).toBe(false);
    expect(await stage.of("each")).toMatchObject({ status: "running" });
    expect(items()).toEqual(["running", "running", "queued"]);
    expect(warnings).toMatchObject([{ code: "pause_rolled_back", node: "each" }]);
    deaf.open();
    await clock.advance(1);
    expect(items()).toEqual(["succeeded", "running", "running"]);
    enough.abort();
    await watching;
  });

  it("is reached when what cannot be paused has ended", async () => {
    const inline = gate();
    const each = () => task({ name: "inline", executor: "inline" }, async (_ctx, value: number) => (await inline.opened, value));
    await using stage = await openMap(each, { items: [1, 2], maxParallel: 1 });
    const { controller, clock, id, items } = stage;
    await clock.advance(1);
    const paused = controller.pause(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "pausing" });
    inline.open();
    await clock.advance(1);
    expect(await paused).toBe(true);
    expect(items()).toEqual(["succeeded", "queued"]);
    await controller.resume(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [1, 2] });
  });

  it("while it expands lets no item begin", async () => {
    let ran = 0;
    const each = () => task({ name: "counts" }, (_ctx, value: number) => ((ran += 1), value));
    await using stage = await openMap(each, { items: Array.from({ length: 1_700 }, (_, index) => index) });
    const { controller, clock, id, run } = stage;
    await expanding(run);
    expect(run.items("each").length).toBeLessThan(1_700);
    const paused = controller.pause(id("each"));
    await clock.advance("1m");
    expect(await paused).toBe(true);
    expect(ran).toBe(0);
    await controller.resume(id("each"));
    await clock.advance("1m");
    expect(ran).toBe(1_700);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("while it expands makes no more items than those under way, until it is resumed or stopped", async () => {
    const each = () => task({ name: "counts" }, (_ctx, value: number) => value);
    await using stage = await openMap(each, { items: Array.from({ length: 1_700 }, (_, index) => index), beside: holds });
    const { controller, clock, id, run, items } = stage;
    await expanding(run);
    void controller.pause(id("each"));
    await clock.advance("1m");
    const made = items().length;
    expect(made).toBeLessThanOrEqual(1_000);
    await controller.resume(id("each"));
    await controller.pause(id("each"));
    await clock.advance("1m");
    expect(items().length).toBeLessThan(1_700);
    const stopped = controller.stop(id("each"));
    await clock.advance("1m");
    expect(await stopped).toMatchObject({ status: "stopped" });
    // Retried, it makes the others, too.
    await controller.retry(id("each"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded" });
    expect(items()).toHaveLength(1_700);
  });

  it("while its items are queued again queues no more of them until it is resumed", async () => {
    let isMended = false;
    const each = () =>
      task({ name: "mends" }, (_ctx, value: number) => {
        if (!isMended) throw new Error("broken");
        return value;
      });
    await using stage = await openMap(each, { items: Array.from({ length: 1_700 }, (_, index) => index), beside: holds });
    const { controller, clock, id, items } = stage;
    await clock.advance("1m");
    isMended = true;
    await controller.retry(id("each"));
    while (!items().includes("queued")) await clock.turn();
    void controller.pause(id("each"));
    await clock.advance("1m");
    expect(items().filter((status) => status === "failed").length).toBeGreaterThan(0);
    await controller.resume(id("each"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded" });
  });
});

describe.each([
  ["stop", "stopped"],
  ["cancel", "cancelled"],
] as const)("%s of a map", (verb, ended) => {
  it("reaches each of its items that has not ended", async () => {
    await using stage = await openMap(lasting, { items: [10, 100, 100, 100], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    await clock.advance(25);
    expect(items()).toEqual(["succeeded", "running", "running", "queued"]);
    const asked = controller[verb](id("each"), { actor: "ada", reason: "enough" });
    await clock.advance("1m");
    expect(await asked).toMatchObject({ status: ended, failure: { kind: "cancelled" } });
    expect(items()).toEqual(["succeeded", ended, ended, ended]);
    expect(await stage.of("sum")).toMatchObject({ status: "cancelled", failure: { kind: "dependency_failed" } });
    expect(await stage.run.snapshot()).toMatchObject({ status: verb === "stop" ? "stopped" : "cancelled" });
    const [last] = (await controller.history(id("each[3]"))).slice(-1);
    expect(last).toMatchObject({ to: ended, trigger: "pipeline:map" });
    expect(last?.reason).toMatch(/ada: enough/);
  });

  it("reaches the items also while it is paused", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    const paused = controller.pause(id("each"));
    await clock.advance(20);
    await paused;
    const asked = controller[verb](id("each"));
    await clock.advance("1m");
    expect(await asked).toMatchObject({ status: ended });
    expect(items()).toEqual([ended, ended, ended]);
  });

  it("while it expands ends those made so far, and makes no more", async () => {
    let ran = 0;
    const each = () => task({ name: "counts" }, (_ctx, value: number) => ((ran += 1), value));
    await using stage = await openMap(each, { items: Array.from({ length: 1_700 }, (_, index) => index) });
    const { controller, clock, id, run, items } = stage;
    await expanding(run);
    const asked = controller[verb](id("each"));
    await clock.advance("1m");
    expect(await asked).toMatchObject({ status: ended });
    expect(ran).toBe(0);
    expect(items().length).toBeLessThan(1_700);
    expect(new Set(items())).toEqual(new Set([ended]));
  });

  it("of the whole run reaches the items, too", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2 });
    const { clock, run, items } = stage;
    await clock.advance(15);
    const asked = run[verb]();
    await clock.advance("1m");
    expect(await asked).toMatchObject({ status: ended });
    expect(items()).toEqual([ended, ended, ended]);
    expect(await stage.of("each")).toMatchObject({ status: ended });
  });

  it("of one item ends the map like that, once the others have ended", async () => {
    await using stage = await openMap(lasting, { items: [30, 100], maxParallel: 2 });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    const asked = controller[verb](id("each[0]"));
    await clock.advance(50);
    expect(await asked).toMatchObject({ status: ended });
    expect(await stage.of("each")).toMatchObject({ status: "running" });
    await clock.advance("1m");
    expect(items()).toEqual([ended, "succeeded"]);
    expect(await stage.of("each")).toMatchObject({ status: ended, failure: { message: `its item each[0] (${id("each[0]")}) was ${ended}` } });
    expect(await stage.run.snapshot()).toMatchObject({ status: ended });
  });

  it("of one item leaves its failure in its place where the map keeps it", async () => {
    await using stage = await openMap(lasting, { items: [30, 100], failedItems: "keep" });
    const { controller, clock, id } = stage;
    await clock.advance(15);
    void controller[verb](id("each[0]"));
    await clock.advance("1m");
    const { status, outcome } = await stage.of("each");
    expect([status, outcome]).toMatchObject(["succeeded", [{ kind: "cancelled" }, 100]]);
    expect(Array.isArray(outcome) && outcome.map(isFailure)).toEqual([true, false]);
  });

  it("of a map that keeps failures ends it like that also where an item has failed before: that is none of its own", async () => {
    const fails = (each: () => Stage) =>
      task({ name: "fails" }, async (ctx, ms: number): Promise<number> => {
        if (ms === 0) throw new Error("kept");
        return await listen(ctx, each().clock);
      });
    await using stage = await openMap(fails, { items: [0, 100], failedItems: "keep" });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    void controller[verb](id("each"));
    await clock.advance("1m");
    expect(items()).toEqual(["failed", ended]);
    expect(await stage.of("each")).toMatchObject({ status: ended });
  });

  it("of a map that keeps failures ends it all the same", async () => {
    await using stage = await openMap(lasting, { items: [30, 100], failedItems: "keep" });
    const { controller, clock, id } = stage;
    await clock.advance(15);
    void controller[verb](id("each"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: ended });
  });
});

describe("an item that does not end when the map is stopped", () => {
  it("is lost, and the map has failed", async () => {
    const each = () => task({ name: "deaf" }, async (_ctx, value: number) => (value === 1 ? await gate<number>().opened : value));
    await using stage = await openMap(each, { items: [0, 1, 2] });
    const { controller, clock, id, items } = stage;
    await clock.advance(1);
    void controller.stop(id("each"), { grace: "3s" });
    await clock.advance("4s");
    expect(items()).toEqual(["succeeded", "lost", "succeeded"]);
    expect(await stage.of("each")).toMatchObject({ status: "failed", failure: { kind: "lost", name: "ItemsFailed" } });
  });

  it("ends earlier where it is asked again with a shorter grace", async () => {
    const each = () => task({ name: "deaf" }, async (_ctx, value: number) => (await gate().opened, value));
    await using stage = await openMap(each, { items: [0] });
    const { controller, clock, id, items } = stage;
    await clock.advance(1);
    void controller.stop(id("each"), { grace: "1h" });
    await clock.advance("1s");
    void controller.stop(id("each"), { grace: "1s" });
    await clock.advance("2s");
    expect(items()).toEqual(["lost"]);
  });
});

describe("an item that a person skips or forces", () => {
  it("counts as succeeded with the outcome given", async () => {
    await using stage = await openMap(oddFails, { items: [2, 3, 5], beside: holds });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "failed" });
    await controller.skip(id("each[1]"), { outcome: 7, actor: "ada" });
    await controller.forceTransition(id("each[2]"), "succeeded", { outcome: 8, actor: "ada", reason: "by hand" });
    // It has ended, and stays so until it is retried: then there is nothing left to run.
    expect(await stage.of("each")).toMatchObject({ status: "failed" });
    await controller.retry(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [20, 7, 8] });
    expect((await controller.attempts(id("each[0]"))).length).toBe(1);
  });

  it("without an outcome leaves the map none, which is told to who reads it", async () => {
    await using stage = await openMap(lasting, { items: [10, 10], maxParallel: 1 });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.skip(id("each[1]"), { actor: "ada" });
    await clock.advance("1m");
    const missing = "its item each[1] was skipped by ada without an outcome";
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: undefined, outcomeMissing: missing });
    expect(await stage.of("sum")).toMatchObject({
      status: "failed",
      failure: { name: "OutcomeMissing", message: `node "each" has no outcome to read: ${missing}.` },
    });
  });

  it("without an outcome stands as a failure where the map keeps them", async () => {
    await using stage = await openMap(lasting, { items: [10, 10], maxParallel: 1, failedItems: "keep" });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.skip(id("each[1]"), { actor: "ada" });
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ outcome: [10, { kind: "cancelled", message: "skipped by ada without an outcome" }] });
  });
});

describe("retry", () => {
  it("of an item while the map goes on makes the map succeed", async () => {
    const each = (stage: () => Stage) =>
      task({ name: "mixed" }, async (ctx, value: number) => {
        if (value === 1 && ctx.attempt === 1) throw new Error("once");
        for (let passed = 0; passed < 50; passed += 10) await new Promise<void>((resolve) => void stage().clock.setTimer(10, resolve));
        return value;
      });
    await using stage = await openMap(each, { items: [0, 1] });
    const { controller, clock, id, items } = stage;
    await clock.advance(5);
    expect(items()).toEqual(["running", "failed"]);
    await controller.retry(id("each[1]"));
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [0, 1], attempt: 1 });
  });

  it("of an item after the map has failed begins the map again for that item alone", async () => {
    await using stage = await openMap(oddFails, { items: [1, 2, 3], beside: holds });
    const { controller, clock, id, items, run } = stage;
    await clock.advance(1);
    expect(items()).toEqual(["failed", "succeeded", "failed"]);
    await controller.retry(id("each[0]"), { actor: "ada" });
    await clock.advance(1);
    expect(items()).toEqual(["succeeded", "succeeded", "failed"]);
    expect(await stage.of("each")).toMatchObject({ status: "failed", attempt: 2 });
    await controller.retry(id("each[2]"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [10, 20, 30] });
    const steps = (await controller.history(id("each"))).map(
      ({ from, to, trigger, reason }) => `${from} → ${to} (${trigger})${reason === null ? "" : `: ${reason}`}`,
    );
    expect(steps.slice(-4)).toEqual(
      [
        "failed → pending (pipeline:map): its item each[2] runs again",
        "pending → queued (pipeline:map): its item each[2] runs again",
        "queued → starting (scheduler:dispatch)",
        "starting → running (executor:launched)",
      ]
        .concat("running → succeeded (executor:finished)")
        .slice(-4),
    );
    void run.stop();
    await clock.advance("1m");
  });

  it("of several items at once, after the map has failed, begins each of them", async () => {
    await using stage = await openMap(oddFails, { items: [1, 2, 3, 5], beside: holds });
    const { controller, clock, id, items } = stage;
    await clock.advance(1);
    const answers = await Promise.all(["each[0]", "each[2]", "each[3]"].map(async (name) => await controller.retry(id(name))));
    expect(answers.map(({ status }) => status)).toEqual(["queued", "queued", "queued"]);
    await clock.advance(1);
    expect(items()).toEqual(["succeeded", "succeeded", "succeeded", "succeeded"]);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [10, 20, 30, 50], attempt: 2 });
  });

  it("of the map after one item's begin was cancelled with it runs all that did not succeed", async () => {
    await using stage = await openMap(oddFails, { items: [1, 2, 3], beside: holds });
    const { controller, clock, id, run, items } = stage;
    await clock.advance(1);
    void run.pause({ timeout: 0 });
    await controller.retry(id("each[0]"));
    await controller.cancel(id("each"));
    expect(items()).toEqual(["cancelled", "succeeded", "failed"]);
    await controller.retry(id("each"));
    await run.resume();
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [10, 20, 30] });
  });

  it("of the map runs its failed items again, and no other", async () => {
    await using stage = await openMap(oddFails, { items: [1, 2, 3], beside: holds });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.retry(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [10, 20, 30], attempt: 2, maxAttempts: 2 });
    expect(await Promise.all(["each[0]", "each[1]", "each[2]"].map(async (name) => (await stage.of(name)).attempt))).toEqual([2, 1, 2]);
  });

  it("of a map that was stopped while it expanded makes all of its items", async () => {
    const each = () => task({ name: "counts" }, (_ctx, value: number) => value);
    await using stage = await openMap(each, { items: Array.from({ length: 1_200 }, (_, index) => index), beside: holds });
    const { controller, clock, id, run } = stage;
    await expanding(run);
    void controller.stop(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "stopped" });
    await controller.retry(id("each"));
    await clock.advance(1);
    const { status, outcome } = await stage.of("each");
    expect(status).toBe("succeeded");
    expect(outcome).toHaveLength(1_200);
    expect(new Set(run.items("each").map(({ name }) => name)).size).toBe(1_200);
  });

  it("of an item is refused when its run has ended, or its map is being stopped", async () => {
    await using ended = await openMap(oddFails, { items: [1] });
    await ended.clock.advance(1);
    await expect(ended.controller.retry(ended.id("each[0]"))).rejects.toThrow(/the run it belongs to has ended/);
    const each = () =>
      task({ name: "mixed" }, async (_ctx, value: number) => {
        if (value === 1) throw new Error("no");
        return await gate<number>().opened;
      });
    await using stopping = await openMap(each, { items: [0, 1] });
    await stopping.clock.advance(1);
    void stopping.controller.stop(stopping.id("each"));
    await stopping.clock.advance(1);
    await expect(stopping.controller.retry(stopping.id("each[1]"))).rejects.toThrow(/the map it belongs to is stopping/);
  });
});

describe("reset", () => {
  it("of a map, and start, run every item anew", async () => {
    await using stage = await openMap(oddFails, { items: [2, 4], beside: holds });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.reset(id("each"), { confirm: true });
    expect(await stage.of("each")).toMatchObject({ status: "pending", epoch: 1 });
    await controller.start(id("each"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [20, 40] });
    expect(await stage.of("each[1]")).toMatchObject({ status: "succeeded", attempt: 2 });
  });

  it.each(["reset", "retry", "paused"] as const)("of a map takes along an item that waits: begun again by %s", async (how) => {
    await using stage = await openMap(oddFails, { items: [1, 2, 4], beside: holds });
    const { controller, clock, id, run, items } = stage;
    await clock.advance(1);
    await controller.hold({ name: "odd-fails" });
    if (how === "reset") await controller.reset(id("each[0]"), { confirm: true });
    else await controller.retry(id("each[0]"));
    if (how === "paused") await controller.pause(id("each[0]"));
    await controller.reset(id("each"), { confirm: true });
    expect(await controller.can(id("each"), "start")).toMatchObject({ allowed: true });
    await controller.start(id("each"));
    await clock.advance(1);
    await controller.release({ name: "odd-fails" });
    await clock.advance(1);
    // The first fails in an attempt that is its first again.
    expect(items().slice(1)).toEqual(["succeeded", "succeeded"]);
    expect(await stage.of("each[0]")).toMatchObject({ attempt: 1, failure: { message: "odd: 1" } });
    expect(await stage.of("each[1]")).toMatchObject({ attempt: 2 });
    void run.stop();
    await clock.advance("1m");
  });

  it("of a map whose list is shorter then cancels what waits behind its end", async () => {
    let length = 3;
    const list = task({ name: "list" }, () => Array.from({ length }, (_, index) => index));
    const each = task({ name: "each" }, (_ctx, value: number) => value);
    const fan = definePipeline("fan", {}, (p) => {
      const above = p.add(list);
      p.map(each, { deps: [above], items: (up) => up(above) });
      p.add(holds);
    });
    await using stage = await openStage({ pipelines: [fan] });
    const { controller, clock } = stage;
    const run = await controller.startRun(fan);
    await clock.advance(1);
    const last = run.items("each")[2]?.taskId ?? "";
    await controller.hold({ name: "each" });
    await controller.reset(last, { confirm: true });
    const [above, map] = run.graph().map(({ taskId }) => taskId);
    length = 2;
    await controller.reset(above ?? "", { confirm: true });
    await controller.start(above ?? "");
    await clock.advance(1);
    await controller.reset(map ?? "", { confirm: true });
    await controller.start(map ?? "");
    await controller.release({ name: "each" });
    await clock.advance(1);
    expect(await controller.get(map ?? "")).toMatchObject({ status: "succeeded", outcome: [0, 1] });
    expect(await controller.get(last)).toMatchObject({ status: "cancelled" });
    expect((await controller.history(last)).at(-1)).toMatchObject({ reason: "the map has 2 items now" });
  });

  it("of an item makes its map wait for it until it is started", async () => {
    await using stage = await openMap(oddFails, { items: [2, 4], beside: holds });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.reset(id("each[1]"), { confirm: true });
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "running" });
    await controller.start(id("each[1]"));
    await clock.advance(1);
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [20, 40] });
  });
});

describe("a map that a person skips or forces", () => {
  it("before it expands has no items, and those below go on with the outcome given", async () => {
    const pipeline = definePipeline("later", { onFailure: allSettled() }, (p) => {
      const first = p.add(holds);
      const map = p.map(
        task({ name: "each" }, (_ctx, value: number) => value),
        { deps: [first], items: [1] },
      );
      p.add(sum, { deps: [map], args: (up) => [up(map)] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    const [, map, below] = run.graph().map(({ taskId }) => taskId);
    await stage.controller.skip(map ?? "", { outcome: [1, 2] });
    await stage.clock.advance(1);
    expect(run.items("each")).toEqual([]);
    expect(await stage.controller.get(below ?? "")).toMatchObject({ status: "succeeded", outcome: 3 });
  });

  it("while it runs has its items cancelled, and those below go on", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2, beside: holds });
    const { controller, clock, id, items } = stage;
    await clock.advance(15);
    await controller.forceTransition(id("each"), "succeeded", { actor: "ada", reason: "known", outcome: [1, 2, 3] });
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", overridden: true });
    await clock.advance(20);
    expect(items()).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(await stage.of("sum")).toMatchObject({ status: "succeeded", outcome: 6 });
    // Its items have ended: nothing of it is left behind.
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", abandonedBy: null });
  });

  it("holds the end of its run back until its items have ended; what lies below goes on at once", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2 });
    const { controller, clock, id, items, run } = stage;
    await clock.advance(15);
    const ended = run.wait({ timeout: "none" });
    await controller.forceTransition(id("each"), "succeeded", { actor: "ada", reason: "known", outcome: [1, 2, 3] });
    await clock.advance(0);
    expect(await stage.of("sum")).toMatchObject({ status: "succeeded", outcome: 6 });
    expect([items(), await run.snapshot()]).toMatchObject([["stopping", "stopping", "cancelled"], { status: "running", endedAt: null }]);
    await clock.advance(20);
    const { status, endedAt } = await ended;
    const ends = await Promise.all(["each[0]", "each[1]", "each[2]"].map(async (name) => (await stage.of(name)).endedAt ?? Infinity));
    expect([status, endedAt]).toEqual(["succeeded", Math.max(...ends)]);
    expect(items()).toEqual(["cancelled", "cancelled", "cancelled"]);
  });

  it("holds the end back for items that hear nothing until they are lost", async () => {
    const deaf = () => task({ name: "deaf" }, async (_ctx, _value: number) => await gate<number>().opened);
    await using stage = await openMap(deaf, { items: [1, 2] });
    const { controller, clock, id, items, run } = stage;
    await clock.advance(1);
    await controller.forceTransition(id("each"), "failed", { actor: "ada", reason: "no" });
    await clock.advance(1);
    expect([items(), await run.snapshot()]).toMatchObject([["stopping", "stopping"], { status: "running" }]);
    await clock.advance("1m");
    expect([items(), await run.snapshot()]).toMatchObject([["lost", "lost"], { status: "failed" }]);
  });

  it("and whose run is cancelled meanwhile ends as it was decided, once its items have ended", async () => {
    await using stage = await openMap(lasting, { items: [100, 100] });
    const { controller, clock, id, items, run } = stage;
    await clock.advance(15);
    await controller.forceTransition(id("each"), "succeeded", { actor: "ada", reason: "known", outcome: [] });
    await clock.advance(0);
    const cancelled = run.cancel();
    await clock.advance(20);
    expect([items(), await cancelled]).toMatchObject([["cancelled", "cancelled"], { status: "succeeded" }]);
  });

  it("back to the queue begins anew once its items have ended", async () => {
    await using stage = await openMap(lasting, { items: [100, 100, 100], maxParallel: 2 });
    const { controller, clock, id } = stage;
    await clock.advance(15);
    await controller.forceTransition(id("each"), "queued", { actor: "ada", reason: "again" });
    await clock.advance("1m");
    expect(await stage.of("each")).toMatchObject({ status: "succeeded", outcome: [100, 100, 100] });
    expect(await stage.run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("after it has failed, lets those below it go on", async () => {
    await using stage = await openMap(oddFails, { items: [1, 2], beside: holds });
    const { controller, clock, id } = stage;
    await clock.advance(1);
    await controller.skip(id("each"), { outcome: [5] });
    expect(await stage.of("each")).toMatchObject({ status: "skipped", outcome: [5] });
  });
});

describe("can", () => {
  it("answers for a map and for its items as for any task", async () => {
    await using stage = await openMap(lasting, { items: [100, 100], maxParallel: 1 });
    const { controller, clock, id } = stage;
    await clock.advance(15);
    expect(await controller.can(id("each"), "pause")).toMatchObject({ allowed: true });
    expect(await controller.can(id("each"), "stop")).toMatchObject({ allowed: true });
    expect(await controller.can(id("each"), "skip")).toMatchObject({ allowed: false });
    expect(await controller.can(id("each[1]"), "skip")).toMatchObject({ allowed: true });
  });
});

describe("a controller that closes", () => {
  it("stops the items of a map, and the map with them", async () => {
    await using stage = await openMap(lasting, { items: [1_000, 1_000, 1_000], maxParallel: 2 });
    const { controller, clock, run } = stage;
    await clock.advance(15);
    const ended = run.wait({ timeout: "none" });
    const closed = controller.close();
    await clock.advance("1m");
    await closed;
    expect(await ended).toMatchObject({ status: "stopped" });
  });
});
