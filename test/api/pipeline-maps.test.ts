import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, quorum, task } from "../../src/index.ts";
import type { AggregationPolicy, PipelineBuilder, PipelineNode, RunHandle, Task, TaskSnapshot, TaskStatus } from "../../src/index.ts";
import { callNow, gate, listen, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const numbers = task({ name: "numbers" }, (_ctx, count: number) => Array.from({ length: count }, (_, index) => index));
const double = task({ name: "double" }, (_ctx, value: number) => value * 2);
const sum = task({ name: "sum" }, (_ctx, values: readonly number[]) => values.reduce((all, value) => all + value, 0));
/** Fails for 3, doubles everything else. */
const choosy = task({ name: "choosy" }, (_ctx, value: number) => {
  if (value === 3) throw new Error("no threes");
  return value * 2;
});

const byName = (run: RunHandle, name: string): string => run.graph().find((node) => node.name === name)?.taskId ?? "";
const itemIds = (run: RunHandle, map: string): readonly string[] => run.items(map).map(({ taskId }) => taskId);
const itemStatuses = (run: RunHandle, map: string): readonly TaskStatus[] => run.items(map).map(({ status }) => status);
const nth = (ids: readonly string[], index: number): string => ids[index] ?? "";

async function snapshotOf({ controller }: Stage, run: RunHandle, name: string): Promise<TaskSnapshot> {
  return await controller.get(byName(run, name));
}

/** `numbers → map → sum`. */
function fanOut(mapped: Task<string, [value: number], number>, onFailure?: AggregationPolicy) {
  return definePipeline("fan-out", onFailure === undefined ? {} : { onFailure }, (p, count: number, maxParallel?: number) => {
    const all = p.add(numbers, { args: [count] });
    const each = p.map(mapped, { name: "each", deps: [all], items: (up) => up(all), ...(maxParallel === undefined ? {} : { maxParallel }) });
    p.add(sum, { deps: [each], args: (up) => [up(each)] });
  });
}

describe("a map", () => {
  it.each([0, 1, 7, 1_203])("of %i items gives its results in their order to what is below it", async (count) => {
    const pipeline = fanOut(double);
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [count]);
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded", outcome: Array.from({ length: count }, (_, index) => index * 2) });
    expect(await snapshotOf(stage, run, "sum")).toMatchObject({ outcome: count === 0 ? 0 : count * (count - 1) });
  });

  it("is one node, and each of its items a task of its own", async () => {
    const pipeline = fanOut(double);
    await using stage = await openStage({ pipelines: [pipeline] });
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [3]);
    expect(run.items("each")).toEqual([]);
    await clock.advance(0);
    expect(run.items("each").map(({ name, status }) => [name, status])).toEqual([
      ["each[0]", "succeeded"],
      ["each[1]", "succeeded"],
      ["each[2]", "succeeded"],
    ]);
    const items = await Promise.all(itemIds(run, "each").map(async (id) => await controller.get(id)));
    expect(items.map(({ node, name, attempt, pipelineRunId, outcome }) => [node, name, attempt, pipelineRunId, outcome])).toEqual(
      [0, 1, 2].map((index) => [`each[${index}]`, "double", 1, run.id, index * 2]),
    );
    const ofMap = { total: 3, counts: { succeeded: 3, failed: 0 } };
    expect(run.graph()).toMatchObject([
      { name: "numbers", kind: "task", items: null },
      { name: "each", kind: "map", task: "double", deps: ["numbers"], items: ofMap },
      { name: "sum", kind: "task", items: null },
    ]);
    expect(run.summary()).toMatchObject({ total: 3, counts: { succeeded: 3 }, maps: [{ node: "each", status: "succeeded", ...ofMap }] });
    expect(() => run.items("sum")).toThrow(/"sum" is no map/);
    expect(() => run.items("eech")).toThrow(/Did you mean "each"/);
  });

  it("takes no slot of its own", async () => {
    const pipeline = fanOut(double);
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const run = await stage.controller.startRun(pipeline, [5]);
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("takes its items from the parameters, too, as they were when it was built", async () => {
    const given = [1, 2, 3];
    const pipeline = definePipeline("given", {}, (p, values: readonly number[]) => void p.map(double, { name: "each", items: values }));
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [given]);
    given.push(4);
    await stage.clock.advance(0);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ outcome: [2, 4, 6] });
  });

  it("of a map: the results of one are the items of the next", async () => {
    const pipeline = definePipeline("nested", {}, (p) => {
      const first = p.map(double, { name: "first", items: [1, 2, 3] });
      const second = p.map(double, { name: "second", deps: [first], items: (up) => up(first) });
      p.add(sum, { deps: [first, second], args: (up) => [[...up(first), ...up(second)]] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(await snapshotOf(stage, run, "sum")).toMatchObject({ outcome: 36 });
  });

  it("lets its items read what is above it", async () => {
    const reads = task({ name: "reads" }, async (ctx, value: number) => [value, await ctx.upstream("numbers")]);
    const pipeline = definePipeline("reading", {}, (p) => {
      const all = p.add(numbers, { args: [2] });
      p.map(reads, { name: "each", deps: [all], items: [7] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ outcome: [[7, [0, 1]]] });
  });

  it("tells its progress in items", async () => {
    const pipeline = fanOut(double);
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [40]);
    await stage.clock.advance(1_000);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ progress: { done: 40, total: 40, unit: "items" } });
  });
});

describe("maxParallel of a map", () => {
  it("lets at most so many of its items run at once, in their order", async () => {
    const peak = { now: 0, most: 0 };
    const order: number[] = [];
    const counted = task({ name: "counted" }, async (ctx, value: number) => {
      order.push(value);
      peak.now += 1;
      peak.most = Math.max(peak.most, peak.now);
      await ctx.checkpoint();
      peak.now -= 1;
      return value;
    });
    const pipeline = fanOut(counted);
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [50, 3]);
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
    expect(peak).toEqual({ now: 0, most: 3 });
    expect(order).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it("lets the next one begin when one is taken out of the way", async () => {
    const listens = task({ name: "listens" }, async (ctx, value: number) => (value > 5 ? value : await listen(ctx, stage.clock)));
    const pipeline = fanOut(listens, allSettled());
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [4, 2]);
    await clock.advance(5);
    expect(itemStatuses(run, "each")).toEqual(["running", "running", "queued", "queued"]);
    const ids = itemIds(run, "each");
    const skipped = controller.skip(nth(ids, 2), { outcome: 1 });
    await clock.advance(50);
    await skipped;
    void controller.stop(nth(ids, 0));
    await clock.advance(50);
    expect(itemStatuses(run, "each")).toEqual(["stopped", "running", "skipped", "running"]);
  });
});

describe("an item that backs off", () => {
  const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } }, async (ctx, value: number) => {
    if (value < 2 && ctx.attempt === 1) throw new Error("not yet");
    await ctx.checkpoint();
    return value;
  });

  it("lets the others go meanwhile, and waits for its turn when its time has come", async () => {
    const peak = { now: 0, most: 0 };
    const counted = task({ name: "counted", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, async (ctx, value: number) => {
      peak.now += 1;
      peak.most = Math.max(peak.most, peak.now);
      await new Promise<void>((resolve) => void stage.clock.setTimer(700, resolve));
      peak.now -= 1;
      if (value < 3 && ctx.attempt === 1) throw new Error("not yet");
      return value;
    });
    const pipeline = fanOut(counted);
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const run = await stage.controller.startRun(pipeline, [9, 2]);
    await stage.clock.advance("1m");
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded", outcome: [0, 1, 2, 3, 4, 5, 6, 7, 8] });
    expect(peak).toEqual({ now: 0, most: 2 });
  });

  it("says until when, and is told what is asked of it as any task", async () => {
    const pipeline = fanOut(flaky, allSettled());
    await using stage = await openStage({ pipelines: [pipeline] });
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [4, 1]);
    await clock.advance(1);
    expect(itemStatuses(run, "each")).toEqual(["retry_wait", "retry_wait", "succeeded", "succeeded"]);
    const [first = "", second = ""] = itemIds(run, "each");
    expect(await controller.explain(first)).toMatchObject({ reasons: [{ kind: "backoff" }] });
    await controller.retry(first);
    await clock.advance(1);
    expect(itemStatuses(run, "each")).toEqual(["succeeded", "retry_wait", "succeeded", "succeeded"]);
    await controller.pause(second);
    await clock.advance("2h");
    expect(itemStatuses(run, "each")[1]).toBe("paused");
    await controller.resume(second);
    await clock.advance(1);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("is held back with its map when its time comes while that is paused", async () => {
    const pipeline = fanOut(flaky, allSettled());
    await using stage = await openStage({ pipelines: [pipeline] });
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [2, 1]);
    await clock.advance(1);
    expect(await controller.pause(byName(run, "each"))).toBe(true);
    await clock.advance("2h");
    expect(itemStatuses(run, "each")).toEqual(["queued", "queued"]);
    await controller.resume(byName(run, "each"));
    await clock.advance(1);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
  });

  it("leaves no timer where the controller closes", async () => {
    const pipeline = fanOut(flaky, allSettled());
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [2, 1]);
    await stage.clock.advance(1);
    // What is left is looked for when the stage is closed.
    expect(itemStatuses(run, "each")).toEqual(["retry_wait", "retry_wait"]);
  });
});

