import { describe, expect, it } from "vitest";
import { allSettled, constant, definePipeline, task } from "../../src/index.ts";
import type { PipelineBuilder, PipelineNode, RunHandle, TaskSnapshot } from "../../src/index.ts";
import { callNow, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

const ran: string[] = [];
const echo = task({ name: "echo", retry: { maxAttempts: 3, backoff: constant({ delay: 0 }) } }, (ctx, value?: unknown) => {
  ran.push(ctx.name);
  return value;
});

/** As a caller without types may. */
function addTo(p: PipelineBuilder, ...args: readonly unknown[]): unknown {
  return callNow(p, "add", args);
}

async function nodesOf(stage: Stage, run: RunHandle): Promise<Readonly<Record<string, TaskSnapshot>>> {
  const snapshots = await Promise.all(run.graph().map(async ({ taskId }) => await stage.controller.get(taskId)));
  return Object.fromEntries(snapshots.map((snapshot) => [snapshot.node ?? "", snapshot]));
}

describe("a when or args that cannot be worked out", () => {
  type Odd = (p: PipelineBuilder, first: PipelineNode<"first", unknown>, other: PipelineNode) => unknown;
  const cases: readonly (readonly [string, Odd, string])[] = [
    ["when throws", (p, first) => p.add(echo, { name: "odd", deps: [first], when: () => boom() }), "boom"],
    [
      "when returns no boolean",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], when: () => 1 }),
      "when must return true or false, at once; it returned 1",
    ],
    [
      "when returns nothing",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], when: () => undefined }),
      "when must return true or false, at once; it returned undefined",
    ],
    [
      "when is async",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], when: async () => true }),
      "when must return true or false, at once; it returned Promise",
    ],
    [
      "when is async and rejects",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], when: async () => boom() }),
      "when must return true or false, at once; it returned Promise",
    ],
    ["args throws", (p, first) => p.add(echo, { name: "odd", deps: [first], args: () => boom() }), "boom"],
    [
      "args returns no tuple",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], args: () => "a" }),
      'args must return the tuple of arguments as an array; it returned "a"',
    ],
    [
      "args is async",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], args: async () => [1] }),
      "args must return the tuple of arguments as an array; it returned Promise",
    ],
    [
      "args is async and rejects",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], args: async () => boom() }),
      "args must return the tuple of arguments as an array; it returned Promise",
    ],
    [
      "up of a node that is no dependency",
      (p, first, other) => addTo(p, echo, { name: "odd", deps: [first], args: (up: (node: PipelineNode) => unknown) => [up(other)] }),
      'node "odd" reads "other", which is not one of its deps. Add it there.',
    ],
    [
      "up of a node that does not exist",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], when: (up: (node: unknown) => unknown) => up({ name: "frist" }) }),
      'the pipeline has no node named "frist". Did you mean "first"?',
    ],
    [
      "up of no node at all",
      (p, first) => addTo(p, echo, { name: "odd", deps: [first], args: (up: (node: unknown) => unknown) => [up(undefined)] }),
      "up takes a node of this pipeline; found undefined",
    ],
  ];

  it.each(cases)("fails that node alone, at once and for good: %s", async (_what, add, message) => {
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      const first = p.add(echo, { name: "first", args: [1] });
      const other = p.add(echo, { name: "other", args: [2] });
      add(p, first, other);
      p.add(echo, { name: "sibling", deps: [first], args: [3] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    const { odd, ...others } = await nodesOf(stage, run);
    expect(Object.values(others).map(({ node, status }) => [node, status])).toEqual([
      ["first", "succeeded"],
      ["other", "succeeded"],
      ["sibling", "succeeded"],
    ]);
    expect(odd).toMatchObject({ status: "failed", attempt: 1, failure: { kind: "exception", retryable: false, message: expect.stringContaining(message) } });
    const history = await stage.controller.history(odd?.taskId ?? "");
    expect(history.map(({ to }) => to)).toEqual(["blocked", "queued", "starting", "failed"]);
    // One commit: all at the same instant, and nobody saw a step of it alone.
    expect(new Set(history.slice(1).map(({ at }) => at)).size).toBe(1);
    expect(run.summary().firstFailure).toMatchObject({ node: "odd", affected: [] });
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("takes no slot for it", async () => {
    ran.length = 0;
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      for (let index = 0; index < 5; index += 1) p.add(echo, { name: `odd-${index}`, when: () => boom() });
      p.add(echo, { name: "fine", args: [1] });
    });
    await using stage = await openStage({ pipelines: [pipeline], concurrency: { maxParallel: 1 } });
    const run = await stage.controller.startRun(pipeline);
    await run.wait({ timeout: "1s" });
    expect(ran).toEqual(["echo"]);
    expect(run.summary().counts).toMatchObject({ failed: 5, succeeded: 1 });
  });
});

