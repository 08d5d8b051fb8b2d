import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, failFast, quorum, task } from "../../src/index.ts";
import type { AggregationPolicy, RunHandle } from "../../src/index.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";
import { deaf, idOf, runSteps, statuses, tick } from "./run-stage.ts";
import { call, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const ADA = { actor: "ada", reason: "the disk is back" } as const;

/** Fails until it is mended; counts its calls. */
function breakable(name: string) {
  const state = { calls: 0, isBroken: true };
  const made = task({ name }, () => {
    state.calls += 1;
    if (state.isBroken) throw new Error(`${name} is broken`);
    return state.calls;
  });
  return Object.assign(state, { task: made });
}

/** top → middle (breaks) → bottom, beside a node of its own. */
async function broken(onFailure: AggregationPolicy = failFast()) {
  const counted = { top: 0, bottom: 0 };
  const top = task({ name: "top" }, () => (counted.top += 1));
  const middle = breakable("middle");
  const bottom = task({ name: "bottom" }, (_ctx, value: number) => {
    counted.bottom += 1;
    return value * 10;
  });
  const chain = definePipeline("chain", { onFailure }, (p) => {
    const first = p.add(top);
    const second = p.add(middle.task, { deps: [first] });
    p.add(bottom, { deps: [second], args: (up) => [up(second)] });
    p.add(tick, { name: "beside" });
  });
  const stage = await openStage({ pipelines: [chain] });
  const run = await stage.controller.startRun(chain);
  await stage.clock.advance(1);
  return { ...stage, run, middle, counted };
}

/** Two deaf nodes beside each other, and one below each. */
async function pair(onFailure: AggregationPolicy = allSettled()): Promise<Stage & { readonly run: RunHandle; readonly puppet: Puppet }> {
  const puppet = new Puppet();
  const waits = deaf(puppet);
  const two = definePipeline("pair", { onFailure }, (p) => {
    const [first, second] = [p.add(waits, { name: "first" }), p.add(waits, { name: "second" })];
    p.add(tick, { name: "below-first", deps: [first] });
    p.add(tick, { name: "below-second", deps: [second] });
  });
  const stage = await openStage({ pipelines: [two] });
  const run = await stage.controller.startRun(two);
  await stage.clock.advance(1);
  return { ...stage, run, puppet };
}

describe("run.retry of a run that has failed", () => {
  it("runs again what failed and what lies below, and reuses the outcomes of what succeeded", async () => {
    await using stage = await broken();
    const { run, middle, counted, controller } = stage;
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect(await run.can("retry")).toEqual({ allowed: true, reason: null });
    middle.isBroken = false;
    expect(await run.retry(ADA)).toMatchObject({ status: "running", endedAt: null, requestedAction: null });
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded", endedAt: expect.any(Number) });
    expect(statuses(run)).toEqual({ top: "succeeded", middle: "succeeded", bottom: "succeeded", beside: "succeeded" });
    expect({ ...counted, middle: middle.calls }).toEqual({ top: 1, middle: 2, bottom: 1 });
    expect(await controller.get(idOf(run, "bottom"))).toMatchObject({ outcome: 20 });
    expect(run.summary()).toMatchObject({ status: "succeeded", firstFailure: null, counts: { succeeded: 4 } });
    const retried = (await controller.history(idOf(run, "middle"))).filter(({ kind }) => kind === "revive");
    expect(retried).toMatchObject([{ from: "failed", to: "queued", trigger: "user:retry", ...ADA }]);
    const rerun = (await controller.history(idOf(run, "bottom"))).filter(({ kind }) => kind === "revive");
    expect(rerun).toMatchObject([{ from: "cancelled", to: "pending", trigger: "pipeline:rerun", ...ADA }]);
    expect(await controller.attempts(idOf(run, "middle"))).toHaveLength(2);
  });

  it("tells of each step, and run.events() goes through to the last end", async () => {
    await using stage = await broken();
    const { run, middle } = stage;
    middle.isBroken = false;
    await run.retry(ADA);
    await run.wait({ timeout: "1s" });
    expect(await runSteps(run)).toEqual([
      "pending → running (user:start) by system",
      "running → failed (pipeline:verdict) by system",
      "failed → running (user:retry) by ada",
      "running → succeeded (pipeline:verdict) by system",
    ]);
    const seen: string[] = [];
    for await (const event of run.events()) seen.push(event.type);
    expect(seen.filter((type) => type === "PipelineRunStatusChanged")).toHaveLength(4);
    expect(seen.at(-1)).toBe("PipelineRunStatusChanged");
  });

  it("can be done again and again, each time with a new verdict", async () => {
    await using stage = await broken();
    const { run, middle } = stage;
    for (let round = 2; round <= 4; round += 1) {
      await run.retry();
      expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
      expect(statuses(run)).toMatchObject({ top: "succeeded", middle: "failed", bottom: "cancelled" });
      expect(middle.calls).toBe(round);
    }
    expect(run.summary().firstFailure).toMatchObject({ node: "middle", affected: ["bottom"] });
  });

  it("asked twice at once is asked once", async () => {
    await using stage = await broken();
    const { run, middle } = stage;
    await Promise.all([run.retry(), run.retry(), run.retry()]);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    expect(middle.calls).toBe(2);
  });

  it("works out condition and arguments of a node that never ran, and keeps those of one that did", async () => {
    const asked: string[] = [];
    const second = breakable("second");
    const puppet = new Puppet();
    const waits = deaf(puppet);
    const pipeline = definePipeline("asks", {}, (p) => {
      const first = p.add(waits, { name: "first" });
      p.add(second.task, { deps: [first], when: () => (asked.push("second"), true) });
      p.add(tick, { name: "third", deps: [first, p.add(waits, { name: "slow" })], when: () => (asked.push("third"), true) });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    puppet.call(0).returns(1);
    await stage.clock.advance("10s");
    expect(statuses(run)).toEqual({ first: "succeeded", second: "failed", slow: "lost", third: "cancelled" });
    second.isBroken = false;
    await run.retry({ force: true });
    await stage.clock.advance(1);
    expect(asked).toEqual(["second"]);
    puppet.last.returns(1);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(asked).toEqual(["second", "third"]);
    puppet.call(1).returns();
    await stage.clock.advance(1);
  });

  it("lets a node whose own function threw have another try", async () => {
    const state = { isBroken: true };
    const pipeline = definePipeline("throws", {}, (p) => {
      const first = p.add(tick, { name: "first" });
      p.add(tick, {
        name: "second",
        deps: [first],
        when: () => {
          if (state.isBroken) throw new Error("no");
          return false;
        },
      });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    state.isBroken = false;
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(statuses(run)).toEqual({ first: "succeeded", second: "skipped" });
  });

  it("gives a node below a fresh budget of attempts", async () => {
    const first = breakable("first");
    const puppet = new Puppet();
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: 10, jitter: "none" }) } }, async (ctx) => await puppet.run(ctx));
    const pipeline = definePipeline("budget", { onFailure: allSettled() }, (p) => {
      p.add(flaky, { deps: [p.add(first.task)], join: "all_done" });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    puppet.last.returns();
    await stage.clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    await run.retry();
    await stage.clock.advance(1);
    expect(await stage.controller.get(idOf(run, "flaky"))).toMatchObject({ status: "running", attempt: 2, maxAttempts: 3 });
    puppet.last.throws(new Error("no"));
    await stage.clock.advance(20);
    puppet.last.returns();
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "failed", flaky: "succeeded" });
  });
});

