import { describe, expect, it } from "vitest";
import { ConfigurationError, definePipeline, memoryStore, task } from "../../src/index.ts";
import type { AtOnce, PipelineBuilder, PipelineNode } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { call, callNow, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const tick = task({ name: "tick" }, () => 1);

/** What becomes of a run whose build does this. Nothing is stored of one that is refused. */
async function refusal(build: (p: PipelineBuilder) => unknown): Promise<unknown> {
  const pipeline = definePipeline("p", {}, (p): AtOnce => Reflect.apply(build, undefined, [p]) as AtOnce);
  await using stage = await openStage({ pipelines: [pipeline], store: memoryStore({ maxValueBytes: 1_000 }) });
  const problem = await stage.controller.startRun(pipeline).then(
    () => "started",
    (error: unknown) => error,
  );
  expect(await stage.controller.list()).toMatchObject({ items: [] });
  return problem;
}

/** As a caller without types may. */
function addTo(p: PipelineBuilder, ...args: readonly unknown[]): unknown {
  return callNow(p, "add", args);
}

describe("a build that is refused", () => {
  it.each<[string, (p: PipelineBuilder) => unknown]>([
    ['two nodes are named "tick"', (p) => [p.add(tick), p.add(tick)]],
    ['two nodes are named "a"', (p) => [p.add(tick, { name: "a" }), p.add(echo, { name: "a" })]],
    ["a node's name must not be empty", (p) => addTo(p, tick, { name: " " })],
    ["a node's name must be text; found 7", (p) => addTo(p, tick, { name: 7 })],
    ["a node's name must be printable on one line", (p) => addTo(p, tick, { name: "a\u0007" })],
    ["a node's name must have at most 200 characters", (p) => addTo(p, tick, { name: "x".repeat(201) })],
    ['p.add takes a task made by task(...) as its first argument; found "tick"', (p) => addTo(p, "tick")],
    ["p.add takes a task made by task(...)", (p) => addTo(p, undefined)],
    ["p.add takes a task made by task(...)", (p) => addTo(p, { name: "x", run() {} })],
    ['node of task "tick" has no option "dependencies"', (p) => addTo(p, tick, { dependencies: [] })],
    ["It belongs one level deeper: retry: { maxAttempts }.", (p) => addTo(p, tick, { maxAttempts: 3 })],
    ['node of task "tick" has no option "dep". Did you mean "deps"?', (p) => addTo(p, tick, { dep: [] })],
    ['node "tick": deps must be a list of nodes; found "echo"', (p) => addTo(p, tick, { deps: "echo" })],
    ['node "tick": deps must be a list of nodes', (p) => addTo(p, tick, { deps: p.add(echo) })],
    [
      'node "tick": each of deps must be a node that p.add or p.map gave in this very build; found "echo"',
      (p) => [p.add(echo), addTo(p, tick, { deps: ["echo"] })],
    ],
    [
      'node "tick": each of deps must be a node that p.add or p.map gave in this very build; found { name: "echo" }',
      (p) => [p.add(echo), addTo(p, tick, { deps: [{ name: "echo" }] })],
    ],
    ['node "tick" names "echo" twice in its deps', (p) => ((node) => p.add(tick, { deps: [node, node] }))(p.add(echo))],
    ['node "tick": join must be one of "all_succeeded"', (p) => addTo(p, tick, { join: "all" })],
    ['node "tick": onUpstreamFailure must be one of "cancel", "skip"; found "ignore"', (p) => addTo(p, tick, { onUpstreamFailure: "ignore" })],
    ['node "echo": args must be the tuple of arguments, or a function that returns it; found "a"', (p) => addTo(p, echo, { args: "a" })],
    ['node "echo": when must be a function that returns true or false; found true', (p) => addTo(p, echo, { when: true })],
    ['task "tick": retry.maxAttempts', (p) => addTo(p, tick, { retry: { maxAttempts: 0 } })],
    ['task "tick": timeout must be a plain object', (p) => addTo(p, tick, { timeout: "1s" })],
    ["build returned a promise. It must add its nodes at once", async (p) => p.add(tick)],
    ["build returned a promise", async () => await Promise.reject(new Error("nobody's"))],
    ["args[0].callback", (p) => p.add(echo, { args: [{ callback: () => 1 }] })],
    ["limit", (p) => p.add(echo, { args: ["x".repeat(2_000)] })],
  ])("%s", async (message, build) => {
    const problem = await refusal(build);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
  });

  it("is refused with the error that it threw itself", async () => {
    const error = new RangeError("no such day");
    expect(
      await refusal(() => {
        throw error;
      }),
    ).toBe(error);
  });

  it("leaves no task behind: the next build may use the name", async () => {
    const first = task({ name: "same" }, () => 1);
    const second = task({ name: "same" }, () => 2);
    const picky = definePipeline("picky", {}, (p, fails: boolean) => {
      p.add(fails ? first : second);
      if (fails) throw new Error("no");
    });
    await using stage = await openStage({ pipelines: [picky] });
    await expect(stage.controller.startRun(picky, [true])).rejects.toThrow("no");
    const run = await stage.controller.startRun(picky, [false]);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded" });
  });
});

it("refuses two tasks of one name, in one build and beside the registered ones", async () => {
  const other = task({ name: "tick" }, () => 2);
  const both = definePipeline("both", {}, (p) => {
    p.add(tick, { name: "a" });
    p.add(other, { name: "b" });
  });
  const another = definePipeline("another", {}, (p) => void p.add(other));
  await using stage = await openStage({ tasks: [tick], pipelines: [both, another] });
  await expect(stage.controller.startRun(both)).rejects.toThrow('two different tasks are named "tick"');
  await expect(stage.controller.startRun(another)).rejects.toThrow('two different tasks are named "tick"');
  expect(await stage.controller.list()).toMatchObject({ items: [] });
});

it("refuses a node of another build, also of the same pipeline", async () => {
  const kept: PipelineNode[] = [];
  const keeps = definePipeline("keeps", {}, (p) => {
    const node = p.add(tick);
    p.add(echo, { deps: kept.length === 0 ? [node] : [...kept] });
    kept.push(node);
  });
  await using stage = await openStage({ pipelines: [keeps] });
  await (await stage.controller.startRun(keeps)).wait({ timeout: "1s" });
  await expect(stage.controller.startRun(keeps)).rejects.toThrow('node "echo": each of deps must be a node that p.add or p.map gave in this very build');
});

it("refuses nodes that are added when build has returned", async () => {
  const builders: PipelineBuilder[] = [];
  const leaks = definePipeline("leaks", {}, (p) => {
    builders.push(p);
    p.add(tick);
  });
  await using stage = await openStage({ pipelines: [leaks] });
  const run = await stage.controller.startRun(leaks);
  expect(() => builders[0]?.add(echo)).toThrow("p.add was called after the pipeline was built. Add all nodes before build returns; it must not be async.");
  await run.wait({ timeout: "1s" });
  expect(run.graph()).toHaveLength(1);
});

it("runs a pipeline without nodes: it succeeds at once", async () => {
  const empty = definePipeline("empty", {}, () => {});
  await using stage = await openStage({ pipelines: [empty] });
  const run = await stage.controller.startRun(empty);
  expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded", nodeCount: 0, endedAt: stage.clock.now() });
  expect(run.summary()).toMatchObject({ total: 0, firstFailure: null });
  expect(run.graph()).toEqual([]);
  const types = [];
  for await (const event of run.events()) types.push(event.type);
  expect(types).toEqual(["PipelineRunStatusChanged", "PipelineRunStatusChanged"]);
});

it("builds anew for each run, with its parameters", async () => {
  const wide = definePipeline("wide", {}, (p, count: number, label: string = "part") => {
    for (let index = 0; index < count; index += 1) p.add(tick, { name: `${label}-${index}` });
  });
  await using stage = await openStage({ pipelines: [wide] });
  const runs = [await stage.controller.startRun(wide, [2]), await stage.controller.startRun(wide, [3, "piece"]), await stage.controller.startRun("wide", [0])];
  expect(runs.map((run) => run.graph().map(({ name }) => name))).toEqual([["part-0", "part-1"], ["piece-0", "piece-1", "piece-2"], []]);
});

it.each([
  [[[], { prio: 1 }], 'startRun has no option "prio". Did you mean "priority"?'],
  [[[], { priority: 0.5 }], "startRun: priority must be an integer; found 0.5"],
  [["day"], '"only": the arguments must be given as an array'],
])("refuses to start a run with %o", async (rest, message) => {
  const only = definePipeline("only", {}, (p) => void p.add(tick));
  await using stage = await openStage({ pipelines: [only] });
  await expect(call(stage.controller, "startRun", [only, ...rest])).rejects.toMatchObject({
    code: "CONFIGURATION",
    message: expect.stringContaining(message),
  });
});

it("gives the run's priority to its nodes", async () => {
  const only = definePipeline("only", {}, (p) => void p.add(tick));
  await using stage = await openStage({ pipelines: [only], concurrency: { defaultPriority: 3 } });
  const runs = [await stage.controller.startRun(only), await stage.controller.startRun(only, [], { priority: -1 })];
  const nodes = await Promise.all(runs.map(async (run) => await stage.controller.get(run.graph()[0]?.taskId ?? "")));
  expect(nodes.map(({ priority }) => priority)).toEqual([3, -1]);
  expect(await runs[1]?.snapshot()).toMatchObject({ priority: -1, name: "only", nodeCount: 1 });
});

it("ends a run in its row when its event says", async () => {
  /** Each look at it finds it later. */
  class Hurried extends FakeClock {
    #looks = 0;
    override now(): number {
      this.#looks += 1;
      return super.now() + this.#looks;
    }
  }
  const one = definePipeline("one", {}, (p) => {
    p.add(task({ name: "one" }, () => 1));
  });
  await using stage = await openStage({ pipelines: [one], clock: new Hurried() });
  const times: number[] = [];
  const run = await stage.controller.startRun(one);
  const { startedAt, endedAt } = await run.wait({ timeout: "none" });
  for await (const event of run.events()) if (event.type === "PipelineRunStatusChanged") times.push(event.at);
  expect([startedAt, endedAt]).toEqual([times[0], times.at(-1)]);
});
