import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, failFast, quorum, task } from "../../src/index.ts";
import type { AggregationPolicy, RunHandle } from "../../src/index.ts";
import { gate, listen, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const tick = task({ name: "tick" }, () => 1);
const fails = task({ name: "fails" }, () => {
  throw new Error("no");
});

const statuses = (run: RunHandle): Record<string, string> => Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));

async function aborted(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}

/** `good` and `bad` nodes side by side, each let go by its own gate. */
async function sideBySide(
  onFailure: AggregationPolicy,
  count: number,
): Promise<Stage & { readonly run: RunHandle; readonly end: (node: number, well: boolean) => Promise<void> }> {
  const gates = Array.from({ length: count }, () => gate());
  const waits = task({ name: "waits" }, async (ctx, index: number) => await Promise.race([gates[index]?.opened, aborted(ctx.signal)]));
  const wide = definePipeline("wide", { onFailure }, (p) => {
    for (let index = 0; index < count; index += 1) p.add(waits, { name: `node-${index}`, args: [index] });
  });
  const stage = await openStage({ pipelines: [wide] });
  const run = await stage.controller.startRun(wide);
  await stage.clock.advance(1);
  const end = async (node: number, well: boolean): Promise<void> => {
    if (well) gates[node]?.open();
    else gates[node]?.fail(new Error(`node ${node}`));
    await stage.clock.advance(1);
  };
  return { ...stage, run, end };
}

describe("failFast", () => {
  it("is the default: the first failure cancels all that has not ended, cascades first", async () => {
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
    const mixed = definePipeline("mixed", {}, (p) => {
      const done = p.add(tick, { name: "done" });
      const bad = p.add(fails, { name: "bad", deps: [done] });
      const running = p.add(busy, { name: "running" });
      p.add(tick, { name: "below-bad", deps: [p.add(tick, { name: "beside-bad", deps: [bad] })] });
      p.add(tick, { name: "below-running", deps: [running] });
      p.add(tick, { name: "after-all", deps: [bad, running], join: "all_done" });
    });
    await using stage = await openStage({ pipelines: [mixed] });
    const run = await stage.controller.startRun(mixed);
    await stage.clock.advance("1s");
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed", requestedAction: null });
    expect(statuses(run)).toEqual({
      done: "succeeded",
      bad: "failed",
      running: "cancelled",
      "below-bad": "cancelled",
      "beside-bad": "cancelled",
      "below-running": "cancelled",
      "after-all": "cancelled",
    });
    const triggerOf = async (name: string): Promise<unknown> =>
      (await stage.controller.history(run.graph().find((node) => node.name === name)?.taskId ?? "")).find(({ to }) => to === "cancelled" || to === "stopping");
    expect(await triggerOf("beside-bad")).toMatchObject({ trigger: "pipeline:dependency-failed", actor: "system" });
    expect(await triggerOf("below-bad")).toMatchObject({ trigger: "pipeline:dependency-failed" });
    expect(await triggerOf("running")).toMatchObject({ to: "stopping", trigger: "pipeline:fail-fast", actor: "system", reason: 'node "bad" failed' });
    expect(await triggerOf("below-running")).toMatchObject({ trigger: "pipeline:fail-fast" });
    expect(run.summary()).toMatchObject({
      name: "mixed",
      status: "failed",
      total: 7,
      counts: { succeeded: 1, failed: 1, cancelled: 5, running: 0 },
      firstFailure: {
        node: "bad",
        status: "failed",
        failure: { message: "no" },
        affected: expect.toSatisfy((names: string[]) => names.toSorted().join() === "below-bad,beside-bad"),
      },
    });
  });

  it("names the node that set it off where the run ends, also where that was skipped meanwhile; a retry of the run begins anew", async () => {
    let isMended = false;
    const mends = task({ name: "mends" }, (): number => {
      if (isMended) return 1;
      throw new Error("no");
    });
    const slow = task({ name: "slow" }, async (ctx) => {
      await aborted(ctx.signal).catch(() => undefined);
      await new Promise<void>((resolve) => void stage.clock.setTimer(1_000, resolve));
      if (!isMended) await ctx.checkpoint();
    });
    const pair = definePipeline("pair", {}, (p) => {
      p.add(mends);
      p.add(slow);
    });
    await using stage = await openStage({ pipelines: [pair] });
    const run = await stage.controller.startRun(pair);
    await stage.clock.advance(1);
    await stage.controller.skip(run.graph()[0]?.taskId ?? "");
    await stage.clock.advance("2s");
    expect(run.summary()).toMatchObject({ status: "cancelled", firstFailure: null });
    isMended = true;
    await run.retry();
    await stage.clock.advance(1);
    const stopped = run.stop();
    await stage.clock.advance("2s");
    await stopped;
    const steps: string[] = [];
    for await (const event of run.events({ types: ["PipelineRunStatusChanged"] }))
      if (event.type === "PipelineRunStatusChanged") steps.push(`${event.to}: ${event.reason}`);
    expect(steps.filter((step) => !step.startsWith("running"))).toEqual(['cancelled: node "mends" failed', "stopping: null", "stopped: null"]);
  });

  it("gives up on what does not listen, and only then ends", async () => {
    const deaf = task({ name: "deaf" }, async () => await gate().opened);
    const two = definePipeline("two", { onFailure: failFast() }, (p) => {
      p.add(deaf);
      p.add(fails);
    });
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await stage.clock.advance(9_999);
    expect(await run.snapshot()).toMatchObject({ status: "running", endedAt: null });
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual({ deaf: "lost", fails: "failed" });
  });

  it.each(["cancel", "stop"] as const)("is not set off by a node that a person ends: %s", async (verb) => {
    await using wide = await sideBySide(failFast(), 3);
    const node = wide.run.graph()[0];
    const ended = wide.controller[verb](node?.taskId ?? "");
    await wide.clock.advance(10);
    await ended;
    expect(statuses(wide.run)).toEqual({ "node-0": verb === "stop" ? "stopped" : "cancelled", "node-1": "running", "node-2": "running" });
    await wide.end(1, true);
    await wide.end(2, true);
    expect(await wide.run.wait({ timeout: "1s" })).toMatchObject({ status: verb === "stop" ? "stopped" : "cancelled" });
    expect(wide.run.summary().firstFailure).toBeNull();
  });

  it("is set off by a node that is lost", async () => {
    const deaf = task({ name: "deaf", timeout: { attempt: "1s" } }, async () => await gate().opened);
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
    const two = definePipeline("two", {}, (p) => {
      p.add(deaf);
      p.add(busy);
    });
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await stage.clock.advance("10s");
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual({ deaf: "lost", busy: "cancelled" });
    expect(run.summary().firstFailure).toMatchObject({ node: "deaf", status: "lost", failure: { kind: "timeout_attempt" }, affected: [] });
  });

  it("does not wait for the retries of a node that has failed before", async () => {
    const flaky = task({ name: "flaky", retry: { maxAttempts: 5 } }, () => {
      throw new Error("again");
    });
    const two = definePipeline("two", {}, (p) => {
      p.add(flaky);
      p.add(fails, { deps: [p.add(tick)] });
    });
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual({ flaky: "cancelled", tick: "succeeded", fails: "failed" });
  });
});

