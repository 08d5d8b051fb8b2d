import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, task } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { call, gate, openStage } from "./stage.ts";

const tick = task({ name: "tick" }, () => 1);
const double = task({ name: "double" }, (_ctx, value: number) => value * 2);
const fails = task({ name: "fails" }, (): number => {
  throw new Error("no");
});
const held = task({ name: "held" }, async () => await gate<number>().opened);

const idOf = (run: RunHandle, name: string): string => run.graph().find((node) => node.name === name)?.taskId ?? "";
const statuses = (run: RunHandle): readonly string[] => run.graph().map(({ name, status }) => `${name}: ${status}`);

/** `first` runs until the test lets it go, `source` waits for it, `below` reads what `source` gave. */
const chain = definePipeline("chain", { onFailure: allSettled() }, (p) => {
  const first = p.add(held, { name: "first" });
  const source = p.add(tick, { name: "source", deps: [first] });
  p.add(double, { name: "below", deps: [source], args: (up) => [up(source)] });
});

/** `source` fails while `other` still runs: `below` waits for both. */
const broken = definePipeline("broken", { onFailure: allSettled() }, (p) => {
  const source = p.add(fails, { name: "source" });
  const other = p.add(held, { name: "other" });
  p.add(double, { name: "below", deps: [source, other], join: "all_done", args: (up) => [up(source) ?? -1] });
});

const ends = definePipeline("ends", { onFailure: allSettled() }, (p) => {
  p.add(tick);
  const failing = p.add(fails);
  p.add(double, { name: "below", deps: [failing], args: (up) => [up(failing)] });
});