describe("a failed item", () => {
  it("fails its map and cancels the rest where the run fails fast", async () => {
    const mixed = task({ name: "mixed" }, async (ctx, value: number) => {
      if (value === 3) throw new Error("no threes");
      return await listen(ctx, stage.clock);
    });
    const pipeline = fanOut(mixed);
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [5, 4]);
    await clock.advance(100);
    expect(itemStatuses(run, "each")).toEqual(["cancelled", "cancelled", "cancelled", "failed", "cancelled"]);
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
    const failed = await snapshotOf(stage, run, "each");
    expect(failed).toMatchObject({
      status: "failed",
      failure: { kind: "exception", name: "ItemsFailed", causes: [{ name: "each[3]", message: "no threes" }] },
    });
    expect(failed.failure?.message).toMatch(/^1 of 5 items did not succeed; the first was each\[3\] \(failed, \w{16}\): no threes$/);
    expect(await snapshotOf(stage, run, "sum")).toMatchObject({ status: "cancelled", failure: { kind: "dependency_failed" } });
    const [last] = (await controller.history(nth(itemIds(run, "each"), 4))).slice(-1);
    expect(last).toMatchObject({ to: "cancelled", trigger: "pipeline:fail-fast", reason: 'item "each[3]" failed' });
  });

  it("is the run's failure at once, however long the other items take to end", async () => {
    const mixed = task({ name: "mixed" }, async (_ctx, value: number): Promise<number> => {
      if (value === 1) throw new Error("no");
      return await gate<number>().opened;
    });
    const besides = task({ name: "besides" }, async (ctx) => await listen(ctx, stage.clock));
    const pipeline = definePipeline("prompt", {}, (p) => {
      const each = p.map(mixed, { name: "each", items: [0, 1] });
      p.add(sum, { deps: [each], args: (up) => [up(each)] });
      p.add(besides);
    });
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(100);
    expect(run.graph().map(({ status }) => status)).toEqual(["running", "cancelled", "cancelled"]);
    expect(itemStatuses(run, "each")).toEqual(["stopping", "failed"]);
    expect(await snapshotOf(stage, run, "sum")).toMatchObject({ failure: { kind: "dependency_failed" } });
    expect(await run.snapshot()).toMatchObject({ status: "running" });
    await stage.clock.advance("11s");
    expect(itemStatuses(run, "each")).toEqual(["lost", "failed"]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "failed" });
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
  });

  it.each([allSettled(), quorum(1)])("fails its map once the others have ended under $kind", async (policy) => {
    const pipeline = fanOut(choosy, policy);
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [5, 1]);
    await stage.clock.advance(0);
    expect(itemStatuses(run, "each")).toEqual(["succeeded", "succeeded", "succeeded", "failed", "succeeded"]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "failed" });
  });

  it("is tried again by its own policy first", async () => {
    const attempts: number[] = [];
    const flaky = task({ name: "flaky", retry: { maxAttempts: 3, backoff: constant({ delay: "10s" }) } }, (ctx, value: number) => {
      attempts.push(value);
      if (value === 1 && ctx.attempt < 3) throw new Error("not yet");
      return value;
    });
    const pipeline = fanOut(flaky);
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [3]);
    await stage.clock.advance("30s");
    expect(attempts).toEqual([0, 1, 2, 1, 1]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded", outcome: [0, 1, 2] });
  });

  it("stands as a failure in its place where the map keeps it", async () => {
    const pipeline = definePipeline("keeping", {}, (p) => {
      const each = p.map(choosy, { name: "each", items: [2, 3, 4], failedItems: "keep" });
      const told = task({ name: "told" }, (_ctx, values: readonly unknown[]) => values.length);
      p.add(told, { deps: [each], args: (up) => [up(each)] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded", outcome: [4, { kind: "exception", message: "no threes" }, 8] });
    expect(await snapshotOf(stage, run, "told")).toMatchObject({ outcome: 3 });
  });
});

describe("items that cannot be worked out", () => {
  const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
  type Odd = (p: PipelineBuilder, first: PipelineNode<"first", unknown>, other: PipelineNode) => unknown;
  const map = (p: PipelineBuilder, options: object): unknown => callNow(p, "map", [echo, { name: "odd", ...options }]);
  const boom = (): never => {
    throw new Error("boom");
  };
  const cases: readonly (readonly [string, Odd, string])[] = [
    ["throw", (p, first) => map(p, { deps: [first], items: boom }), "boom"],
    ["are no list", (p, first) => map(p, { deps: [first], items: () => "ab" }), 'items must return a list, at once; it returned "ab"'],
    ["are nothing", (p, first) => map(p, { deps: [first], items: () => undefined }), "items must return a list, at once; it returned undefined"],
    ["are a set", (p, first) => map(p, { deps: [first], items: () => new Set([1]) }), "items must return a list, at once; it returned Set"],
    ["are async", (p, first) => map(p, { deps: [first], items: async () => [1] }), "items must return a list, at once; it returned Promise"],
    ["are async and reject", (p, first) => map(p, { deps: [first], items: async () => boom() }), "items must return a list, at once; it returned Promise"],
    [
      "read a node that is no dependency",
      (p, first, other) => map(p, { deps: [first], items: (up: (node: unknown) => unknown) => [up(other)] }),
      'reads "other"',
    ],
  ];

  it.each(cases)("that %s fail the node, and run nothing", async (_what, add, message) => {
    const pipeline = definePipeline("odd-items", { onFailure: allSettled() }, (p) => {
      const first = p.add(echo, { name: "first" });
      add(p, first, p.add(echo, { name: "other" }));
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    const odd = await snapshotOf(stage, run, "odd");
    expect(odd).toMatchObject({ status: "failed", attempt: 1, failure: { retryable: false } });
    expect(odd.failure?.message).toContain(message);
    const [queued] = (await stage.controller.history(odd.taskId)).slice(-3);
    expect(queued).toMatchObject({ to: "queued", trigger: "pipeline:function-threw" });
    expect(run.items("odd")).toEqual([]);
  });

  it("of which one cannot be stored fail the map before any of them runs", async () => {
    let ran = 0;
    const counts = task({ name: "counts" }, (_ctx, _value: unknown) => (ran += 1));
    const pipeline = definePipeline("odd-item", {}, (p) => {
      const first = p.add(echo, { name: "first" });
      p.map(counts, { name: "odd", deps: [first], items: () => [1, { at: [() => 1] }, 3] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    const odd = await snapshotOf(stage, run, "odd");
    expect(odd).toMatchObject({ status: "failed", failure: { name: "ConfigurationError", retryable: false } });
    expect(odd.failure?.message).toMatch(/^item 1 of the map "odd" could not be stored: args\[0\]\.at\[0\]/);
    expect(ran).toBe(0);
    expect(itemStatuses(run, "odd")).toEqual(["cancelled", "cancelled"]);
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
  });

  it("are kept in memory though together they are too large to be stored", async () => {
    const long = "x".repeat(20_000);
    const pipeline = definePipeline("large", {}, (p) => void p.map(echo, { name: "each", items: Array.from({ length: 100 }, () => long) }));
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded" });
  });
});

describe("a map whose join is not met, or whose when is false", () => {
  it("ends without items", async () => {
    const fails = task({ name: "fails" }, (): number[] => {
      throw new Error("no");
    });
    const pipeline = definePipeline("unmet", { onFailure: allSettled() }, (p) => {
      const failed = p.add(fails);
      p.map(double, { name: "cancelled", deps: [failed], items: (up) => up(failed) });
      p.map(double, { name: "skipped", deps: [failed], items: (up) => up(failed), onUpstreamFailure: "skip" });
      p.map(double, { name: "condition", items: [1], when: () => false });
      p.map(double, { name: "done", deps: [failed], join: "all_done", items: (up) => up(failed) ?? [1] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(run.graph().map(({ name, status, items }) => [name, status, items?.total])).toEqual([
      ["fails", "failed", undefined],
      ["cancelled", "cancelled", 0],
      ["skipped", "skipped", 0],
      ["condition", "skipped", 0],
      ["done", "succeeded", 1],
    ]);
  });
});

describe("a map that is built wrongly", () => {
  const cases: readonly (readonly [string, object, string])[] = [
    ["without items", {}, "items must be a list, or a function that returns one; found undefined"],
    ["with items that are no list", { items: "abc" }, 'items must be a list, or a function that returns one; found "abc"'],
    ["with maxParallel 0", { items: [], maxParallel: 0 }, "maxParallel must be an integer of at least 1; found 0"],
    ["with maxParallel NaN", { items: [], maxParallel: Number.NaN }, "maxParallel must be an integer of at least 1; found NaN"],
    ["with an unknown rule", { items: [], failedItems: "ignore" }, 'failedItems must be one of "fail", "keep"; found "ignore"'],
    ["with args", { items: [], args: [1] }, 'has no option "args"'],
    ["with an unknown join", { items: [], join: "some" }, "join must be one of"],
  ];

  it.each(cases)("%s is refused before anything is stored", async (_what, options, message) => {
    const pipeline = definePipeline("wrong", {}, (p) => void callNow(p, "map", [double, options]));
    await using stage = await openStage({ pipelines: [pipeline] });
    await expect(stage.controller.startRun(pipeline)).rejects.toThrow(message);
  });

  it("beside a node that is named like one of its items is refused", async () => {
    const pipeline = definePipeline("wrong", {}, (p) => {
      p.map(double, { items: [1] });
      p.add(double, { name: "double[0]", args: [1] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    await expect(stage.controller.startRun(pipeline)).rejects.toThrow('node "double[0]" is named like an item of the map "double"');
  });
});

describe("an item that waits", () => {
  it.each(["wait", "stop", "cancel", "pause", "retry"] as const)("for its own map (%s) is told that it would wait for ever", async (verb) => {
    const told: unknown[] = [];
    const selfish = task({ name: "selfish" }, async (_ctx, value: number) => {
      const { controller } = stage;
      const id = byName(started.run(), "each");
      await (verb === "wait" ? controller.wait(id, { timeout: "none" }) : controller[verb](id)).catch((error: unknown) => told.push(error));
      return value;
    });
    const started = { run: (): RunHandle => run };
    const pipeline = definePipeline("selfish", {}, (p) => void p.map(selfish, { name: "each", items: [7] }));
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    expect(told).toMatchObject([{ code: "DEADLOCK" }]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded", outcome: [7] });
  });

  it("for one behind it in the line of its map is told so", async () => {
    const told: unknown[] = [];
    const pushy = task({ name: "pushy" }, async (_ctx, value: number) => {
      if (value === 0) await stage.controller.wait(nth(itemIds(run, "each"), 1), { timeout: "none" }).catch((error: unknown) => told.push(error));
      return value;
    });
    const pipeline = definePipeline("pushy", {}, (p) => void p.map(pushy, { name: "each", items: [0, 1], maxParallel: 1 }));
    const stage = await openStage({ pipelines: [pipeline] });
    await using _ = stage;
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    expect(told).toMatchObject([{ code: "DEADLOCK" }]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded" });
  });

  it("for a task that waits for the map is told so", async () => {
    const told: unknown[] = [];
    const outside = task({ name: "outside" }, async (_ctx, map: string) => {
      await stage.controller.wait(map, { timeout: "none" }).catch((error: unknown) => told.push(error));
    });
    const round = task({ name: "round" }, async (_ctx, value: number) => {
      const waiting = await stage.controller.submit(outside, [byName(run, "each")]);
      await waiting.wait({ timeout: "none" }).catch((error: unknown) => told.push(error));
      return value;
    });
    const pipeline = definePipeline("round", {}, (p) => void p.map(round, { name: "each", items: [1] }));
    const stage = await openStage({ tasks: [outside], pipelines: [pipeline] });
    await using _ = stage;
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    expect(told).toMatchObject([{ code: "DEADLOCK" }]);
    expect(await snapshotOf(stage, run, "each")).toMatchObject({ status: "succeeded" });
  });
});
