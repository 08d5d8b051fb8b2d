import { describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { definePipeline } from "../../src/api/pipeline.ts";
import type { PipelineBuilder, PipelineNode } from "../../src/api/pipeline.ts";
import type { RunHandle } from "../../src/api/run-handle.ts";
import { task } from "../../src/api/task.ts";
import { allSettled, failFast } from "../../src/core/policies/aggregation.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { callNow, openStage } from "../api/stage.ts";
import { sleep } from "../runtime/support/puppet.ts";

/** The status of each node, by its name. */
function statusesOf(run: RunHandle): Readonly<Record<string, string>> {
  return Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));
}

describe("C097: a chain of 20,000 nodes", () => {
  const LENGTH = 20_000;

  function chainOf(first: Parameters<PipelineBuilder["add"]>[0], rest: Parameters<PipelineBuilder["add"]>[0]) {
    return definePipeline("chain", { onFailure: failFast(), onUpstreamFailure: "skip" }, (p) => {
      let before: PipelineNode = p.add(first, { name: "node-0" });
      for (let index = 1; index < LENGTH; index += 1) before = p.add(rest, { name: `node-${index}`, deps: [before] });
    });
  }

  test("whose first node fails: all others are skipped, in one cascade", async () => {
    const fails = task({ name: "fails" }, () => {
      throw new Error("no");
    });
    const chain = chainOf(
      fails,
      task({ name: "tick" }, () => 1),
    );
    await using controller = await Controller.open({ pipelines: [chain] });
    const run = await controller.startRun(chain);
    expect(await run.wait({ timeout: "10m" })).toMatchObject({ status: "failed" });
    expect(run.summary().counts).toMatchObject({ failed: 1, skipped: LENGTH - 1 });
  });

  test("stopped when 10,000 have run: what had succeeded stays, the rest is stopped; a retry goes on from there, and none runs twice but the one that was cut", async () => {
    const calls = new Map<string, number>();
    const half = Promise.withResolvers<void>();
    let isMended = false;
    const tick = task({ name: "tick" }, async (ctx) => {
      calls.set(ctx.taskId, (calls.get(ctx.taskId) ?? 0) + 1);
      if (calls.size <= LENGTH / 2 || isMended) return;
      half.resolve();
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      await ctx.checkpoint();
    });
    const chain = chainOf(tick, tick);
    await using controller = await Controller.open({ pipelines: [chain] });
    const run = await controller.startRun(chain);
    await half.promise;
    expect(await run.stop({ grace: "10m" })).toMatchObject({ status: "stopped" });
    expect(run.summary().counts).toMatchObject({ succeeded: LENGTH / 2, stopped: LENGTH / 2 });
    expect(calls.size).toBe(LENGTH / 2 + 1);
    isMended = true;
    await run.retry();
    expect(await run.wait({ timeout: "10m" })).toMatchObject({ status: "succeeded" });
    expect(run.summary().counts).toMatchObject({ succeeded: LENGTH });
    expect([...calls.values()].filter((times) => times !== 1)).toEqual([2]);
  });
});

