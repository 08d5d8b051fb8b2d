import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, failFast, task } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";
import { deaf, idOf, runSteps, statuses, tick } from "./run-stage.ts";
import { FaultStore } from "../runtime/support/fault-store.ts";
import { call, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

interface Begun extends Stage {
  readonly run: RunHandle;
  readonly puppet: Puppet;
}

/** `listens` heeds its checkpoints every 10 ms, `deaf` heeds the test alone; two nodes wait below them, one waits for a slot. */
async function begun(onFailure = allSettled()): Promise<Begun> {
  const puppet = new Puppet();
  const listens = task({ name: "listens" }, async (ctx) => await polling(stage.clock)(ctx));
  const mixed = definePipeline("mixed", { onFailure }, (p) => {
    const first = p.add(listens);
    const second = p.add(deaf(puppet));
    p.add(tick, { name: "waits" });
    p.add(tick, { name: "below-listens", deps: [first] });
    p.add(tick, { name: "below-deaf", deps: [second] });
  });
  const stage = await openStage({ pipelines: [mixed], concurrency: { maxParallel: 2 } });
  const run = await stage.controller.startRun(mixed);
  await stage.clock.advance(1);
  return { ...stage, run, puppet };
}

/** One node that listens and one below it. */
async function listening(): Promise<Begun> {
  const puppet = new Puppet();
  const listens = task({ name: "listens" }, async (ctx) => await polling(stage.clock)(ctx));
  const two = definePipeline("two", {}, (p) => void p.add(tick, { deps: [p.add(listens)] }));
  const stage = await openStage({ pipelines: [two] });
  const run = await stage.controller.startRun(two);
  await stage.clock.advance(1);
  return { ...stage, run, puppet };
}

async function settled<Value>(stage: Stage, promise: Promise<Value>, waitMs = 20): Promise<Value> {
  promise.catch(() => undefined);
  await stage.clock.advance(waitMs);
  return await promise;
}

describe("run.pause", () => {
  it("pauses what runs, holds what has not begun with its status unchanged, and the run is paused once nothing runs", async () => {
    await using stage = await listening();
    const { run } = stage;
    const paused = run.pause({ actor: "ada", reason: "the disk" });
    expect(await run.can("pause")).toEqual({ allowed: true, reason: "already pausing" });
    await stage.clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "pausing", requestedAction: "pause", pausedBy: "ada" });
    expect(await settled(stage, paused)).toEqual({ status: "paused", unpaused: [] });
    expect(await run.snapshot()).toMatchObject({ status: "paused", requestedAction: null, pausedBy: "ada", endedAt: null });
    expect(statuses(run)).toEqual({ listens: "paused", tick: "blocked" });
    expect(await runSteps(run)).toEqual([
      "pending → running (user:start) by system",
      "running → pausing (user:pause) by ada",
      "pausing → paused (pause:all-reached) by system",
    ]);
  });

  it("lists the node that reaches no checkpoint in time: it runs on, the run says pausing, and paused when it has ended", async () => {
    await using stage = await begun();
    const { run, puppet } = stage;
    const report = await settled(stage, run.pause({ timeout: "1s" }), 1_000);
    expect(report).toEqual({
      status: "pausing",
      unpaused: [{ name: "deaf", taskId: idOf(run, "deaf"), status: "running", reason: "it reached no checkpoint in time" }],
    });
    expect(statuses(run)).toEqual({ listens: "paused", deaf: "running", waits: "queued", "below-listens": "blocked", "below-deaf": "blocked" });
    await stage.clock.advance("1h");
    expect(await run.snapshot()).toMatchObject({ status: "pausing", requestedAction: "pause" });
    puppet.last.returns(1);
    await stage.clock.advance(0);
    // What it lets go is ready and held: a slot is free.
    expect(statuses(run)).toEqual({ listens: "paused", deaf: "succeeded", waits: "queued", "below-listens": "blocked", "below-deaf": "queued" });
    expect(await run.snapshot()).toMatchObject({ status: "paused", requestedAction: null });
    await stage.clock.advance("1h");
    expect(statuses(run)).toMatchObject({ waits: "queued", "below-deaf": "queued" });
  });

  it("lists a node that cannot be paused at all, with the reason", async () => {
    const puppet = new Puppet();
    const inline = task({ name: "inline", executor: "inline" }, async (ctx) => await puppet.run(ctx));
    const one = definePipeline("one", {}, (p) => void p.add(inline));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(1);
    const { status, unpaused } = await run.pause();
    expect({ status, names: unpaused.map(({ name }) => name) }).toEqual({ status: "pausing", names: ["inline"] });
    expect(unpaused[0]?.reason).toContain("it runs inline");
    puppet.last.returns(1);
    await stage.clock.advance(1);
    expect(await run.snapshot()).toMatchObject({ status: "succeeded", pausedBy: null, requestedAction: null });
  });

  it("before anything has begun: paused at once, and nothing runs until it is resumed", async () => {
    let calls = 0;
    const counts = task({ name: "counts" }, () => (calls += 1));
    const two = definePipeline("two", {}, (p) => void p.add(counts, { name: "second", deps: [p.add(counts)] }));
    const puppet = new Puppet();
    const occupies = deaf(puppet);
    await using stage = await openStage({ pipelines: [two], tasks: [occupies], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(occupies);
    const run = await stage.controller.startRun(two);
    expect(await run.pause({ actor: "ada" })).toEqual({ status: "paused", unpaused: [] });
    puppet.last.returns();
    await stage.clock.advance("1h");
    const { reasons } = await stage.controller.explain(idOf(run, "counts"));
    expect(reasons).toMatchObject([{ kind: "run_hold", runId: run.id, by: "ada", text: expect.stringContaining("its run was paused by ada") }]);
    expect(calls).toBe(0);
    expect(statuses(run)).toEqual({ counts: "queued", second: "blocked" });
    await run.resume({ actor: "bob" });
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded", pausedBy: null });
    expect(calls).toBe(2);
    expect(await runSteps(run)).toEqual([
      "pending → running (user:start) by system",
      "running → paused (user:pause) by ada",
      "paused → running (user:resume) by bob",
      "running → succeeded (pipeline:verdict) by system",
    ]);
  });

  it("leaves other runs and tasks alone", async () => {
    const one = definePipeline("one", {}, (p) => void p.add(tick));
    const puppet = new Puppet();
    const occupies = deaf(puppet);
    await using stage = await openStage({ pipelines: [one], tasks: [tick, occupies], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(occupies);
    const held = await stage.controller.startRun(one);
    await held.pause();
    puppet.last.returns();
    const [other, handle] = [await stage.controller.startRun(one), await stage.controller.submit(tick)];
    expect(await other.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(await handle.result()).toBe(1);
    expect(statuses(held)).toEqual({ tick: "queued" });
  });

  it("holds a node that fails meanwhile back from its next attempt", async () => {
    const puppet = new Puppet();
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, async (ctx) => await puppet.run(ctx));
    const one = definePipeline("one", {}, (p) => void p.add(flaky));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(1);
    const paused = run.pause();
    puppet.last.throws(new Error("no"));
    expect(await settled(stage, paused)).toEqual({ status: "paused", unpaused: [] });
    await stage.clock.advance("1h");
    expect(statuses(run)).toEqual({ flaky: "queued" });
    await run.resume();
    await stage.clock.advance(1);
    puppet.last.returns(1);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });

  it("is overtaken by the last node's end: the run has ended, and nothing is held", async () => {
    const puppet = new Puppet();
    const single = definePipeline("single", {}, (p) => void p.add(deaf(puppet)));
    await using stage = await openStage({ pipelines: [single] });
    const run = await stage.controller.startRun(single);
    await stage.clock.advance(1);
    const paused = run.pause();
    puppet.last.returns(7);
    expect(await settled(stage, paused)).toEqual({ status: "succeeded", unpaused: [] });
    expect(await runSteps(run)).toEqual([
      "pending → running (user:start) by system",
      "running → pausing (user:pause) by user",
      "pausing → succeeded (pipeline:verdict) by system",
    ]);
  });

  it("during a fan-out: what a node lets go while the run is held stays in the queue", async () => {
    const puppet = new Puppet();
    let ran = 0;
    const counts = task({ name: "counts" }, () => (ran += 1));
    const fan = definePipeline("fan", {}, (p) => {
      const source = p.add(deaf(puppet));
      for (let index = 0; index < 50; index += 1) p.add(counts, { name: `n${index}`, deps: [source] });
    });
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    const paused = run.pause();
    puppet.last.returns(1);
    expect(await settled(stage, paused)).toEqual({ status: "paused", unpaused: [] });
    expect(run.summary().counts).toMatchObject({ succeeded: 1, queued: 50 });
    expect(ran).toBe(0);
    await run.resume();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(ran).toBe(50);
  });

  it("of a run that has ended or is being stopped is refused, and so is bad input", async () => {
    await using stage = await begun();
    const { run } = stage;
    await expect(call(run, "pause", [{ grace: 1 }])).rejects.toThrow('pause has no option "grace"');
    await expect(call(run, "pause", [{ timeout: Number.NaN }])).rejects.toThrow("pause: timeout");
    await expect(call(run, "resume", [{ timeout: 1 }])).rejects.toThrow('resume has no option "timeout"');
    await expect(call(run, "pause", [{ actor: "" }])).rejects.toThrow("pause: actor must be a non-empty text");
    await expect(run.can("reset" as "pause")).rejects.toThrow("can: verb");
    const stopped = run.stop({ grace: 0 });
    await expect(run.pause()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "stopping", requested: "pause" });
    await expect(run.resume()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "stopping", requested: "resume" });
    await settled(stage, stopped);
    await expect(run.pause()).rejects.toThrow(`run ${run.id} is failed: "pause" is not possible now. Possible: retry.`);
    expect(await run.can("resume")).toEqual({ allowed: false, reason: 'a run that is failed cannot be given "resume"' });
  });

  it("from within one of its own nodes would wait for ever, and is refused", async () => {
    const found: { run?: RunHandle; said?: string } = {};
    const asks = task({ name: "asks" }, async () => {
      await found.run?.pause().catch((error: Error) => void (found.said = error.message));
    });
    const puppet = new Puppet();
    const two = definePipeline("two", {}, (p) => void p.add(asks, { deps: [p.add(deaf(puppet))] }));
    await using stage = await openStage({ pipelines: [two] });
    found.run = await stage.controller.startRun(two);
    await stage.clock.advance(1);
    puppet.last.returns();
    expect(await found.run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(found.said).toContain('asked for "pause" of run');
  });
});

describe("run.resume", () => {
  it("wakes what the run has paused and lets go what it held", async () => {
    await using stage = await begun();
    const { run, puppet } = stage;
    await settled(stage, run.pause({ timeout: 10 }));
    expect(await run.resume({ actor: "bob", reason: "done" })).toMatchObject({ status: "running", pausedBy: null, requestedAction: null });
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ listens: "running", deaf: "running", waits: "queued" });
    puppet.last.returns();
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ deaf: "succeeded", waits: "succeeded", "below-deaf": "succeeded" });
    expect((await stage.controller.history(idOf(run, "listens"))).at(-1)).toMatchObject({
      to: "running",
      trigger: "user:resume",
      actor: "bob",
      reason: "done",
    });
  });

  it("never wakes what a person paused, before the run's pause or during it", async () => {
    const listens = task({ name: "listens" }, async (ctx) => await polling(stage.clock)(ctx));
    const three = definePipeline("three", {}, (p) => {
      for (const name of ["before", "during", "by-run", "queued"]) p.add(listens, { name });
    });
    await using stage = await openStage({ pipelines: [three], concurrency: { maxParallel: 3 } });
    const { controller } = stage;
    const run = await controller.startRun(three);
    await stage.clock.advance(1);
    await settled(stage, controller.pause(idOf(run, "before")));
    await controller.pause(idOf(run, "queued"));
    await settled(stage, run.pause());
    expect(await controller.pause(idOf(run, "during"))).toBe(true);
    await run.resume();
    await stage.clock.advance(20);
    expect(statuses(run)).toEqual({ before: "paused", during: "paused", "by-run": "running", queued: "paused" });
    expect(await run.snapshot()).toMatchObject({ status: "running" });
  });

  it("of a run that runs does nothing", async () => {
    await using stage = await listening();
    const { version } = await stage.run.snapshot();
    expect(await stage.run.resume()).toMatchObject({ status: "running", version });
  });

  it("of one node alone: the run says pausing while it runs, and paused again after", async () => {
    await using stage = await begun();
    const { run, controller, puppet } = stage;
    puppet.last.returns();
    await settled(stage, run.pause());
    await controller.resume(idOf(run, "listens"));
    await stage.clock.advance(1);
    expect(await run.snapshot()).toMatchObject({ status: "pausing", requestedAction: "pause" });
    await settled(stage, controller.pause(idOf(run, "listens")));
    expect(await run.snapshot()).toMatchObject({ status: "paused" });
    // By then it is the person's own.
    await run.resume();
    await stage.clock.advance(20);
    expect(statuses(run)["listens"]).toBe("paused");
  });
});

