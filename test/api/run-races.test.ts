import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, failFast, task } from "../../src/index.ts";
import type { TaskContext } from "../../src/index.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { Puppet } from "../runtime/support/puppet.ts";
import { deaf, idOf, runSteps, statuses, tick } from "./run-stage.ts";
import { call, openStage } from "./stage.ts";

/** Runs until its signal aborts. */
const heeds = task({ name: "heeds" }, async (ctx: TaskContext) => {
  await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
  await ctx.checkpoint();
});

describe("the stop of a run while its nodes finish", () => {
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])("asked %i turns of the loop after the first has finished: each ends once, and the run as they did", async (turns) => {
    const puppet = new Puppet();
    const ends = deaf(puppet);
    const chain = definePipeline("chain", { onFailure: allSettled() }, (p) => {
      const first = p.add(ends, { name: "first" });
      const second = p.add(ends, { name: "second", deps: [first] });
      p.add(ends, { name: "third", deps: [p.add(ends, { name: "beside", deps: [first] }), second] });
    });
    await using stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(0);
    puppet.last.returns(1);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    const stopped = run.stop();
    await stage.clock.advance(0);
    for (const each of puppet.calls) each.throws(new Error("stopped"));
    await stage.clock.advance(0);
    expect(await stopped).toMatchObject({ status: "stopped" });
    const last = await Promise.all(run.graph().map(async ({ taskId }) => (await stage.controller.history(taskId)).at(-1)?.to));
    expect(last).toEqual(run.graph().map(({ status }) => status));
    expect((await runSteps(run)).filter((step) => step.includes("verdict"))).toHaveLength(1);
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("the last node's end wins where it comes first: a verb on what has ended is refused", async () => {
    const puppet = new Puppet();
    const one = definePipeline("one", {}, (p) => void p.add(deaf(puppet)));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(0);
    puppet.last.returns(1);
    await stage.clock.advance(0);
    await expect(run.stop()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "succeeded", allowed: ["retry"] });
  });
});

describe("fail-fast with fifty running nodes", () => {
  it("ends each of them, and nothing that waits begins", async () => {
    const puppet = new Puppet();
    const fails = deaf(puppet);
    const wide = definePipeline("wide", { onFailure: failFast() }, (p) => {
      const first = p.add(fails, { name: "fails" });
      for (let index = 0; index < 50; index += 1) p.add(tick, { name: `below-${index}`, deps: [p.add(heeds, { name: `n${index}` })] });
      p.add(tick, { name: "below", deps: [first] });
    });
    await using stage = await openStage({ pipelines: [wide], concurrency: { maxParallel: 100 } });
    const run = await stage.controller.startRun(wide);
    await stage.clock.advance(0);
    expect(run.summary().counts).toMatchObject({ running: 51, blocked: 51 });
    puppet.last.throws(new Error("no"));
    await stage.clock.advance(0);
    expect(run.summary()).toMatchObject({ status: "failed", counts: { failed: 1, cancelled: 101 }, firstFailure: { node: "fails", affected: ["below"] } });
    const history = await stage.controller.history(idOf(run, "n49"));
    expect(history.slice(-2)).toMatchObject([{ to: "stopping", trigger: "pipeline:fail-fast", reason: 'node "fails" failed' }, { to: "cancelled" }]);
    await run.retry();
    await stage.clock.advance(0);
    expect(run.summary().counts).toMatchObject({ running: 51, blocked: 51 });
    puppet.last.returns(1);
    const stopped = run.stop();
    await stage.clock.advance(0);
    expect(await stopped).toMatchObject({ status: "stopped" });
  });
});

describe("controller.run and controller.runs", () => {
  const one = definePipeline("one", {}, (p) => void p.add(tick));

  it("reach a run that is under way, and every verb with it", async () => {
    const slow = definePipeline("slow", {}, (p) => void p.add(tick, { deps: [p.add(heeds)] }));
    await using stage = await openStage({ pipelines: [slow] });
    const { id } = await stage.controller.startRun(slow);
    await stage.clock.advance(0);
    const run = await stage.controller.run(id);
    expect(statuses(run)).toEqual({ heeds: "running", tick: "blocked" });
    const stopped = run.stop();
    await stage.clock.advance(0);
    expect(await stopped).toMatchObject({ status: "stopped" });
  });

  it("reach one that has ended, and run it again", async () => {
    const puppet = new Puppet();
    const broken = definePipeline("broken", {}, (p) => void p.add(deaf(puppet)));
    await using stage = await openStage({ pipelines: [broken] });
    const first = await stage.controller.startRun(broken);
    await stage.clock.advance(0);
    puppet.last.throws(new Error("no"));
    await stage.clock.advance(0);
    const run = await stage.controller.run(first.id);
    expect(run.summary()).toMatchObject({ status: "failed", firstFailure: { node: "deaf" } });
    await run.retry();
    await stage.clock.advance(0);
    puppet.last.returns(1);
    expect(await first.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect((await stage.controller.run(first.id)).summary()).toMatchObject({ status: "succeeded" });
  });

  it("list runs in the order in which they were started, page by page", async () => {
    const two = definePipeline("two", {}, (p) => void p.add(tick));
    await using stage = await openStage({ pipelines: [one, two] });
    const { controller } = stage;
    const ids = [await controller.startRun(one), await controller.startRun(two), await controller.startRun(one)].map(({ id }) => id);
    await stage.clock.advance(0);
    expect((await controller.runs()).items.map(({ runId }) => runId)).toEqual(ids);
    expect((await controller.runs({ name: "two" })).items).toMatchObject([{ runId: ids[1], status: "succeeded" }]);
    expect((await controller.runs({ status: ["succeeded", "failed"], name: "two" })).items).toMatchObject([{ runId: ids[1] }]);
    expect((await controller.runs({ status: ["running"] })).items).toEqual([]);
    const page = await controller.runs({ limit: 2 });
    expect((await controller.runs({ limit: 2, cursor: page.cursor ?? "" })).items.map(({ runId }) => runId)).toEqual([ids[2]]);
  });

  it("refuse an id that no run has, and bad queries", async () => {
    await using stage = await openStage({ pipelines: [one] });
    await expect(stage.controller.run("nobody")).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      message: 'no run "nobody": the id is wrong, or its history was pruned.',
    });
    await expect(call(stage.controller, "runs", [{ status: ["faild"] }])).rejects.toThrow(
      /^query: status must be one of .*found "faild"\. Did you mean "failed"\?$/,
    );
    await expect(call(stage.controller, "runs", [{ status: 7 }])).rejects.toThrow(/^query: status must be one of .*found 7\.$/);
    await expect(call(stage.controller, "runs", [{ limit: 0 }])).rejects.toThrow("query: limit");
    await expect(call(stage.controller, "runs", [{ name: 7 }])).rejects.toThrow("query: name must be text; found 7");
  });

  it("say so where a run is in the store and not in this controller's memory", async () => {
    const store = memoryStore();
    await using stage = await openStage({ pipelines: [one], store });
    const run = { ...(await (await stage.controller.startRun(one)).wait({ timeout: "1s" })), runId: "elsewhere" };
    await store.runs.create(run, [], [], []);
    await expect(stage.controller.run("elsewhere")).rejects.toMatchObject({
      code: "UNKNOWN_ID",
      message: 'run elsewhere ("one", succeeded) is not in this controller\'s memory: ask runs for its row and list for its tasks.',
    });
    expect((await stage.controller.runs({ idPrefix: "elsewhere" })).items).toEqual([run]);
  });
});
