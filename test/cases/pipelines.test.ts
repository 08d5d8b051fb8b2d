import { describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { definePipeline } from "../../src/api/pipeline.ts";
import type { PipelineBuilder, PipelineNode } from "../../src/api/pipeline.ts";
import type { RunHandle } from "../../src/api/run-handle.ts";
import { task } from "../../src/api/task.ts";
import { allSettled, failFast } from "../../src/core/policies/aggregation.ts";
import { callNow, openStage } from "../api/stage.ts";

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

  test("stopped when 10,000 have run ends at once: what had succeeded stays, the rest is stopped, none runs twice", async () => {
    const calls = new Map<string, number>();
    const half = Promise.withResolvers<void>();
    const tick = task({ name: "tick" }, async (ctx) => {
      calls.set(ctx.taskId, (calls.get(ctx.taskId) ?? 0) + 1);
      if (calls.size <= LENGTH / 2) return;
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
    expect(Math.max(...calls.values())).toBe(1);
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
      let run: RunHandle | undefined;
      let asked: Promise<unknown> = Promise.resolve();
      const note = task({ name: "note" }, (ctx) => void begun.push(ctx.name));
      const pipeline = definePipeline("p", {}, (p) => {
        const first = p.add(give);
        const when = (): boolean => {
          asked = run?.[verb]() ?? Promise.reject(new Error("no run yet"));
          return true;
        };
        const odd = p.add(note, { name: "odd", deps: [first], when });
        p.add(note, { name: "below", deps: [odd] });
      });
      await using stage = await openStage({ pipelines: [pipeline] });
      run = await stage.controller.startRun(pipeline);
      await stage.clock.advance(0);
      const word = verb === "stop" ? "stopped" : "cancelled";
      expect(statusesOf(run)).toEqual({ give: "succeeded", odd: word, below: word });
      expect(await asked).toMatchObject({ status: word });
      expect(begun).toEqual([]);
      expect(stage.clock.pendingTimers).toBe(0);
    }
  });
});