describe("pauses that meet other verbs", () => {
  it("two pauses are one, and the second asks again what runs on", async () => {
    await using stage = await begun();
    const { run, puppet } = stage;
    const both = [run.pause({ timeout: "1s" }), run.pause({ timeout: "1s" })];
    await stage.clock.advance("1s");
    expect(await Promise.all(both)).toMatchObject([
      { status: "pausing", unpaused: [{ name: "deaf" }] },
      { status: "pausing", unpaused: [{ name: "deaf" }] },
    ]);
    const third = run.pause();
    await stage.clock.advance(0);
    expect(statuses(run)["deaf"]).toBe("pausing");
    puppet.last.returns();
    expect(await settled(stage, third)).toMatchObject({ status: "paused", unpaused: [] });
    expect((await runSteps(run)).slice(1)).toEqual(["running → pausing (user:pause) by user", "pausing → paused (pause:all-reached) by system"]);
  });

  it("pause, resume, pause in one go: the last counts", async () => {
    await using stage = await listening();
    const { run } = stage;
    const asked = [run.pause(), run.resume(), run.pause()] as const;
    await stage.clock.advance(20);
    expect((await asked[2]).status).toBe("paused");
    expect(await Promise.all(asked)).toMatchObject([{}, {}, { status: "paused", unpaused: [] }]);
    expect(statuses(run)).toEqual({ listens: "paused", tick: "blocked" });
    await run.resume();
    await stage.clock.advance(20);
    expect(statuses(run)["listens"]).toBe("running");
  });

  it.each([
    [["pause", "resume"], "running"],
    [["pause", "resume", "pause", "resume"], "running"],
  ] as const)("%j while a node is still being launched: it is %s", async (verbs, last) => {
    const puppet = new Puppet();
    const one = definePipeline("one", {}, (p) => void p.add(deaf(puppet)));
    const store = new FaultStore(memoryStore());
    await using stage = await openStage({ pipelines: [one], store });
    const barrier = store.hold("commit");
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(0);
    const asked = verbs.map(async (verb) => await run[verb]());
    barrier.release();
    await stage.clock.advance(0);
    await Promise.all(asked);
    expect(statuses(run)["deaf"]).toBe(last);
    puppet.last.returns(1);
    await stage.clock.advance(0);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("%s of a run that is paused, and then resume: what was held ends, what was paused wakes up to end", async (verb, ended) => {
    await using stage = await listening();
    const { run } = stage;
    await settled(stage, run.pause());
    const halted = run[verb]();
    await expect(run.resume()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "stopping" });
    expect(await settled(stage, halted)).toMatchObject({ status: ended, pausedBy: null, requestedAction: null });
    expect(statuses(run)).toEqual({ listens: ended, tick: ended });
    expect((await runSteps(run)).slice(2)).toEqual([
      "pausing → paused (pause:all-reached) by system",
      `paused → stopping (user:${verb}) by user`,
      `stopping → ${ended} (pipeline:verdict) by system`,
    ]);
  });

  it.each(["stop", "cancel"] as const)("%s of a run that is pausing reaches every node", async (verb) => {
    await using stage = await begun();
    const { run } = stage;
    void run.pause({ timeout: "1h" });
    await stage.clock.advance(20);
    const halted = run[verb === "stop" ? "stop" : "cancel"]();
    expect(await settled(stage, halted, 10_000)).toMatchObject({ status: "failed" });
    expect(statuses(run)).toMatchObject({ deaf: "lost", waits: verb === "stop" ? "stopped" : "cancelled" });
  });

  it("a failure that cancels the rest ends the pause: what is paused wakes up to end", async () => {
    await using stage = await begun(failFast());
    const { run, puppet } = stage;
    await settled(stage, run.pause({ timeout: 10 }));
    puppet.last.throws(new Error("no"));
    await stage.clock.advance(20);
    expect(statuses(run)).toEqual({ listens: "cancelled", deaf: "failed", waits: "cancelled", "below-listens": "cancelled", "below-deaf": "cancelled" });
    expect((await runSteps(run)).slice(1)).toEqual([
      "running → pausing (user:pause) by user",
      "pausing → running (pipeline:fail-fast) by system",
      "running → failed (pipeline:verdict) by system",
    ]);
  });

  it("the controller closes while it is paused: all of it has ended, and nothing is left", async () => {
    const stage = await listening();
    const { run } = stage;
    await settled(stage, run.pause());
    const closed = stage.controller.close();
    await stage.clock.advance("1m");
    await closed;
    expect(statuses(run)).toEqual({ listens: "stopped", tick: "stopped" });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "stopped" });
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("a person's skip or force of a node in a paused run: what it lets go is held", async () => {
    await using stage = await begun();
    const { run, controller } = stage;
    await settled(stage, run.pause({ timeout: 10 }));
    await controller.skip(idOf(run, "waits"), { outcome: 1 });
    await controller.forceTransition(idOf(run, "listens"), "succeeded", { actor: "ada", reason: "done" });
    await stage.clock.advance(20);
    expect(statuses(run)).toMatchObject({ waits: "skipped", listens: "succeeded", "below-listens": "queued" });
    await run.resume();
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ "below-listens": "succeeded" });
  });
});
