import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, task } from "../../src/index.ts";
import type { Failure, RunHandle } from "../../src/index.ts";
import { listen, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const ADA = { actor: "ada" } as const;
const failing = task({ name: "failing" }, (_ctx, value: number) => {
  if (value % 2 === 1) throw new Error(value % 4 === 1 ? "no such host" : "no such port");
  return value;
});
const own = task({ name: "own" }, (_ctx, value: number): number => {
  throw new Error(`no luck with ${value}`);
});
const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const odd = definePipeline("odd", { onFailure: allSettled() }, (p, count: number, failedItems: "fail" | "keep") => {
  p.map(failing, { name: "each", items: upTo(count), failedItems });
});
const alone = definePipeline("alone", { onFailure: allSettled() }, (p, count: number) => {
  p.map(own, { name: "each", items: upTo(count) });
});

async function each({ controller }: Stage, run: RunHandle) {
  return await controller.get(run.graph()[0]?.taskId ?? "");
}

describe("the progress of a map counts the items that are done", () => {
  it("not those that were stopped, and those of the next attempt in their place", async () => {
    const half = task({ name: "half" }, async (ctx, value: number) => (value < 8 || isEasy ? value : await listen(ctx, stage.clock)));
    let isEasy = false;
    const halves = definePipeline("halves", {}, (p) => {
      p.map(half, { name: "each", items: upTo(40) });
    });
    await using stage = await openStage({ pipelines: [halves], concurrency: { maxParallel: 16 } });
    const run = await stage.controller.startRun(halves);
    await stage.clock.advance(1_000);
    expect(await each(stage, run)).toMatchObject({ status: "running", progress: { done: 8, total: 40 } });
    const stopped = run.stop(ADA);
    await stage.clock.advance(1_000);
    await stopped;
    expect(await each(stage, run)).toMatchObject({ status: "stopped", progress: { done: 8, total: 40 } });
    isEasy = true;
    await run.retry(ADA);
    await stage.clock.advance(1_000);
    expect(await each(stage, run)).toMatchObject({ status: "succeeded", progress: { done: 40, total: 40 } });
  });

  it.each([
    ["fail", "failed", 5],
    ["keep", "succeeded", 10],
  ] as const)("failed ones where it keeps them: %s", async (failedItems, status, done) => {
    await using stage = await openStage({ pipelines: [odd] });
    const run = await stage.controller.startRun(odd, [10, failedItems]);
    await stage.clock.advance(1_000);
    expect(await each(stage, run)).toMatchObject({ status, progress: { done, total: 10 } });
  });

  it("those of a shorter list that is worked out anew, from none on", async () => {
    let size = 10;
    const holds = task({ name: "holds" }, async (ctx) => await listen(ctx, stage.clock));
    const last = task({ name: "last" }, async (ctx, value: number) => (size === 10 || value > 0 ? value : await listen(ctx, stage.clock)));
    const shrinking = definePipeline("shrinking", {}, (p) => {
      p.map(last, { name: "each", items: () => upTo(size) });
      p.add(holds);
    });
    await using stage = await openStage({ pipelines: [shrinking] });
    const { controller, clock } = stage;
    const run = await controller.startRun(shrinking);
    await clock.advance(1_000);
    const { taskId, progress } = await each(stage, run);
    expect(progress).toMatchObject({ done: 10, total: 10 });
    size = 4;
    await controller.reset(taskId, { confirm: true });
    await controller.start(taskId);
    await clock.advance(1_000);
    expect(await each(stage, run)).toMatchObject({ status: "running", progress: { done: 3, total: 4 } });
  });

  it("those that a person skipped", async () => {
    const waiting = task({ name: "waiting" }, async (ctx, _value: number) => await listen(ctx, stage.clock));
    const skipping = definePipeline("skipping", {}, (p) => {
      p.map(waiting, { name: "each", items: [0, 1], maxParallel: 1 });
    });
    await using stage = await openStage({ pipelines: [skipping] });
    const { controller, clock } = stage;
    const run = await controller.startRun(skipping);
    await clock.advance(1_000);
    await controller.skip(run.items("each")[1]?.taskId ?? "", ADA);
    await clock.advance(1_000);
    expect(await each(stage, run)).toMatchObject({ status: "running", progress: { done: 1, total: 2 } });
  });
});

describe("the failure of a map", () => {
  async function failureOf(pipeline: typeof odd | typeof alone, count: number): Promise<Failure | null> {
    await using stage = await openStage({ pipelines: [odd, alone] });
    const run = pipeline === odd ? await stage.controller.startRun(odd, [count, "fail"]) : await stage.controller.startRun(alone, [count]);
    await stage.clock.advance(1_000);
    return (await each(stage, run)).failure;
  }

  it("has each reason once, with how many items it is of", async () => {
    const failure = await failureOf(odd, 7);
    expect(failure?.causes.map(({ name, message }) => `${name}: ${message}`)).toEqual(["2 items, first each[1]: no such host", "each[3]: no such port"]);
  });

  it.each([
    [10, "each[9]: no luck with 9"],
    [11, "2 more items: 2 other failures"],
  ])("of %i reasons keeps ten", async (count, last) => {
    const causes = (await failureOf(alone, count))?.causes ?? [];
    expect(causes).toHaveLength(10);
    expect(`${causes.at(-1)?.name}: ${causes.at(-1)?.message}`).toBe(last);
  });
});
