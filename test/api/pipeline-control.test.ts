import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, TaskStatus } from "../../src/index.ts";
import { call, gate, HEARTBEAT, listen, openStage } from "./stage.ts";
import type { Gate, Stage } from "./stage.ts";

const tick = task({ name: "tick" }, () => 1);
const hold = task({ name: "hold" }, async (ctx) => {
  await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
  await ctx.checkpoint();
});
const fails = task({ name: "fails" }, () => {
  throw new Error("no");
});

const statuses = (run: RunHandle): readonly TaskStatus[] => run.graph().map(({ status }) => status);
const idOf = (run: RunHandle, name: string): string => run.graph().find((node) => node.name === name)?.taskId ?? "";

/** A run with a node in each status that a node can have while its run is under way. */
async function everyStatus(): Promise<Stage & { readonly run: RunHandle }> {
  const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
  const deaf = task({ name: "deaf" }, async (ctx) => {
    await Promise.race([gate().opened, new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()))]);
    await ctx.checkpoint();
  });
  const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1h" }) } }, () => {
    throw new Error("again");
  });
  const all = definePipeline("all", { onFailure: allSettled() }, (p) => {
    p.add(tick, { name: "succeeded" });
    p.add(tick, { name: "skipped", when: () => false });
    p.add(flaky, { name: "retry_wait" });
    const running = p.add(deaf, { name: "running" });
    p.add(busy, { name: "paused" });
    p.add(deaf, { name: "pausing" });
    p.add(busy, { name: "stopping" });
    p.add(tick, { name: "held" });
    p.add(tick, { name: "queued" });
    p.add(tick, { name: "blocked", deps: [running] });
  });
  const stage = await openStage({ pipelines: [all], concurrency: { maxParallel: 4 } });
  const { clock, controller } = stage;
  const run = await controller.startRun(all);
  await clock.advance(5);
  void controller.pause(idOf(run, "held"));
  void controller.pause(idOf(run, "paused"));
  await clock.advance(10);
  void controller.pause(idOf(run, "pausing"));
  void controller.stop(idOf(run, "stopping"), { grace: "1h" });
  await clock.advance(0);
  return { ...stage, run };
}

/** Two nodes beside each other: each returns when its gate opens and heeds nothing else. */
function deafAndHeld(deaf: Gate<void>, held: Gate<void>) {
  const [deafTask, heldTask] = [task({ name: "deaf" }, async () => await deaf.opened), task({ name: "held" }, async () => await held.opened)];
  return definePipeline("two", { onFailure: allSettled() }, (p) => {
    p.add(heldTask);
    p.add(deafTask);
  });
}

async function giveUpOnDeaf({ controller, clock }: Stage, run: RunHandle): Promise<void> {
  await clock.advance(1);
  const stopped = controller.stop(idOf(run, "deaf"), { grace: 0 });
  await clock.advance(0);
  await stopped;
}

describe("a run with nodes in every status", () => {
  it.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("ends on %s", async (verb, ended) => {
    await using stage = await everyStatus();
    const { run, clock } = stage;
    const before = Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));
    expect(before).toEqual({
      succeeded: "succeeded",
      skipped: "skipped",
      running: "running",
      paused: "paused",
      pausing: "pausing",
      retry_wait: "retry_wait",
      stopping: "stopping",
      held: "paused",
      queued: "queued",
      blocked: "blocked",
    });
    const asked = verb === "stop" ? run.stop({ actor: "ada", reason: "enough" }) : run.cancel("enough", { actor: "ada" });
    expect(await run.snapshot()).toMatchObject({ status: "running" });
    await clock.advance(0);
    expect(await run.snapshot()).toMatchObject({ status: "stopping", requestedAction: verb });
    await clock.advance(20);
    expect(await asked).toMatchObject({ status: "stopped", requestedAction: null, endedAt: expect.any(Number) });
    const after = Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));
    expect(after).toEqual({
      ...before,
      running: ended,
      paused: ended,
      pausing: ended,
      retry_wait: ended,
      stopping: "stopped",
      held: ended,
      queued: ended,
      blocked: ended,
    });
    const history = await stage.controller.history(idOf(run, "blocked"));
    expect(history.at(-1)).toMatchObject({ to: ended, trigger: `user:${verb}`, actor: "ada", reason: "enough" });
    expect(await run.stop()).toMatchObject({ status: "stopped" });
  });
});

