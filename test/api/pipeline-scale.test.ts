import { describe, expect, it } from "vitest";
import { Controller, definePipeline, task } from "../../src/index.ts";
import type { PipelineNode } from "../../src/index.ts";

const long = process.env["CHONGMING_LONG"] === "1";
const NODES = long ? 50_000 : 10_000;
const MAX_PARALLEL = 7;
/** Generous: it is there to tell linear from quadratic, on a loaded machine. */
const LIMIT = "60s";

/** The same numbers each time. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Counts who runs, and how many at once. */
function watched() {
  const calls = new Map<string, number>();
  const peak = { now: 0, most: 0 };
  const count = task({ name: "count" }, async (ctx, name: string, above: number) => {
    calls.set(name, (calls.get(name) ?? 0) + 1);
    peak.now += 1;
    peak.most = Math.max(peak.most, peak.now);
    await ctx.checkpoint();
    peak.now -= 1;
    return above + 1;
  });
  const expectEachOnce = (): void => {
    expect(calls.size).toBe(NODES);
    expect([...calls.values()].every((times) => times === 1)).toBe(true);
    expect(peak.most).toBeLessThanOrEqual(MAX_PARALLEL);
  };
  return { count, peak, expectEachOnce };
}

type Counted = PipelineNode<string, number>;