describe("skip of a task on its own", () => {
  it("gives its outcome to whoever asks for the result", async () => {
    await using stage = await openStage({ tasks: [held, tick], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(held);
    const handle = await stage.controller.submit(tick);
    const skipped = await stage.controller.skip(handle.id, { actor: "ada", reason: "done by hand", outcome: 7 });
    expect(skipped).toMatchObject({ status: "skipped", skippedBy: "ada", outcomeMissing: null, failure: null, attempt: 0, overridden: false });
    expect(await handle.result()).toBe(7);
    expect((await stage.controller.get(handle.id)).outcome).toBe(7);
    expect((await stage.controller.history(handle.id)).at(-1)).toMatchObject({
      kind: "transition",
      from: "queued",
      to: "skipped",
      trigger: "user:skip",
      actor: "ada",
      reason: "done by hand",
    });
  });

  it("an outcome that is undefined is an outcome", async () => {
    await using stage = await openStage({ tasks: [held, tick], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(held);
    const handle = await stage.controller.submit(tick);
    await stage.controller.skip(handle.id, { outcome: undefined });
    expect(await handle.result()).toBeUndefined();
  });

  it("without an outcome result() throws TaskSkipped and names the person", async () => {
    await using stage = await openStage({ tasks: [held, tick], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(held);
    const handle = await stage.controller.submit(tick);
    await stage.controller.skip(handle.id, { actor: "ada" });
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_SKIPPED", message: expect.stringContaining("skipped by ada without an outcome") });
  });

  it("takes it out of the queue: its body never runs, and its slot goes to the next", async () => {
    const order: string[] = [];
    const door = gate();
    const first = task({ name: "first" }, async () => await door.opened);
    const named = task({ name: "named" }, (_ctx, name: string) => void order.push(name));
    await using stage = await openStage({ tasks: [first, named], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(first);
    const [unwanted, next] = [await stage.controller.submit(named, ["unwanted"]), await stage.controller.submit(named, ["next"])];
    await stage.controller.skip(unwanted.id);
    door.open();
    await next.result();
    await stage.clock.advance("1h");
    expect(order).toEqual(["next"]);
  });

  it("is audited as a revival where the task had failed; the attempt stays on record", async () => {
    await using stage = await openStage({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    await handle.wait({ timeout: "1s" });
    expect(await stage.controller.can(handle.id, "skip")).toEqual({ allowed: true, reason: null });
    expect(await stage.controller.skip(handle.id, { outcome: 3 })).toMatchObject({ status: "skipped", attempt: 1 });
    expect((await stage.controller.history(handle.id)).at(-1)).toMatchObject({ kind: "revive", from: "failed", to: "skipped" });
    expect(await stage.controller.attempts(handle.id)).toMatchObject([{ attempt: 1, endedAs: "failed", failure: { message: "no" } }]);
    expect(await handle.result()).toBe(3);
  });

  it("asked twice is asked once: the first outcome stays", async () => {
    await using stage = await openStage({ tasks: [held, tick], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(held);
    const handle = await stage.controller.submit(tick);
    const both = await Promise.all([stage.controller.skip(handle.id, { outcome: 1 }), stage.controller.skip(handle.id, { outcome: 2 })]);
    expect(both.map(({ outcome, statusVersion }) => [outcome, statusVersion])).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("refuses options that are none, and nothing has changed", async () => {
    await using stage = await openStage({ tasks: [held, tick], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(held);
    const { id } = await stage.controller.submit(tick);
    await expect(call(stage.controller, "skip", [id, { outcom: 1 }])).rejects.toThrow('skip has no option "outcom". Did you mean "outcome"?');
    await expect(call(stage.controller, "skip", [id, { actor: " " }])).rejects.toThrow("actor must be a non-empty text");
    await expect(call(stage.controller, "skip", [id, { force: true }])).rejects.toThrow('skip has no option "force"');
    await expect(stage.controller.skip("nobody")).rejects.toMatchObject({ code: "UNKNOWN_ID" });
    expect(await stage.controller.get(id)).toMatchObject({ status: "queued", statusVersion: 1 });
  });
});

describe("skip of a node before it has run", () => {
  it("lets those below go on with the outcome given", async () => {
    await using stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(1);
    await stage.controller.skip(idOf(run, "source"), { outcome: 21 });
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual(["first: running", "source: skipped", "below: succeeded"]);
    expect(await stage.controller.get(idOf(run, "below"))).toMatchObject({ outcome: 42 });
  });

  it("without an outcome up() there throws OutcomeMissing, which names the node and the person", async () => {
    await using stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(1);
    await stage.controller.skip(idOf(run, "source"), { actor: "ada" });
    await stage.clock.advance(1);
    const below = await stage.controller.get(idOf(run, "below"));
    expect(below).toMatchObject({ status: "failed", failure: { name: "OutcomeMissing", retryable: false } });
    expect(below.failure?.message).toContain('node "source" has no outcome to read: skipped by ada without an outcome');
  });

  it("is not run when its own turn would have come", async () => {
    await using stage = await openStage({ pipelines: [chain] });
    const run = await stage.controller.startRun(chain);
    await stage.clock.advance(1);
    await stage.controller.skip(idOf(run, "source"), { outcome: 1 });
    await stage.controller.forceTransition(idOf(run, "first"), "succeeded", { actor: "ada", reason: "done" });
    await stage.clock.advance("1m");
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(await stage.controller.attempts(idOf(run, "source"))).toEqual([]);
  });
});

describe("skip of a node that has failed", () => {
  it("in a live run: what waits below gets the outcome, and the run succeeds", async () => {
    await using stage = await openStage({ pipelines: [broken] });
    const run = await stage.controller.startRun(broken);
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual(["source: failed", "other: running", "below: blocked"]);
    await stage.controller.skip(idOf(run, "source"), { actor: "ada", outcome: 4 });
    await stage.controller.forceTransition(idOf(run, "other"), "succeeded", { actor: "ada", reason: "done" });
    await stage.clock.advance(1);
    expect(statuses(run)).toEqual(["source: skipped", "other: succeeded", "below: succeeded"]);
    expect(await stage.controller.get(idOf(run, "below"))).toMatchObject({ outcome: 8 });
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });

  it("in a run that has ended: the task is skipped, the run's verdict stands", async () => {
    const one = definePipeline("one", {}, (p) => void p.add(fails));
    await using stage = await openStage({ pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await run.wait({ timeout: "1s" });
    expect(await stage.controller.can(idOf(run, "fails"), "skip")).toEqual({ allowed: true, reason: null });
    expect(await stage.controller.skip(idOf(run, "fails"), { outcome: 1 })).toMatchObject({ status: "skipped" });
    expect(await run.snapshot()).toMatchObject({ status: "failed" });
    expect(run.summary()).toMatchObject({ status: "failed", counts: { skipped: 1, failed: 0 }, changedSinceEnd: ["fails"] });
  });

  it("in a run that has ended and is then retried: what was changed counts for the new verdict", async () => {
    await using stage = await openStage({ pipelines: [ends] });
    const run = await stage.controller.startRun(ends);
    await stage.clock.advance(1);
    expect(run.summary()).toMatchObject({ status: "failed", changedSinceEnd: [] });
    await stage.controller.forceTransition(idOf(run, "fails"), "succeeded", { actor: "ada", reason: "by hand", outcome: 2 });
    await stage.controller.forceTransition(idOf(run, "tick"), "failed", { actor: "ada", reason: "by hand" });
    expect(run.summary()).toMatchObject({ status: "failed", changedSinceEnd: ["fails", "tick"], firstFailure: { node: "tick" } });
    await run.retry();
    await stage.clock.advance(1);
    expect(run.summary()).toMatchObject({ status: "succeeded", counts: { succeeded: 3 }, changedSinceEnd: [] });
  });
});