describe("run.stop and run.cancel", () => {
  const slow = definePipeline("slow", {}, (p) => {
    const first = p.add(tick);
    const busy = p.add(hold, { deps: [first] });
    p.add(tick, { name: "last", deps: [busy] });
  });

  it("give the first wish the last word", async () => {
    await using stage = await openStage({ pipelines: [slow] });
    const run = await stage.controller.startRun(slow);
    await stage.clock.advance(1);
    const asked = [run.cancel("first"), run.stop(), run.cancel("again")];
    await stage.clock.advance(1);
    expect(await Promise.all(asked)).toMatchObject([{ status: "cancelled" }, { status: "cancelled" }, { status: "cancelled" }]);
    expect(statuses(run)).toEqual(["succeeded", "cancelled", "cancelled"]);
  });

  it("let a shorter grace tighten the deadline", async () => {
    const deaf = task({ name: "deaf" }, async () => await gate().opened);
    const one = definePipeline("one", {}, (p) => void p.add(deaf));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(1);
    const asked = run.stop({ grace: "1h" });
    void run.stop({ grace: "1s" });
    await stage.clock.advance("1s");
    expect(await asked).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual(["lost"]);
  });

  it("are refused once the run has ended otherwise, and harmless where it ended like that", async () => {
    const quick = definePipeline("quick", {}, (p) => void p.add(tick));
    await using stage = await openStage({ pipelines: [quick, slow] });
    const run = await stage.controller.startRun(quick);
    await run.wait({ timeout: "1s" });
    await expect(run.stop()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "succeeded", requested: "stop" });
    await expect(run.cancel()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "succeeded", requested: "cancel" });
    const other = await stage.controller.startRun(slow);
    expect(await other.cancel()).toMatchObject({ status: "cancelled" });
    expect(await other.cancel()).toMatchObject({ status: "cancelled" });
    await expect(other.stop()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "cancelled" });
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("refuse options that are none", async () => {
    await using stage = await openStage({ pipelines: [slow] });
    const run = await stage.controller.startRun(slow);
    await expect(call(run, "stop", [{ graze: 1 }])).rejects.toThrow('stop has no option "graze"');
    await expect(call(run, "cancel", [7])).rejects.toThrow("cancel: reason must be a non-empty text; found 7");
    await expect(run.cancel("no", { grace: -1 })).rejects.toThrow("cancel: grace");
    expect(await run.snapshot()).toMatchObject({ status: "running", requestedAction: null });
  });

  it("before anything has run: nothing runs", async () => {
    let calls = 0;
    const counts = task({ name: "counts" }, () => (calls += 1));
    const wide = definePipeline("wide", {}, (p) => {
      for (let index = 0; index < 50; index += 1) p.add(counts, { name: `node-${index}` });
    });
    await using stage = await openStage({ pipelines: [wide] });
    const run = await stage.controller.startRun(wide);
    expect(await run.stop()).toMatchObject({ status: "stopped" });
    expect(run.summary().counts).toMatchObject({ stopped: 50 });
    expect(calls).toBe(0);
  });
});

describe("run.wait", () => {
  it("gives up in time, and the run never notices", async () => {
    const one = definePipeline("one", {}, (p) => void p.add(hold));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    const waiting = run.wait({ timeout: "1s" }).catch((error: unknown) => error);
    await stage.clock.advance("1s");
    expect(await waiting).toMatchObject({ code: "WAIT_TIMEOUT", message: expect.stringContaining(`run ${run.id}: its end was not reached within`) });
    expect(stage.clock.pendingTimers).toBe(HEARTBEAT);
    const why = new Error("enough");
    await expect(run.wait({ timeout: "none", signal: AbortSignal.abort(why) })).rejects.toBe(why);
    expect(await run.snapshot()).toMatchObject({ status: "running" });
    await expect(call(run, "wait", [{}])).rejects.toThrow("wait needs a timeout");
    await expect(call(run, "wait", [{ timeout: "1s", for: "failed" }])).rejects.toThrow('wait has no option "for"');
  });
});