describe(`${NODES} nodes`, () => {
  it("as a random graph all run, once each, after all their upstreams, never too many at once", async () => {
    const { count, peak, expectEachOnce } = watched();
    const random = numbers(7);
    const depth: number[] = [];
    const graph = definePipeline("graph", {}, (p) => {
      const nodes: Counted[] = [];
      for (let index = 0; index < NODES; index += 1) {
        const ups = new Set<number>();
        for (let edge = Math.floor(random() * 4); edge > 0 && index > 0; edge -= 1) ups.add(Math.floor(random() * index));
        depth.push(1 + Math.max(0, ...[...ups].map((above) => depth[above] ?? 0)));
        const deps = [...ups].flatMap((above) => nodes[above] ?? []);
        nodes.push(p.add(count, { name: `node-${index}`, deps, args: (up) => [`node-${index}`, Math.max(0, ...deps.map((dep) => up(dep)))] }));
      }
    });
    await using controller = await Controller.open({ pipelines: [graph], concurrency: { maxParallel: MAX_PARALLEL } });
    const run = await controller.startRun(graph);
    expect(await run.wait({ timeout: LIMIT })).toMatchObject({ status: "succeeded", nodeCount: NODES });
    expectEachOnce();
    expect(peak.most).toBe(MAX_PARALLEL);
    expect(run.summary().counts).toMatchObject({ succeeded: NODES });
    // Each has read the values of its upstreams: it knows how deep it stands.
    const last = run.graph().at(-1);
    expect(await controller.get(last?.taskId ?? "")).toMatchObject({ outcome: depth.at(-1) });
  });

  it("as a chain run one after the other", async () => {
    const { count, peak, expectEachOnce } = watched();
    const chain = definePipeline("chain", {}, (p) => {
      let before: Counted | null = null;
      for (let index = 0; index < NODES; index += 1) {
        const deps: Counted[] = before === null ? [] : [before];
        before = p.add(count, { name: `node-${index}`, deps, args: (up) => [`node-${index}`, deps.map((dep) => up(dep))[0] ?? 0] });
      }
    });
    await using controller = await Controller.open({ pipelines: [chain], concurrency: { maxParallel: MAX_PARALLEL } });
    const run = await controller.startRun(chain);
    expect(await run.wait({ timeout: LIMIT })).toMatchObject({ status: "succeeded" });
    expectEachOnce();
    expect(peak.most).toBe(1);
    expect(await controller.get(run.graph().at(-1)?.taskId ?? "")).toMatchObject({ outcome: NODES });
  });

  it("as a chain below a false condition or a failure end without running, and without a stack overflow", async () => {
    const fails = task({ name: "fails" }, () => {
      throw new Error("no");
    });
    const tick = task({ name: "tick" }, () => 1);
    const chain = definePipeline("chain", {}, (p, isFailure: boolean) => {
      let before: PipelineNode = p.add(isFailure ? fails : tick, { name: "node-0", when: () => isFailure });
      for (let index = 1; index < NODES; index += 1) before = p.add(tick, { name: `node-${index}`, deps: [before] });
    });
    await using controller = await Controller.open({ pipelines: [chain] });
    const skipped = await controller.startRun(chain, [false]);
    expect(await skipped.wait({ timeout: LIMIT })).toMatchObject({ status: "succeeded" });
    expect(skipped.summary().counts).toMatchObject({ skipped: NODES });
    const failed = await controller.startRun(chain, [true]);
    expect(await failed.wait({ timeout: LIMIT })).toMatchObject({ status: "failed" });
    const { counts, firstFailure } = failed.summary();
    expect(counts).toMatchObject({ failed: 1, cancelled: NODES - 1 });
    expect(firstFailure).toMatchObject({ node: "node-0" });
    expect(firstFailure?.affected).toHaveLength(NODES - 1);
  });

  it("as the items of a map all run, once each, never too many at once, and their results stand in order", async () => {
    const { count, expectEachOnce, peak } = watched();
    const item = task({ name: "item" }, async (ctx, index: number) => await count.run(ctx, `item-${index}`, index));
    const fanOut = definePipeline("fan-out", {}, (p) => {
      const each = p.map(item, { items: Array.from({ length: NODES }, (_, index) => index), maxParallel: MAX_PARALLEL });
      p.add(
        task({ name: "below" }, (_ctx, values: readonly number[]) => values.every((value, index) => value === index + 1)),
        {
          deps: [each],
          args: (up) => [up(each)],
        },
      );
    });
    await using controller = await Controller.open({ pipelines: [fanOut], concurrency: { maxParallel: 2 * MAX_PARALLEL } });
    const run = await controller.startRun(fanOut);
    expect(await run.wait({ timeout: LIMIT })).toMatchObject({ status: "succeeded" });
    expectEachOnce();
    expect(peak.most).toBe(MAX_PARALLEL);
    expect(run.summary().maps).toMatchObject([{ total: NODES, counts: { succeeded: NODES } }]);
    expect(await controller.get(run.graph().at(-1)?.taskId ?? "")).toMatchObject({ outcome: true });
  });

  it("as the items of a map end on a stop, and the loop turns while they are made", async () => {
    const holds = task({ name: "holds" }, async (ctx, _index: number) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      await ctx.checkpoint();
    });
    const wide = definePipeline("wide", {}, (p) => void p.map(holds, { items: Array.from({ length: NODES }, (_, index) => index) }));
    await using controller = await Controller.open({ pipelines: [wide], concurrency: { maxParallel: MAX_PARALLEL } });
    const run = await controller.startRun(wide);
    let turns = 0;
    while (run.items("holds").length < NODES) {
      turns += 1;
      await new Promise<void>((resolve) => void setImmediate(resolve));
    }
    expect(turns).toBeGreaterThan(NODES / 1_000);
    await controller.wait(run.items("holds")[0]?.taskId ?? "", { for: "running", timeout: LIMIT });
    expect(await run.stop({ grace: LIMIT })).toMatchObject({ status: "stopped" });
    expect(run.summary().maps).toMatchObject([{ status: "stopped", counts: { stopped: NODES } }]);
  });

  it("side by side end on a stop", async () => {
    const holds = task({ name: "holds" }, async (ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      await ctx.checkpoint();
    });
    const wide = definePipeline("wide", {}, (p) => {
      for (let index = 0; index < NODES; index += 1) p.add(holds, { name: `node-${index}` });
    });
    await using controller = await Controller.open({ pipelines: [wide], concurrency: { maxParallel: MAX_PARALLEL } });
    const run = await controller.startRun(wide);
    await controller.wait(run.graph()[0]?.taskId ?? "", { for: "running", timeout: LIMIT });
    expect(await run.stop({ grace: LIMIT })).toMatchObject({ status: "stopped" });
    expect(run.summary().counts).toMatchObject({ stopped: NODES });
  });

  it("tell all that happens to them to somebody who reads along", async () => {
    const { count } = watched();
    const wide = definePipeline("wide", {}, (p) => {
      for (let index = 0; index < NODES; index += 1) p.add(count, { name: `node-${index}`, args: [`node-${index}`, 0] });
    });
    await using controller = await Controller.open({ pipelines: [wide], concurrency: { maxParallel: MAX_PARALLEL } });
    const run = await controller.startRun(wide);
    let succeeded = 0;
    for await (const event of run.events()) if (event.type === "TaskStatusChanged" && event.to === "succeeded") succeeded += 1;
    expect(succeeded).toBe(NODES);
  });
});
