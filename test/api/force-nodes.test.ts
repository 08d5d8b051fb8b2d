import { describe, expect, it, test } from "vitest";
import { Controller, allSettled, definePipeline, failFast, task } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { threadPuppet } from "../carriers/fixtures/puppets.ts";
import { eventually } from "../carriers/support/eventually.ts";
import { Stage as Folder } from "../carriers/support/stage.ts";
import { Puppet } from "../runtime/support/puppet.ts";
import { BY } from "./force-stage.ts";
import { openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const puppet = new Puppet();
const source = task({ name: "source" }, async (ctx) => Number(await puppet.run(ctx)));
const double = task({ name: "double" }, (_ctx, value: number) => value * 2);
const other = task({ name: "other" }, async (ctx) => await puppet.run(ctx));

const nodes = (onFailure: ReturnType<typeof failFast>) =>
  definePipeline("nodes", { onFailure }, (p) => {
    const top = p.add(source);
    p.add(double, { deps: [top], args: (up) => [up(top) ?? -1] });
    p.add(other);
  });

const idOf = (run: RunHandle, name: string): string => run.graph().find((node) => node.name === name)?.taskId ?? "";
const statuses = (run: RunHandle): readonly string[] => run.graph().map(({ status }) => status);

async function begun(onFailure = allSettled()): Promise<Stage & { readonly run: RunHandle; readonly of: (name: string) => string }> {
  puppet.calls.length = 0;
  const pipeline = nodes(onFailure);
  const stage = await openStage({ pipelines: [pipeline] });
  const run = await stage.controller.startRun(pipeline);
  await stage.clock.advance(0);
  return { ...stage, run, of: (name) => idOf(run, name) };
}

describe("a running node", () => {
  it("forced to succeeded lets those below go on with the outcome, and its late value changes nothing", async () => {
    await using stage = await begun();
    await stage.controller.forceTransition(stage.of("source"), "succeeded", { ...BY, outcome: 21 });
    await stage.clock.advance(0);
    expect(await stage.controller.get(stage.of("double"))).toMatchObject({ status: "succeeded", outcome: 42 });
    puppet.call(0).returns(1);
    puppet.call(1).returns(1);
    await stage.clock.advance(0);
    expect(await stage.run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(await stage.controller.get(stage.of("source"))).toMatchObject({ outcome: 21 });
  });

  it("forced to failed sets fail-fast off, and what waits below is cancelled", async () => {
    await using stage = await begun(failFast());
    await stage.controller.forceTransition(stage.of("source"), "failed", BY);
    await stage.clock.advance("10s");
    expect(statuses(stage.run)).toEqual(["failed", "cancelled", "lost"]);
    expect((await stage.controller.history(stage.of("other"))).find(({ to }) => to === "stopping")).toMatchObject({ trigger: "pipeline:fail-fast" });
    expect(await stage.run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
  });

  it("forced to queued runs again when its old body has ended; the run waits for it", async () => {
    await using stage = await begun();
    await stage.controller.forceTransition(stage.of("source"), "queued", BY);
    puppet.call(1).returns();
    await stage.clock.advance("1m");
    expect(statuses(stage.run)).toEqual(["queued", "blocked", "succeeded"]);
    puppet.call(0).returns(1);
    await stage.clock.advance(0);
    puppet.last.returns(2);
    await stage.clock.advance(0);
    expect(await stage.controller.get(stage.of("double"))).toMatchObject({ outcome: 4 });
    expect(await stage.run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("forced to pending holds the run open until somebody starts it", async () => {
    await using stage = await begun();
    await stage.controller.forceTransition(stage.of("source"), "pending", BY);
    for (const call of puppet.calls) call.returns(3);
    await stage.clock.advance("1h");
    expect(statuses(stage.run)).toEqual(["pending", "blocked", "succeeded"]);
    await stage.controller.start(stage.of("source"));
    await stage.clock.advance(0);
    puppet.last.returns(4);
    await stage.clock.advance(0);
    expect(await stage.controller.get(stage.of("double"))).toMatchObject({ outcome: 8 });
  });
});

describe("a node that still waits", () => {
  it.each(["returns", "throws"] as const)("forced to queued runs now with what it can know; its upstream's end (%s) does not touch it", async (end) => {
    await using stage = await begun();
    await stage.controller.forceTransition(stage.of("double"), "queued", BY);
    await stage.clock.advance(0);
    expect(await stage.controller.get(stage.of("double"))).toMatchObject({ status: "succeeded", outcome: -2, overridden: true });
    puppet.call(0)[end](new Error("no"));
    puppet.call(1).returns();
    await stage.clock.advance(0);
    expect(await stage.run.wait({ timeout: 0 })).toMatchObject({ status: end === "returns" ? "succeeded" : "failed" });
    expect(await stage.controller.attempts(stage.of("double"))).toHaveLength(1);
  });

  it.each(["returns", "throws"] as const)("forced to queued and running when its upstream ends (%s) runs on", async (end) => {
    puppet.calls.length = 0;
    const pipeline = definePipeline("pair", { onFailure: allSettled() }, (p) => void p.add(other, { deps: [p.add(source)] }));
    const said: string[] = [];
    const line = (message: string): void => void said.push(message);
    await using stage = await openStage({ pipelines: [pipeline], logger: { debug: line, info: line, warn: line, error: line } });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    await stage.controller.forceTransition(idOf(run, "other"), "queued", BY);
    await stage.clock.advance(0);
    puppet.call(0)[end](new Error("no"));
    await stage.clock.advance(0);
    expect(statuses(run)).toEqual([end === "returns" ? "succeeded" : "failed", "running"]);
    puppet.call(1).returns();
    await stage.clock.advance(0);
    expect(statuses(run)[1]).toBe("succeeded");
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: end === "returns" ? "succeeded" : "failed" });
    expect(said).toEqual([]);
  });

  it("whose arguments cannot be worked out yet is not forced to queued: refused with the reason, nothing has changed", async () => {
    puppet.calls.length = 0;
    const pipeline = definePipeline("strict", {}, (p) => {
      const top = p.add(source);
      p.add(double, { deps: [top], args: (up) => [Math.trunc(up(top).valueOf())] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    const before = await stage.controller.get(idOf(run, "double"));
    const forced = stage.controller.forceTransition(idOf(run, "double"), "queued", BY);
    await expect(forced).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("cannot be worked out as its upstreams stand") });
    expect(await stage.controller.get(idOf(run, "double"))).toEqual(before);
    puppet.call(0).returns(3);
    await stage.clock.advance(0);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("stopped, then retried after its upstream has ended, has its arguments", async () => {
    await using stage = await begun();
    await stage.controller.stop(stage.of("double"));
    puppet.call(0).returns(5);
    await stage.clock.advance(0);
    await stage.controller.retry(stage.of("double"));
    await stage.clock.advance(0);
    expect(await stage.controller.get(stage.of("double"))).toMatchObject({ status: "succeeded", outcome: 10 });
  });

  it("forced to pending is in the person's hands: its turn passes, and the run waits", async () => {
    await using stage = await begun();
    await stage.controller.forceTransition(stage.of("double"), "pending", BY);
    for (const call of puppet.calls) call.returns(5);
    await stage.clock.advance("1h");
    expect(statuses(stage.run)).toEqual(["succeeded", "pending", "succeeded"]);
    await stage.controller.start(stage.of("double"));
    await stage.clock.advance(0);
    expect(await stage.run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});

describe("a node of a run that has ended", () => {
  it.each(["succeeded", "failed", "cancelled", "skipped"] as const)(
    "%s: back to the start is refused, another end is not, and can() agrees with the verbs",
    async (status) => {
      const fails = task({ name: "fails" }, () => {
        throw new Error("no");
      });
      const tick = task({ name: "tick" }, () => 1);
      const pipeline = definePipeline("ended", { onFailure: allSettled() }, (p) => {
        p.add(tick, { name: "succeeded" });
        p.add(tick, { name: "skipped", when: () => false });
        p.add(tick, { name: "cancelled", deps: [p.add(fails, { name: "failed" })] });
      });
      await using stage = await openStage({ pipelines: [pipeline] });
      const { controller } = stage;
      const run = await controller.startRun(pipeline);
      await run.wait({ timeout: "1s" });
      const id = idOf(run, status);
      const verbs = { retry: () => controller.retry(id), reset: () => controller.reset(id, { confirm: true }) };
      for (const [verb, ask] of [["retry", verbs.retry] as const, ["reset", verbs.reset] as const]) {
        expect((await controller.can(id, verb)).allowed).toBe(false);
        await expect(ask()).rejects.toMatchObject({ code: "INVALID_TRANSITION", requested: verb });
      }
      for (const to of ["pending", "queued"] as const) await expect(controller.forceTransition(id, to, BY)).rejects.toThrow("the run it belongs to has ended");
      expect(await controller.get(id)).toMatchObject({ status, overridden: false });
      expect(await controller.forceTransition(id, "succeeded", { ...BY, outcome: 1 })).toMatchObject({ status: "succeeded", outcome: 1, overridden: true });
      expect(await run.snapshot()).toMatchObject({ status: "failed" });
    },
  );
});

describe("a task that would run again by itself when it is lost", () => {
  it("does not where a person has set it to lost", async () => {
    const again = task({ name: "again", retry: { maxAttempts: 3, retryLost: true } }, async (ctx) => await puppet.run(ctx));
    puppet.calls.length = 0;
    await using stage = await openStage({ tasks: [again] });
    const { id } = await stage.controller.submit(again);
    await stage.clock.advance(0);
    await stage.controller.forceTransition(id, "lost", BY);
    puppet.last.returns();
    await stage.clock.advance("1h");
    expect(await stage.controller.get(id)).toMatchObject({ status: "lost", overridden: true, attempt: 1 });
    expect(puppet.calls).toHaveLength(1);
  });
});

test("a thread that never looks is really ended when its grace is used up", { timeout: 30_000 }, async () => {
  using folder = new Folder();
  const clock = new FakeClock();
  await using controller = await Controller.open({ clock, tasks: [threadPuppet] });
  const said: string[] = [];
  void (async () => {
    for await (const event of controller.events()) {
      if (event.type === "TaskOutput") said.push(String(event.payload));
      if (event.type === "TaskWarning") said.push(event.message);
    }
  })();
  const handle = await controller.submit(threadPuppet, [{ stage: folder.folder, manner: "busy-deaf" }]);
  await eventually("it runs", () => said.includes("begun"));
  await controller.forceTransition(handle.id, "queued", BY);
  await clock.advance(9_999);
  expect(controller.orphans).toMatchObject([{ taskId: handle.id, executor: "thread" }]);
  await clock.advance(1);
  await eventually("it is gone", () => said.some((line) => line.includes("attempt 1 has ended: it was killed")));
  // And the next attempt has begun.
  await eventually("it runs again", () => said.filter((line) => line === "begun").length === 2);
  expect(controller.orphans).toEqual([]);
  folder.cue("finish");
  expect(await handle.result()).toBe("finished");
});