describe("run.retry of a run that was stopped or cancelled", () => {
  it.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("%s: runs what had not ended", async (verb, ended) => {
    await using stage = await pair();
    const { run, puppet } = stage;
    puppet.call(0).returns(1);
    await stage.clock.advance(1);
    const halted = run[verb]();
    await stage.clock.advance(0);
    puppet.call(1).throws(new Error("stopped"));
    await stage.clock.advance(0);
    expect(await halted).toMatchObject({ status: ended });
    expect(statuses(run)).toEqual({ first: "succeeded", second: ended, "below-first": "succeeded", "below-second": ended });
    expect(await run.retry()).toMatchObject({ status: "running" });
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ second: "running", "below-second": "blocked" });
    puppet.last.returns(1);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(puppet.calls).toHaveLength(3);
  });
});

describe("run.retry with a lost node", () => {
  it("is refused while its body may still run, and nothing has changed; force runs it beside that body", async () => {
    await using stage = await pair();
    const { run, puppet, controller } = stage;
    puppet.call(0).throws(new Error("no"));
    const stopped = controller.stop(idOf(run, "second"), { grace: 0 });
    await stage.clock.advance(1);
    await stopped;
    const before = await run.wait({ timeout: 0 });
    const rows = run.graph();
    await expect(run.retry()).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    expect(await run.can("retry")).toMatchObject({ allowed: false, reason: expect.stringContaining("pass force") });
    expect(await run.snapshot()).toEqual(before);
    expect(run.graph()).toEqual(rows);
    await run.retry({ force: true });
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ first: "running", second: "running" });
    for (const each of puppet.calls) each.returns(2);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });

  it("needs no force once that body has ended after all", async () => {
    await using stage = await pair();
    const { run, puppet, controller } = stage;
    puppet.call(0).returns(1);
    const stopped = controller.stop(idOf(run, "second"), { grace: 0 });
    await stage.clock.advance(1);
    await stopped;
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    puppet.call(1).returns("late");
    await stage.clock.advance(1);
    await run.retry();
    await stage.clock.advance(1);
    puppet.last.returns(2);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });
});

