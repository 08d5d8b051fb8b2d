import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, TaskContext } from "../../src/index.ts";
import { FaultStore } from "../runtime/support/fault-store.ts";
import { Puppet } from "../runtime/support/puppet.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { call, openStage } from "./stage.ts";

const SURE = { confirm: true } as const;
const idOf = (run: RunHandle, name: string): string => run.graph().find((node) => node.name === name)?.taskId ?? "";
const statuses = (run: RunHandle): readonly string[] => run.graph().map(({ name, status }) => `${name}: ${status}`);

describe("reset", () => {
  it.each([{}, { confirm: false }, { confirm: "yes" }, { confirm: 1 }, undefined])("is refused without confirm: true (%j)", async (options) => {
    const tick = task({ name: "tick" }, () => 1);
    await using stage = await openStage({ tasks: [tick] });
    const { id } = await stage.controller.submit(tick);
    const { statusVersion } = await stage.controller.wait(id, { timeout: "1s" });
    await expect(call(stage.controller, "reset", [id, options])).rejects.toThrow("pass confirm: true");
    expect(await stage.controller.get(id)).toMatchObject({ status: "succeeded", statusVersion, epoch: 0 });
  });

  it("begins a new epoch that start runs, with every attempt kept under its own", async () => {
    const puppet = new Puppet();
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, (ctx) => puppet.run(ctx));
    await using stage = await openStage({ tasks: [flaky] });
    const { controller, clock } = stage;
    const handle = await controller.submit(flaky);
    await clock.advance(0);
    puppet.last.throws(new Error("one"));
    await clock.advance("1s");
    puppet.last.throws(new Error("two"));
    await clock.advance(0);

    const reset = await controller.reset(handle.id, { ...SURE, actor: "ada", reason: "new data" });
    expect(reset).toMatchObject({ status: "pending", attempt: 0, maxAttempts: 2, epoch: 1, failure: null, startedAt: null, endedAt: null });
    expect((await controller.history(handle.id)).at(-1)).toMatchObject({ kind: "revive", trigger: "user:reset", actor: "ada", reason: "new data", epoch: 1 });
    await clock.advance("1h");
    expect(puppet.calls).toHaveLength(2);

    expect(await controller.start(handle.id)).toMatchObject({ status: "queued" });
    await clock.advance(0);
    expect(puppet.last.ctx.attempt).toBe(1);
    puppet.last.throws(new Error("three"));
    await clock.advance("1s");
    puppet.last.returns("done");
    expect(await handle.result()).toBe("done");
    expect((await controller.attempts(handle.id)).map(({ epoch, attempt, endedAs }) => [epoch, attempt, endedAs])).toEqual([
      [0, 1, "retry_wait"],
      [0, 2, "failed"],
      [1, 1, "retry_wait"],
      [1, 2, "succeeded"],
    ]);
    const epochs = (await controller.history(handle.id)).map(({ epoch }) => epoch);
    expect(epochs).toEqual(epochs.toSorted((left, right) => left - right));
    expect(new Set(epochs)).toEqual(new Set([0, 1]));
  });

  it("forgets what earlier attempts saved: it begins anew", async () => {
    const seen: unknown[] = [];
    const saving = task({ name: "saving", retry: { maxAttempts: 9, backoff: constant({ delay: "1h" }) } }, (ctx: TaskContext) => {
      seen.push(ctx.saved);
      ctx.save(seen.length);
      throw new Error("again");
    });
    await using stage = await openStage({ tasks: [saving] });
    const { id } = await stage.controller.submit(saving);
    await stage.clock.advance(0);
    await stage.controller.retry(id);
    await stage.clock.advance(0);
    await stage.controller.reset(id, SURE);
    await stage.controller.start(id);
    await stage.clock.advance(0);
    expect(seen).toEqual([undefined, 1, undefined]);
  });

  it("of a task that backs off ends the backoff: nothing runs until start", async () => {
    const puppet = new Puppet();
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1m" }) } }, (ctx) => puppet.run(ctx));
    await using stage = await openStage({ tasks: [flaky] });
    const { id } = await stage.controller.submit(flaky);
    await stage.clock.advance(0);
    puppet.last.throws(new Error("again"));
    await stage.clock.advance(0);
    expect(await stage.controller.reset(id, SURE)).toMatchObject({ status: "pending", availableAt: null });
    await stage.clock.advance("1h");
    expect(puppet.calls).toHaveLength(1);
    expect(await stage.controller.reset(id, SURE)).toMatchObject({ status: "pending", epoch: 1 });
  });

  it.each(["starting", "running", "pausing", "stopping", "paused"] as const)("is refused while a carrier is held (%s): stop it first", async (status) => {
    const puppet = new Puppet();
    const store = new FaultStore(memoryStore());
    const subject = task({ name: "subject" }, async (ctx) => {
      await ctx.checkpoint();
      if (status === "paused") await stage.clock.turn();
      await ctx.checkpoint();
      return await puppet.run(ctx);
    });
    await using stage = await openStage({ tasks: [subject], store });
    const { controller, clock } = stage;
    const barrier = status === "starting" ? store.hold("commit") : null;
    const { id } = await controller.submit(subject);
    if (status === "paused") void controller.pause(id);
    await clock.advance(0);
    if (status === "pausing") void controller.pause(id).catch(() => {});
    if (status === "stopping") void controller.stop(id).catch(() => {});
    if (status !== "starting") {
      await clock.advance(0);
      expect((await controller.get(id)).status).toBe(status);
    }
    const { allowed, reason } = await controller.can(id, "reset");
    expect([allowed, reason]).toEqual([false, expect.stringContaining("stop it first")]);
    await expect(controller.reset(id, SURE)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      current: status,
      requested: "reset",
      message: expect.stringContaining("stop it first"),
    });
    barrier?.release();
    await clock.advance(0);
    expect(await controller.get(id)).toMatchObject({ epoch: 0 });
  });

  it("is refused while an abandoned body runs, unless forced; both are what can() says", async () => {
    const puppet = new Puppet();
    const deaf = task({ name: "deaf" }, (ctx) => puppet.run(ctx));
    await using stage = await openStage({ tasks: [deaf] });
    const { controller, clock } = stage;
    const { id } = await controller.submit(deaf);
    await clock.advance(0);
    const stopped = controller.stop(id, { grace: 0 });
    await clock.advance(0);
    await stopped;
    expect(await controller.can(id, "reset")).toEqual({ allowed: false, reason: expect.stringContaining(id) });
    await expect(controller.reset(id, SURE)).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    expect(await controller.get(id)).toMatchObject({ status: "lost", epoch: 0 });
    expect(await controller.reset(id, { ...SURE, force: true })).toMatchObject({ status: "pending", epoch: 1 });
    await controller.start(id);
    await clock.advance(0);
    // Forced: a person has said that both may run.
    expect(puppet.calls).toHaveLength(2);
    puppet.call(0).returns("late");
    await clock.advance(0);
    expect(await controller.get(id)).toMatchObject({ status: "running", abandonedBy: null });
    puppet.call(1).returns("mine");
    await clock.advance(0);
    expect(await controller.get(id)).toMatchObject({ status: "succeeded", outcome: "mine", epoch: 1, attempt: 1 });
  });

  it("of a task that backs off while an abandoned body of a forced retry runs: can() and the verb agree", async () => {
    const puppet = new Puppet();
    const deaf = task({ name: "deaf", retry: { maxAttempts: 3, backoff: constant({ delay: "1h" }) } }, (ctx) => puppet.run(ctx));
    await using stage = await openStage({ tasks: [deaf] });
    const { controller, clock } = stage;
    const { id } = await controller.submit(deaf);
    await clock.advance(0);
    const stopped = controller.stop(id, { grace: 0 });
    await clock.advance(0);
    await stopped;
    await controller.retry(id, { force: true });
    await clock.advance(0);
    puppet.last.throws(new Error("again"));
    await clock.advance(0);
    for (const verb of ["reset", "retry"] as const) {
      expect(await controller.can(id, verb)).toMatchObject({ allowed: false });
      await expect(verb === "reset" ? controller.reset(id, SURE) : controller.retry(id)).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    }
    expect(await controller.get(id)).toMatchObject({ status: "retry_wait" });
    expect((await controller.can(id, "stop")).allowed).toBe(true);
  });

  it("by the task itself is a deadlock", async () => {
    const own = task({ name: "own" }, async (ctx): Promise<unknown> => await stage.controller.reset(ctx.taskId, SURE).catch((error: unknown) => error));
    await using stage = await openStage({ tasks: [own] });
    expect(await (await stage.controller.submit(own)).result()).toMatchObject({ code: "DEADLOCK" });
  });

  it("two at once are one epoch", async () => {
    const tick = task({ name: "tick" }, () => 1);
    await using stage = await openStage({ tasks: [tick] });
    const { id } = await stage.controller.submit(tick);
    await stage.controller.wait(id, { timeout: "1s" });
    const both = await Promise.all([stage.controller.reset(id, SURE), stage.controller.reset(id, SURE)]);
    expect(both.map(({ epoch, status }) => [epoch, status])).toEqual([
      [1, "pending"],
      [1, "pending"],
    ]);
  });
});