describe("allSettled", () => {
  it("lets everything run that can, then fails", async () => {
    await using wide = await sideBySide(allSettled(), 3);
    await wide.end(0, false);
    expect(await wide.run.snapshot()).toMatchObject({ status: "running" });
    await wide.end(2, true);
    await wide.end(1, true);
    expect(await wide.run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(statuses(wide.run)).toEqual({ "node-0": "failed", "node-1": "succeeded", "node-2": "succeeded" });
  });
});

describe("quorum", () => {
  it("once met forgives everything, and the rest settles first", async () => {
    await using wide = await sideBySide(quorum(2), 4);
    await wide.end(0, false);
    await wide.end(1, true);
    await wide.end(2, true);
    expect(await wide.run.snapshot()).toMatchObject({ status: "running" });
    await wide.end(3, false);
    expect(await wide.run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(wide.run.summary()).toMatchObject({ counts: { succeeded: 2, failed: 2 }, firstFailure: { node: "node-0" } });
  });

  it("that can no longer be reached cancels the rest", async () => {
    await using wide = await sideBySide(quorum(3), 4);
    await wide.end(0, false);
    expect(statuses(wide.run)).toMatchObject({ "node-1": "running" });
    await wide.end(1, false);
    await wide.clock.advance(10);
    expect(await wide.run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(statuses(wide.run)).toEqual({ "node-0": "failed", "node-1": "failed", "node-2": "cancelled", "node-3": "cancelled" });
    const history = await wide.controller.history(wide.run.graph()[2]?.taskId ?? "");
    expect(history.at(-2)).toMatchObject({
      to: "stopping",
      trigger: "pipeline:quorum-unreachable",
      reason: "0 succeeded and 2 have not ended: too few for the quorum",
    });
  });

  it("of more nodes than there are is refused before anything is stored", async () => {
    const two = definePipeline("two", { onFailure: quorum(3) }, (p) => {
      p.add(tick);
      p.add(tick, { name: "tock" });
    });
    await using stage = await openStage({ pipelines: [two] });
    await expect(stage.controller.startRun(two)).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining("quorum(3) can never be met: the pipeline has 2 nodes"),
    });
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });
});