describe("run.retry({ from })", () => {
  it("runs again a node that succeeded and all below it, with its new value", async () => {
    await using stage = await broken();
    const { run, middle, counted, controller } = stage;
    middle.isBroken = false;
    await run.retry();
    await run.wait({ timeout: "1s" });
    await run.retry({ from: "middle", ...ADA });
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect({ ...counted, middle: middle.calls }).toEqual({ top: 1, middle: 3, bottom: 2 });
    expect(await controller.get(idOf(run, "bottom"))).toMatchObject({ outcome: 30 });
    expect((await controller.history(idOf(run, "middle"))).filter(({ kind }) => kind === "revive").at(-1)).toMatchObject({
      from: "succeeded",
      to: "pending",
      trigger: "pipeline:rerun",
      ...ADA,
    });
  });

  it("refuses a name that no node has, with the nearest, and what is no text", async () => {
    await using stage = await broken();
    await expect(stage.run.retry({ from: "midle" })).rejects.toThrow('the pipeline has no node named "midle". Did you mean "middle"?');
    await expect(call(stage.run, "retry", [{ from: 7 }])).rejects.toThrow("retry: from must be a non-empty text; found 7");
    await expect(call(stage.run, "retry", [{ From: "top" }])).rejects.toThrow('retry has no option "From". Did you mean "from"?');
    await expect(call(stage.run, "retry", [{ force: "yes" }])).rejects.toThrow("retry: force");
    expect(await stage.run.snapshot()).toMatchObject({ status: "failed" });
  });

  it("refuses a node that has not ended", async () => {
    await using stage = await pair();
    const refused = stage.run.retry({ from: "first" });
    await expect(refused).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "running", requested: "retry" });
    await expect(refused).rejects.toThrow('node "first" has not ended, so the run cannot begin from it');
  });
});

it("a retried node that ends again does so before what goes on because of it", async () => {
  const none = task({ name: "none" }, () => undefined);
  const fails = breakable("fails");
  const pipeline = definePipeline("skips", { onFailure: allSettled() }, (p) => {
    const off = p.add(none, { name: "off", when: () => false });
    const top = p.add(fails.task);
    const middle = p.add(none, { name: "middle", deps: [off, top] });
    p.add(none, { name: "last", deps: [middle], join: "none_failed" });
  });
  await using stage = await openStage({ pipelines: [pipeline] });
  const run = await stage.controller.startRun(pipeline);
  await stage.clock.advance(0);
  expect(statuses(run)).toEqual({ off: "skipped", fails: "failed", middle: "cancelled", last: "cancelled" });
  const seen: string[] = [];
  const events = stage.controller.events({ types: ["TaskStatusChanged"] });
  // The failed one counts as succeeded now: "middle" has a skipped upstream left, and "last" takes that.
  await stage.controller.skip(idOf(run, "fails"), { outcome: 1 });
  await run.retry();
  await stage.clock.advance(0);
  await stage.controller.close();
  for await (const event of events) if (event.type === "TaskStatusChanged") seen.push(`${event.node} ${event.to}`);
  expect(seen.indexOf("middle skipped")).toBeGreaterThan(0);
  expect(seen.indexOf("middle skipped")).toBeLessThan(seen.indexOf("last queued"));
});