describe("C099: a condition that throws, hangs or answers nonsense", () => {
  const give = task({ name: "give" }, () => ({ list: [1] }));
  const take = task({ name: "take" }, (_ctx, value: unknown) => value);
  const nonsense: readonly (readonly [string, () => unknown])[] = [
    ["throws", () => JSON.parse("{")],
    ["rejects", () => Promise.reject(new Error("later"))],
    ["never settles", () => new Promise(() => {})],
    ["a promise of a promise", () => Promise.resolve(Promise.resolve(true))],
    ["0", () => 0],
    ['""', () => ""],
    ['"false"', () => "false"],
    ["undefined", () => undefined],
    ["null", () => null],
    ["NaN", () => Number.NaN],
    ["a Boolean object", () => Object(true)],
  ];

  test.each(nonsense)("%s: the node fails, and is not skipped; its siblings run and the run ends", async (_what, answer) => {
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      const first = p.add(give);
      callNow(p, "add", [take, { name: "odd", deps: [first], args: [1], when: answer }]);
      p.add(take, { name: "below", args: [1], deps: [first] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(statusesOf(run)).toEqual({ give: "succeeded", odd: "failed", below: "succeeded" });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    const odd = run.graph().find(({ name }) => name === "odd");
    expect(await stage.controller.get(odd?.taskId ?? "")).toMatchObject({ attempt: 1, failure: { retryable: false, kind: "exception" } });
    expect((await stage.controller.history(odd?.taskId ?? "")).at(-1)).toMatchObject({ trigger: "pipeline:function-threw" });
  });

  test("one that stops or cancels its own run: the run ends like that, the node never runs, and nothing is left", async () => {
    for (const verb of ["stop", "cancel"] as const) {
      const begun: string[] = [];
      const runs: RunHandle[] = [];
      let asked: Promise<unknown> = Promise.resolve();
      const note = task({ name: "note" }, (ctx) => void begun.push(ctx.name));
      const pipeline = definePipeline("p", {}, (p) => {
        const first = p.add(give);
        const when = (): boolean => {
          asked = runs[0]?.[verb]() ?? Promise.reject(new Error("no run yet"));
          return true;
        };
        const odd = p.add(note, { name: "odd", deps: [first], when });
        p.add(note, { name: "below", deps: [odd] });
      });
      await using stage = await openStage({ pipelines: [pipeline] });
      const run = await stage.controller.startRun(pipeline);
      runs.push(run);
      await stage.clock.advance(0);
      const word = verb === "stop" ? "stopped" : "cancelled";
      expect(statusesOf(run)).toEqual({ give: "succeeded", odd: word, below: word });
      expect(await asked).toMatchObject({ status: word });
      expect(begun).toEqual([]);
      expect(stage.clock.pendingTimers).toBe(0);
    }
  });
});

/** What a map made of its items is read by: one node for each join. */
const JOINS = ["all_succeeded", "none_failed", "any_succeeded", "all_done"] as const;

describe("C092: every mapped item was skipped", () => {
  const hold = task({ name: "hold" }, async (ctx, ms: number) => {
    if (ms < 0) throw new Error("told to");
    await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
    await ctx.checkpoint();
  });
  const read = task({ name: "read" }, (_ctx, value: unknown) => value);

  const pipeline = definePipeline("p", { onFailure: allSettled() }, (p, isHeld: boolean) => {
    const map = p.map(hold, { name: "map", items: [1, 2, 3], when: () => isHeld });
    for (const join of JOINS) p.add(read, { name: join, deps: [map], join, args: (up) => [up(map)] });
  });

  test("by the map's own condition: each join follows the one table, and the run has not failed", async () => {
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline, [false]);
    await stage.clock.advance(0);
    expect(statusesOf(run)).toEqual({ map: "skipped", all_succeeded: "skipped", none_failed: "succeeded", any_succeeded: "skipped", all_done: "succeeded" });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  test("by a person, each with a value: the map has succeeded, with the values in their order", async () => {
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline, [true]);
    await clock.advance(0);
    const { items } = await controller.list({ pipelineRunId: run.id, limit: 100 });
    const byName = new Map(items.map(({ node, taskId }) => [node, taskId]));
    await controller.skip(byName.get("map[2]") ?? "", { outcome: "c" });
    await controller.skip(byName.get("map[1]") ?? "", { outcome: "b" });
    // The first runs, so it cannot be skipped: it is forced.
    await controller.forceTransition(byName.get("map[0]") ?? "", "skipped", { actor: "ada", reason: "not needed", outcome: "a" });
    await clock.advance("1m");
    expect(new Set(Object.values(statusesOf(run)))).toEqual(new Set(["succeeded"]));
    const last = run.graph().at(-1);
    expect(await controller.get(last?.taskId ?? "")).toMatchObject({ outcome: ["a", "b", "c"] });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});

describe("C093: a join is not decided before all items have ended", () => {
  test.each(["fail", "keep"] as const)("items 0 to 4 fail at once, 5 to 9 take a second (failedItems %s), twenty times over", async (failedItems) => {
    const began: { readonly node: string; readonly at: number }[] = [];
    for (let round = 0; round < 20; round += 1) {
      began.length = 0;
      const clock = new FakeClock();
      const work = task({ name: "work" }, async (_ctx, item: number) => {
        if (item < 5) throw new Error(`item ${item}`);
        await sleep(clock, 1_000);
        return item;
      });
      const note = task({ name: "note" }, (_ctx, node: string, value: unknown) => {
        began.push({ node, at: clock.monotonic() });
        return value;
      });
      const pipeline = definePipeline("p", { onFailure: allSettled(), onUpstreamFailure: "skip" }, (p) => {
        const map = p.map(work, { name: "map", items: [...Array(10).keys()], failedItems });
        for (const join of ["all_done", "all_succeeded"] as const) p.add(note, { name: join, deps: [map], join, args: (up) => [join, up(map)] });
      });
      await using controller = await Controller.open({ clock, pipelines: [pipeline] });
      const run = await controller.startRun(pipeline);
      await clock.advance(999);
      expect(began).toEqual([]);
      await clock.advance(1);
      const isKept = failedItems === "keep";
      expect(began).toEqual((isKept ? ["all_done", "all_succeeded"] : ["all_done"]).map((node) => ({ node, at: 1_000 })));
      expect(statusesOf(run)).toEqual({ map: isKept ? "succeeded" : "failed", all_done: "succeeded", all_succeeded: isKept ? "succeeded" : "skipped" });
      const last = await controller.get(run.graph()[1]?.taskId ?? "");
      const kept = [...Array(5).keys()].map((item) => expect.objectContaining({ kind: "exception", message: `item ${item}` }));
      expect(last.outcome).toEqual(isKept ? [...kept, 5, 6, 7, 8, 9] : undefined);
    }
  });
});

describe("C105: items of a map that people end by hand", () => {
  test("one stopped while it runs, one skipped while it is queued, one forced: the map ends, with each outcome in its place, and nobody waits", async () => {
    const gates = new Map<number, () => void>();
    const work = task({ name: "work" }, async (ctx, item: number) => {
      await new Promise<void>((resolve) => {
        gates.set(item, resolve);
        ctx.signal.addEventListener("abort", () => resolve());
      });
      await ctx.checkpoint();
      return item;
    });
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      const map = p.map(work, { name: "map", items: [1, 2, 3, 4, 5], failedItems: "keep" });
      p.add(
        task({ name: "read" }, (_ctx, values: readonly unknown[]) => values),
        { deps: [map], args: (up) => [up(map)] },
      );
    });
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 3 } });
    const { controller, clock } = stage;
    const run = await controller.startRun(pipeline);
    await clock.advance(0);
    const { items } = await controller.list({ pipelineRunId: run.id, limit: 100 });
    const idOf = (item: number): string => items.find(({ node }) => node === `map[${item - 1}]`)?.taskId ?? "";
    expect([...gates.keys()]).toEqual([1, 2, 3]);
    await controller.skip(idOf(4));
    await controller.forceTransition(idOf(5), "succeeded", { actor: "ada", reason: "done by hand", outcome: "by hand" });
    const stopped = controller.stop(idOf(3));
    gates.get(1)?.();
    gates.get(2)?.();
    await clock.advance(0);
    expect(await stopped).toMatchObject({ status: "stopped" });
    expect(statusesOf(run)).toEqual({ map: "succeeded", read: "succeeded" });
    const { outcome } = await controller.get(run.graph()[1]?.taskId ?? "");
    expect(outcome).toEqual([
      1,
      2,
      expect.objectContaining({ kind: "cancelled" }),
      expect.objectContaining({ message: expect.stringContaining("skipped by user") }),
      "by hand",
    ]);
    expect(await controller.get(idOf(5))).toMatchObject({ status: "succeeded", overridden: true });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ endedAt: clock.now() });
    expect(clock.pendingTimers).toBe(0);
  });

  test("items that end before anybody could wait for them", async () => {
    const now = task({ name: "now", executor: "inline" }, (_ctx, item: number) => item * 2);
    const pipeline = definePipeline("p", {}, (p) => {
      const map = p.map(now, { name: "map", items: [1, 2, 3, 4, 5] });
      p.add(
        task({ name: "read" }, (_ctx, values: readonly number[]) => values),
        { deps: [map], args: (up) => [up(map)] },
      );
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(await stage.controller.get(run.graph()[1]?.taskId ?? "")).toMatchObject({ outcome: [2, 4, 6, 8, 10] });
  });
});