describe("the retry of a node", () => {
  it("while its run is under way counts for the run", async () => {
    let calls = 0;
    const second = task({ name: "second" }, () => {
      calls += 1;
      if (calls === 1) throw new Error("first");
      return calls;
    });
    const held = task({ name: "held" }, async () => await door.opened);
    const door = gate();
    const byGate = definePipeline("by-gate", { onFailure: allSettled() }, (p) => {
      const first = p.add(held);
      const node = p.add(second);
      p.add(tick, { name: "below", deps: [node] });
      p.add(tick, { name: "after", deps: [first] });
    });
    await using stage = await openStage({ pipelines: [byGate] });
    const live = await stage.controller.startRun(byGate);
    await stage.clock.advance(1);
    expect(statuses(live)).toEqual(["running", "failed", "cancelled", "blocked"]);
    expect(await stage.controller.can(idOf(live, "second"), "retry")).toEqual({ allowed: true, reason: null });
    expect(await stage.controller.retry(idOf(live, "second"), { actor: "ada" })).toMatchObject({ status: "queued", attempt: 1, maxAttempts: 2 });
    expect(await stage.controller.wait(idOf(live, "second"), { timeout: "1s" })).toMatchObject({ status: "succeeded", outcome: 2 });
    door.open();
    // What had ended below it stays as it is.
    expect(await live.wait({ timeout: "1s" })).toMatchObject({ status: "cancelled" });
    expect(statuses(live)).toEqual(["succeeded", "succeeded", "cancelled", "succeeded"]);
    expect(calls).toBe(2);
  });

  it("keeps the policies of the node, not only those of the task", async () => {
    const counted: number[] = [];
    const flaky = task({ name: "flaky" }, (ctx) => {
      counted.push(ctx.attempt);
      throw new Error("no");
    });
    const held = task({ name: "held" }, async () => await door.opened);
    const door = gate();
    const two = definePipeline("two", { onFailure: allSettled() }, (p) => {
      p.add(held);
      p.add(flaky, { retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } });
    });
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await stage.clock.advance("2m");
    expect(counted).toEqual([1, 2]);
    await stage.controller.retry(idOf(run, "flaky"));
    await stage.clock.advance("2m");
    expect(counted).toEqual([1, 2, 3]);
    door.open();
    await run.wait({ timeout: "1s" });
  });

  it("that is refused leaves the run as it was", async () => {
    const [never, door] = [gate(), gate()];
    const two = deafAndHeld(never, door);
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await giveUpOnDeaf(stage, run);
    await expect(stage.controller.retry(idOf(run, "deaf"))).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    door.open();
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
  });

  it("is possible again once its abandoned body has ended after all", async () => {
    const [late, door] = [gate(), gate()];
    const two = deafAndHeld(late, door);
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await giveUpOnDeaf(stage, run);
    late.open();
    await stage.clock.advance(0);
    expect(await stage.controller.can(idOf(run, "deaf"), "retry")).toEqual({ allowed: true, reason: null });
    expect(await stage.controller.retry(idOf(run, "deaf"))).toMatchObject({ status: "queued" });
    door.open();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });

  it("is refused once the run has ended, with the hint", async () => {
    const one = definePipeline("one", {}, (p) => void p.add(fails));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await run.wait({ timeout: "1s" });
    const retried = stage.controller.retry(idOf(run, "fails"));
    await expect(retried).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      current: "failed",
      requested: "retry",
      message: expect.stringContaining('(the run it belongs to has ended: run.retry({ from: "'),
    });
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
    expect(await stage.controller.get(idOf(run, "fails"))).toMatchObject({ status: "failed", attempt: 1 });
  });
});

describe("a verb on one node", () => {
  it("stops a node that waits for others: what needs it ends as its join says", async () => {
    const held = task({ name: "held" }, async () => await door.opened);
    const door = gate();
    const chain = definePipeline("chain", {}, (p) => {
      const first = p.add(held);
      const second = p.add(tick, { name: "second", deps: [first] });
      p.add(tick, { name: "third", deps: [second] });
      p.add(tick, { name: "anyway", deps: [second], join: "all_done" });
    });
    await using stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(1);
    expect(await stage.controller.stop(idOf(run, "second"))).toMatchObject({ status: "stopped", attempt: 0 });
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual(["running", "stopped", "cancelled", "succeeded"]);
    door.open();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "stopped" });
  });

  it("pauses and resumes a running node; the rest goes on", async () => {
    const busy = task({ name: "busy" }, async (ctx) => {
      for (let round = 0; round < 3; round += 1) {
        await ctx.checkpoint();
        await new Promise<void>((resolve) => void stage.clock.setTimer(10, resolve));
      }
    });
    const two = definePipeline("two", {}, (p) => {
      p.add(tick, { name: "below", deps: [p.add(busy)] });
      p.add(tick);
    });
    await using stage = await openStage({ pipelines: [two] });
    const run = await stage.controller.startRun(two);
    await stage.clock.advance(1);
    const paused = stage.controller.pause(idOf(run, "busy"));
    await stage.clock.advance("1h");
    expect(await paused).toBe(true);
    expect(statuses(run)).toEqual(["paused", "blocked", "succeeded"]);
    await stage.controller.resume(idOf(run, "busy"));
    await stage.clock.advance("1m");
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});

it("draws its nodes, edges and statuses", async () => {
  const diamond = definePipeline("diamond", {}, (p) => {
    const top = p.add(tick, { name: "top" });
    const left = p.add(tick, { name: "left", deps: [top] });
    const right = p.add(fails, { name: "right", deps: [top] });
    p.add(tick, { name: "bottom", deps: [left, right] });
  });
  await using stage = await openStage({ pipelines: [diamond] });
  const run = await stage.controller.startRun(diamond);
  expect(run).toMatchObject({ name: "diamond", id: expect.stringMatching(/^[0-9a-z]{16}$/) });
  expect(run.graph().map(({ name, task: of, deps }) => [name, of, deps])).toEqual([
    ["top", "tick", []],
    ["left", "tick", ["top"]],
    ["right", "fails", ["top"]],
    ["bottom", "tick", ["left", "right"]],
  ]);
  await run.wait({ timeout: "1s" });
  expect(run.graph().map(({ status }) => status)).toEqual(["succeeded", "succeeded", "failed", "cancelled"]);
  for (const { taskId, name } of run.graph()) expect(await stage.controller.get(taskId)).toMatchObject({ node: name, pipelineRunId: run.id });
});