describe("two retries in one breath", () => {
  it("never let a node go whose upstream the other one takes back", async () => {
    const read: (number | undefined)[] = [];
    const give = task({ name: "give" }, (ctx) => ctx.attempt);
    const take = task({ name: "take" }, (_ctx, value: number) => value);
    const pipeline = definePipeline("pair", {}, (p) => {
      const above = p.add(give);
      const args = (up: (node: typeof above) => number): readonly [number] => {
        read.push(up(above));
        if (read.length === 1) throw new Error("not yet");
        return [up(above)];
      };
      p.add(take, { deps: [above], args });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(0);
    expect(run.summary().status).toBe("failed");
    const both = Promise.allSettled([run.retry(), run.retry({ from: "give" })]);
    await stage.clock.advance(0);
    expect((await both).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
    expect(read).toEqual([1, 1]);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});

describe("run.retry of what cannot be retried", () => {
  it("a run in which nothing went wrong: refused with what to do", async () => {
    const one = definePipeline("one", {}, (p) => void p.add(tick));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await run.wait({ timeout: "1s" });
    await expect(run.retry()).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      current: "succeeded",
      message: expect.stringContaining("name one with from"),
    });
    expect(await run.can("retry")).toMatchObject({ allowed: false });
  });

  it("a run that is being stopped: refused until it has ended", async () => {
    await using stage = await pair();
    const { run, puppet } = stage;
    const stopped = run.stop();
    await expect(run.retry()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "stopping" });
    for (const each of puppet.calls) each.throws(new Error("stopped"));
    await stage.clock.advance(0);
    await stopped;
    expect(await run.retry()).toMatchObject({ status: "running" });
  });

  it("a run whose failure is cancelling the rest: refused until it has ended", async () => {
    await using stage = await pair(failFast());
    const { run, puppet } = stage;
    puppet.call(0).throws(new Error("no"));
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ first: "failed", second: "stopping" });
    await expect(run.retry()).rejects.toThrow("what has not ended is being cancelled: wait until the run has ended");
    puppet.call(1).throws(new Error("cancelled"));
    await stage.clock.advance(1);
    expect(await run.retry()).toMatchObject({ status: "running" });
  });

  it("after the controller has closed", async () => {
    const stage = await broken();
    await stage.controller.close();
    await expect(stage.run.retry()).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
    expect(stage.run.summary()).toMatchObject({ status: "failed" });
  });
});

describe("run.retry while another node still runs", () => {
  it("runs again what failed and what was cancelled below it; the other goes on, and the verdict comes after both", async () => {
    await using stage = await pair();
    const { run, puppet } = stage;
    puppet.call(0).throws(new Error("no"));
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "failed", second: "running", "below-first": "cancelled", "below-second": "blocked" });
    const waiting = run.wait({ timeout: "1h" });
    expect(await run.retry()).toMatchObject({ status: "running" });
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "running", second: "running", "below-first": "blocked", "below-second": "blocked" });
    puppet.call(1).returns(1);
    await stage.clock.advance(1);
    expect(await run.snapshot()).toMatchObject({ status: "running" });
    puppet.last.returns(1);
    await stage.clock.advance(1);
    expect(await waiting).toMatchObject({ status: "succeeded" });
  });

  it("with nothing to run again does nothing", async () => {
    await using stage = await pair();
    expect(await stage.run.retry()).toMatchObject({ status: "running", version: 1 });
  });

  it("is refused where a node below has begun with what is to be replaced", async () => {
    const puppet = new Puppet();
    const first = breakable("first");
    const pipeline = definePipeline("below", { onFailure: allSettled() }, (p) => {
      p.add(tick, { name: "last", deps: [p.add(deaf(puppet), { name: "anyway", deps: [p.add(first.task)], join: "all_done" })] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "failed", anyway: "running", last: "blocked" });
    await expect(run.retry()).rejects.toThrow("anyway lies below what is to run again and has not ended: wait, or stop what runs first");
    expect(statuses(run)).toEqual({ first: "failed", anyway: "running", last: "blocked" });
    puppet.last.returns(1);
    await stage.clock.advance(1);
    first.isBroken = false;
    await run.retry();
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "succeeded", anyway: "running", last: "blocked" });
  });
});