describe("reset of a node", () => {
  const puppet = new Puppet();
  const source = task({ name: "source" }, async (ctx) => Number(await puppet.run(ctx)));
  const double = task({ name: "double" }, (_ctx, value: number) => value * 2);
  const keep = task({ name: "keep" }, async (ctx) => await puppet.run(ctx));
  const chain = definePipeline("chain", { onFailure: allSettled() }, (p) => {
    const top = p.add(source);
    const middle = p.add(double, { deps: [top], args: (up) => [up(top)] });
    p.add(double, { name: "last", deps: [middle], args: (up) => [up(middle)] });
    p.add(keep);
  });

  async function begun(): Promise<Awaited<ReturnType<typeof openStage>> & { readonly run: RunHandle }> {
    puppet.calls.length = 0;
    const stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(0);
    return { ...stage, run };
  }

  it("whose deps are met: start queues it with what its upstream gave, and the run waits for it", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    puppet.call(0).returns(3);
    await clock.advance(0);
    expect(statuses(run)).toEqual(["source: succeeded", "double: succeeded", "last: succeeded", "keep: running"]);
    await controller.reset(idOf(run, "double"), SURE);
    puppet.call(1).returns();
    await clock.advance("1h");
    expect(statuses(run)[1]).toBe("double: pending");
    expect(await run.snapshot()).toMatchObject({ status: "running" });
    expect(await controller.start(idOf(run, "double"))).toMatchObject({ status: "queued" });
    await clock.advance(0);
    expect(await controller.get(idOf(run, "double"))).toMatchObject({ status: "succeeded", outcome: 6, epoch: 1, attempt: 1 });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("whose deps are open: start leaves it blocked, and it runs with the new value when they are met", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    puppet.call(0).returns(3);
    await clock.advance(0);
    await controller.reset(idOf(run, "source"), SURE);
    await controller.reset(idOf(run, "double"), SURE);
    expect(await controller.start(idOf(run, "double"))).toMatchObject({ status: "blocked" });
    expect(await controller.start(idOf(run, "double"))).toMatchObject({ status: "blocked" });
    await controller.start(idOf(run, "source"));
    await clock.advance(0);
    expect(statuses(run)[1]).toBe("double: blocked");
    puppet.last.returns(5);
    await clock.advance(0);
    expect(await controller.get(idOf(run, "double"))).toMatchObject({ status: "succeeded", outcome: 10 });
    puppet.call(1).returns();
    await clock.advance(0);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("and start at once: it gets the upstream's new value, not the arguments of its first life", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    puppet.call(0).returns(3);
    await clock.advance(0);
    await controller.reset(idOf(run, "source"), SURE);
    await controller.start(idOf(run, "source"));
    await clock.advance(0);
    puppet.last.returns(5);
    await clock.advance(0);
    await controller.reset(idOf(run, "double"), SURE);
    await controller.start(idOf(run, "double"));
    await clock.advance(0);
    expect(await controller.get(idOf(run, "double"))).toMatchObject({ outcome: 10 });
  });

  it("that was still blocked is in the person's hands: its turn passes, and start runs it with its arguments", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    await controller.reset(idOf(run, "double"), SURE);
    puppet.call(0).returns(4);
    await clock.advance("1m");
    expect(statuses(run)).toEqual(["source: succeeded", "double: pending", "last: blocked", "keep: running"]);
    await controller.start(idOf(run, "double"));
    await clock.advance(0);
    expect(await controller.get(idOf(run, "last"))).toMatchObject({ status: "succeeded", outcome: 16 });
  });

  it("whose upstream has ended otherwise meanwhile ends on start as it would have in its turn, and so does the run", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    await controller.reset(idOf(run, "double"), SURE);
    puppet.call(0).throws(new Error("no value"));
    puppet.call(1).returns();
    await clock.advance("1h");
    expect(statuses(run)).toEqual(["source: failed", "double: pending", "last: blocked", "keep: succeeded"]);
    await controller.start(idOf(run, "double"));
    await clock.advance(0);
    expect(statuses(run)).toEqual(["source: failed", "double: cancelled", "last: cancelled", "keep: succeeded"]);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
  });

  it.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("while the run is being ended by %s ends on start as the rest does, unless its deps are met", async (verb, status) => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    const ended = verb === "stop" ? run.stop({ grace: "10s" }) : run.cancel("enough", { grace: "10s" });
    await clock.advance(0);
    expect(statuses(run)).toEqual(["source: stopping", `double: ${status}`, `last: ${status}`, "keep: stopping"]);
    await controller.reset(idOf(run, "double"), SURE);
    await controller.start(idOf(run, "double"));
    await clock.advance("10s");
    expect(statuses(run).slice(1, 3)).toEqual([`double: ${status}`, `last: ${status}`]);
    expect(await ended).toMatchObject({ endedAt: clock.now() });
  });

  it("whose arguments cannot be worked out fails by itself on start, as it would have in its turn", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    await controller.forceTransition(idOf(run, "source"), "succeeded", { actor: "ada", reason: "done elsewhere" });
    await clock.advance(0);
    expect(await controller.get(idOf(run, "double"))).toMatchObject({ status: "failed", failure: { name: "OutcomeMissing" } });
    await controller.reset(idOf(run, "double"), SURE);
    expect(await controller.start(idOf(run, "double"))).toMatchObject({ status: "failed", failure: { name: "OutcomeMissing" } });
    expect(await controller.get(idOf(run, "double"))).toMatchObject({ status: "failed", epoch: 1 });
  });

  it("of a run that has ended is refused, and can() says so beforehand", async () => {
    await using stage = await begun();
    const { controller, clock, run } = stage;
    puppet.call(0).returns(1);
    puppet.call(1).returns(1);
    await clock.advance(0);
    await run.wait({ timeout: 0 });
    const id = idOf(run, "double");
    expect(await controller.can(id, "reset")).toEqual({ allowed: false, reason: "the run it belongs to has ended" });
    await expect(controller.reset(id, SURE)).rejects.toThrow('(the run it belongs to has ended: run.retry({ from: "');
    expect(await controller.get(id)).toMatchObject({ status: "succeeded", epoch: 0 });
  });
});