describe("when", () => {
  it("false skips the node and what needs it, and the run succeeds", async () => {
    const pipeline = definePipeline("p", {}, (p) => {
      const first = p.add(echo, { name: "first", args: [0] });
      const second = p.add(echo, { name: "second", deps: [first], when: (up) => up(first) !== 0, args: (up) => [up(first)] });
      const third = p.add(echo, { name: "third", deps: [second] });
      p.add(echo, { name: "last", deps: [third, first], join: "none_failed", args: (up) => [[up(third), up(first)]] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    const nodes = await nodesOf(stage, run);
    expect(nodes["second"]).toMatchObject({ status: "skipped", failure: { kind: "condition_false", message: "its condition (when) was false" } });
    expect(nodes["third"]).toMatchObject({
      status: "skipped",
      failure: { kind: "condition_false", message: expect.stringContaining("what it depends on was skipped: second (skipped, ") },
    });
    expect(nodes["last"]).toMatchObject({ status: "succeeded", outcome: [undefined, 0] });
    expect((await stage.controller.history(nodes["second"]?.taskId ?? "")).map(({ to, trigger }) => [to, trigger])).toEqual([
      ["blocked", "pipeline:waits"],
      ["skipped", "pipeline:condition-false"],
    ]);
  });

  it("is asked once, before the arguments, and not at all where the join is not met", async () => {
    const asked: string[] = [];
    const fails = task({ name: "fails" }, () => boom());
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      const good = p.add(echo, { name: "good", when: () => asked.push("good: when") > 0 });
      const bad = p.add(fails);
      const log = (word: string): boolean => asked.push(word) > 0;
      p.add(echo, { name: "below-good", deps: [good], when: () => log("below-good: when"), args: () => [log("below-good: args")] });
      p.add(echo, { name: "unwanted", deps: [good], when: () => !log("unwanted: when"), args: () => [log("unwanted: args")] });
      p.add(echo, { name: "below-bad", deps: [bad], when: () => log("below-bad: when"), args: () => [log("below-bad: args")] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await run.wait({ timeout: "1s" });
    expect(asked).toEqual(["good: when", "below-good: when", "below-good: args", "unwanted: when"]);
  });

  it("may stop the whole run, and then its answer no longer counts", async () => {
    ran.length = 0;
    const runs: RunHandle[] = [];
    const pipeline = definePipeline("p", {}, (p) => {
      const first = p.add(echo, { name: "first", args: [1] });
      const stop = (): boolean => {
        void runs[0]?.stop({ reason: "seen enough" });
        return true;
      };
      p.add(echo, { name: "second", deps: [first], when: stop });
      p.add(echo, { name: "third", deps: [first] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    runs.push(await stage.controller.startRun(pipeline));
    const [run] = runs;
    expect(await run?.wait({ timeout: "1s" })).toMatchObject({ status: "stopped" });
    expect(run?.graph().map(({ status }) => status)).toEqual(["succeeded", "stopped", "stopped"]);
    expect(ran).toEqual(["echo"]);
  });
});

describe("values between nodes", () => {
  it("flow by reference in memory, also those that cannot be stored", async () => {
    const shared = { callback: () => 7, rows: [1, 2] };
    const seen: unknown[] = [];
    const make = task({ name: "make" }, () => shared);
    const use = task({ name: "use" }, (_ctx, value: typeof shared) => {
      seen.push(value);
      return value.callback();
    });
    const pipeline = definePipeline("p", {}, (p) => {
      const made = p.add(make);
      p.add(use, { deps: [made], args: (up) => [up(made)] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
    expect(seen).toEqual([shared]);
    expect(seen[0]).toBe(shared);
    expect(await nodesOf(stage, run)).toMatchObject({
      make: { outcomeMissing: expect.stringContaining("outcome.callback") },
      use: { status: "succeeded", outcome: 7 },
    });
  });

  it("are read by name through ctx.upstream as well, direct upstreams only", async () => {
    const reads = task({ name: "reads" }, async (ctx, name: string) => await ctx.upstream(name));
    const pipeline = definePipeline("p", { onFailure: allSettled() }, (p) => {
      const first = p.add(echo, { name: "first", args: ["value"] });
      const second = p.add(reads, { name: "second", deps: [first], args: ["first"] });
      p.add(reads, { name: "third", deps: [second], args: ["first"] });
    });
    await using stage = await openStage({ pipelines: [pipeline] });
    const run = await stage.controller.startRun(pipeline);
    await run.wait({ timeout: "1s" });
    expect(await nodesOf(stage, run)).toMatchObject({
      second: { status: "succeeded", outcome: "value" },
      third: { status: "failed", failure: { message: 'node "third" reads "first", which is not one of its deps. Add it there.' } },
    });
  });
});

function boom(): never {
  throw new Error("boom");
}