describe("run.retry under each policy", () => {
  it("failFast: an old failure elsewhere cancels nothing, a new one does", async () => {
    const [first, second] = [breakable("first"), breakable("second")];
    const pipeline = definePipeline("both", { onFailure: failFast() }, (p) => {
      p.add(first.task);
      p.add(second.task);
      p.add(tick, { name: "third", deps: [p.add(tick)] });
    });
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const run = await stage.controller.startRun(pipeline);
    await run.wait({ timeout: "1s" });
    expect(statuses(run)).toEqual({ first: "failed", second: "cancelled", tick: "cancelled", third: "cancelled" });
    first.isBroken = false;
    await run.retry({ from: "first" });
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "cancelled" });
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual({ first: "succeeded", second: "failed", tick: "cancelled", third: "cancelled" });
  });

  it("quorum: reached after a retry, it forgives; what it cancelled runs again", async () => {
    const [first, second] = [breakable("first"), breakable("second")];
    const pipeline = definePipeline("most", { onFailure: quorum(3) }, (p) => {
      p.add(first.task);
      p.add(second.task);
      p.add(tick, { name: "third" });
      p.add(tick, { name: "fourth" });
    });
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const run = await stage.controller.startRun(pipeline);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    expect(statuses(run)).toEqual({ first: "failed", second: "failed", third: "cancelled", fourth: "cancelled" });
    first.isBroken = false;
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(statuses(run)).toEqual({ first: "succeeded", second: "failed", third: "succeeded", fourth: "succeeded" });
    // Forgiven is not mended: that, too, can be run again.
    second.isBroken = false;
    await run.retry();
    await run.wait({ timeout: "1s" });
    expect(run.summary().counts).toMatchObject({ succeeded: 4 });
  });

  it("allSettled: each that failed runs again", async () => {
    await using stage = await broken(allSettled());
    stage.middle.isBroken = false;
    await stage.run.retry();
    expect(await stage.run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });
});

describe("run.retry after a person's hand", () => {
  it("a node that failed and was skipped with an outcome: what lies below runs with it", async () => {
    await using stage = await broken();
    const { run, controller, counted, middle } = stage;
    await controller.skip(idOf(run, "middle"), { outcome: 5, actor: "ada" });
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(statuses(run)).toMatchObject({ middle: "skipped", bottom: "succeeded" });
    expect(await controller.get(idOf(run, "bottom"))).toMatchObject({ outcome: 50 });
    expect({ ...counted, middle: middle.calls }).toEqual({ top: 1, middle: 1, bottom: 1 });
  });

  it("skipped without an outcome, then forced with one: the node that missed it has another try", async () => {
    await using stage = await broken();
    const { run, controller } = stage;
    await controller.skip(idOf(run, "middle"), { actor: "ada" });
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    const bottom = await controller.get(idOf(run, "bottom"));
    expect(bottom.failure?.message).toContain('node "middle" has no outcome to read: skipped by ada without an outcome');
    expect(run.summary().firstFailure).toMatchObject({ node: "bottom" });
    await controller.forceTransition(idOf(run, "middle"), "succeeded", { actor: "bob", reason: "by hand", outcome: 6 });
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(await controller.get(idOf(run, "bottom"))).toMatchObject({ outcome: 60 });
  });

  it("forced to succeeded in a run that has ended: below runs on the retry", async () => {
    await using stage = await broken();
    const { run, controller } = stage;
    await controller.forceTransition(idOf(run, "middle"), "succeeded", { actor: "bob", reason: "by hand", outcome: 7 });
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
    await run.retry();
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(await controller.get(idOf(run, "bottom"))).toMatchObject({ outcome: 70 });
  });
});

describe("run.retry of a run that is paused", () => {
  it("holds what is to run again until the run is resumed", async () => {
    await using stage = await pair();
    const { run, puppet } = stage;
    puppet.call(0).throws(new Error("no"));
    await stage.clock.advance(1);
    const paused = run.pause({ timeout: 10 });
    await stage.clock.advance(10);
    await paused;
    await run.retry();
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual({ first: "queued", second: "running", "below-first": "blocked", "below-second": "blocked" });
    await run.resume();
    await stage.clock.advance(1);
    expect(statuses(run)).toMatchObject({ first: "running" });
    for (const each of puppet.calls) each.returns(1);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });
});

it("a run can be paused, resumed and stopped after its retry", async () => {
  const listens = task({ name: "listens" }, async (ctx) => {
    if (ctx.attempt === 1) throw new Error("no");
    await polling(stage.clock)(ctx);
  });
  const one = definePipeline("one", {}, (p) => void p.add(listens));
  await using stage = await openStage({ pipelines: [one] });
  const run = await stage.controller.startRun(one);
  await run.wait({ timeout: "1s" });
  await run.retry();
  await stage.clock.advance(1);
  const paused = run.pause();
  await stage.clock.advance(20);
  expect(await paused).toMatchObject({ status: "paused" });
  await run.resume();
  await stage.clock.advance(1);
  const stopped = run.stop();
  await stage.clock.advance(20);
  expect(await stopped).toMatchObject({ status: "stopped" });
});
