import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, TaskStatus } from "../../src/index.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";
import { idOf, statuses, tick } from "./run-stage.ts";
import { openStage } from "./stage.ts";

const items = (run: RunHandle): readonly TaskStatus[] => run.items("each").map(({ status }) => status);

describe("a run with a map", () => {
  it("is paused with its items, and resumed with them: those that waited have waited", async () => {
    const listens = task({ name: "listens" }, async (ctx, _item: number) => await polling(stage.clock)(ctx));
    const fan = definePipeline("fan", {}, (p) => void p.add(tick, { deps: [p.map(listens, { name: "each", items: [1, 2, 3, 4] })] }));
    await using stage = await openStage({ pipelines: [fan], concurrency: { maxParallel: 2 } });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    expect(items(run)).toEqual(["running", "running", "queued", "queued"]);
    const paused = run.pause();
    await stage.clock.advance(20);
    expect(await paused).toEqual({ status: "paused", unpaused: [] });
    expect(items(run)).toEqual(["paused", "paused", "queued", "queued"]);
    expect(statuses(run)).toEqual({ each: "paused", tick: "blocked" });
    await run.resume();
    await stage.clock.advance(1);
    expect(items(run)).toEqual(["running", "running", "queued", "queued"]);
    const stopped = run.stop();
    await stage.clock.advance(20);
    expect(await stopped).toMatchObject({ status: "stopped" });
    expect(new Set(items(run))).toEqual(new Set(["stopped"]));
  });

  it("stopped while it is paused ends every item", async () => {
    const listens = task({ name: "listens" }, async (ctx, _item: number) => await polling(stage.clock)(ctx));
    const fan = definePipeline("fan", {}, (p) => void p.map(listens, { name: "each", items: [1, 2, 3] }));
    await using stage = await openStage({ pipelines: [fan], concurrency: { maxParallel: 2 } });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    const paused = run.pause();
    await stage.clock.advance(20);
    await paused;
    const stopped = run.stop();
    await stage.clock.advance(20);
    expect(await stopped).toMatchObject({ status: "stopped" });
    expect(items(run)).toEqual(["stopped", "stopped", "stopped"]);
  });

  it("paused while the map expands begins none of its items until it is resumed", async () => {
    let ran = 0;
    const counts = task({ name: "counts" }, (_ctx, item: number) => {
      ran += 1;
      return item;
    });
    const fan = definePipeline("fan", {}, (p) => void p.map(counts, { name: "each", items: Array.from({ length: 2_000 }, (_, index) => index) }));
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    while (run.items("each").length === 0) await stage.clock.turn();
    expect(run.items("each").length).toBeLessThan(2_000);
    const paused = run.pause();
    await stage.clock.advance(0);
    expect(await paused).toEqual({ status: "paused", unpaused: [] });
    await stage.clock.advance("1h");
    expect(ran).toBe(0);
    expect(run.items("each").length).toBeLessThan(2_000);
    await run.resume();
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(ran).toBe(2_000);
  });

  it("that waits for its upstreams when the run is paused does not expand until it is resumed", async () => {
    const puppet = new Puppet();
    const list = task({ name: "list" }, async (ctx) => (await puppet.run(ctx)) as readonly number[]);
    const counts = task({ name: "counts" }, (_ctx, item: number) => item);
    const fan = definePipeline("fan", {}, (p) => {
      const source = p.add(list);
      p.map(counts, { name: "each", deps: [source], items: (up) => up(source) });
    });
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    const paused = run.pause();
    puppet.last.returns([1, 2, 3]);
    await stage.clock.advance(1);
    expect(await paused).toEqual({ status: "paused", unpaused: [] });
    expect({ status: statuses(run)["each"], items: items(run) }).toEqual({ status: "queued", items: [] });
    await run.resume();
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("retried runs the items that failed and no other, and what lies below the map", async () => {
    const state = { isBroken: true, calls: [] as number[] };
    const choosy = task({ name: "choosy" }, (_ctx, item: number) => {
      state.calls.push(item);
      if (item === 2 && state.isBroken) throw new Error("no");
      return item * 10;
    });
    const sum = task({ name: "sum" }, (_ctx, values: readonly number[]) => values.reduce((all, value) => all + value, 0));
    const fan = definePipeline("fan", { onFailure: allSettled() }, (p) => {
      const each = p.map(choosy, { name: "each", items: [1, 2, 3] });
      p.add(sum, { deps: [each], args: (up) => [up(each)] });
    });
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    state.isBroken = false;
    await run.retry();
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(state.calls).toEqual([1, 2, 3, 2]);
    expect(await stage.controller.get(idOf(run, "sum"))).toMatchObject({ outcome: 60 });
  });

  it("retried from above the map makes its items anew from the new list", async () => {
    let length = 2;
    const list = task({ name: "list" }, () => Array.from({ length: (length += 1) }, (_, index) => index));
    const counts = task({ name: "counts" }, (_ctx, item: number) => item);
    const fan = definePipeline("fan", {}, (p) => {
      const source = p.add(list);
      p.map(counts, { name: "each", deps: [source], items: (up) => up(source) });
    });
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    expect(items(run)).toHaveLength(3);
    await run.retry({ from: "list" });
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(await stage.controller.get(idOf(run, "each"))).toMatchObject({ outcome: [0, 1, 2, 3] });
  });

  it("with a lost item is retried by force alone while its body may still run, and without once that has ended", async () => {
    const puppet = new Puppet();
    const deaf = task({ name: "deaf" }, async (ctx, _item: number) => await puppet.run(ctx));
    const fan = definePipeline("fan", { onFailure: allSettled() }, (p) => void p.map(deaf, { name: "each", items: [1, 2] }));
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    const lose = async (index: number): Promise<void> => {
      const stopped = stage.controller.stop(run.items("each")[index]?.taskId ?? "", { grace: 0 });
      await stage.clock.advance(1);
      await stopped;
    };
    await lose(0);
    puppet.call(1).returns(2);
    await stage.clock.advance(1);
    expect(items(run)).toEqual(["lost", "succeeded"]);
    await expect(run.retry()).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
    await run.retry({ force: true });
    await stage.clock.advance(1);
    expect(items(run)).toEqual(["running", "succeeded"]);
    await lose(0);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    for (const each of puppet.calls) each.returns(1);
    await stage.clock.advance(1);
    await run.retry();
    await stage.clock.advance(1);
    puppet.last.returns(1);
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});
