import { beforeEach, describe, expect, test } from "vitest";
import { ConcurrencyConflict, StoreError } from "../../src/core/errors.ts";
import { buildGraph } from "../../src/core/graph.ts";
import type { Join } from "../../src/core/join.ts";
import { allSettled, failFast } from "../../src/core/policies/aggregation.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import type { TaskBody } from "../../src/core/ports/executor.ts";
import type { PipelineDriver } from "../../src/runtime/pipeline-driver.ts";
import type { NodePlan, RunPlan } from "../../src/runtime/run-plan.ts";
import { Puppet } from "./support/puppet.ts";
import { ADA, NOTHING_LEFT, Rig, submission } from "./support/rig.ts";

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.open();
});

interface Node {
  readonly run?: TaskBody;
  readonly deps?: readonly string[];
  readonly join?: Join;
  readonly args?: NodePlan["args"];
  readonly when?: NodePlan["when"];
}

/** A plan made by hand: each node by its name. */
function planOf(nodes: Readonly<Record<string, Node>>, aggregation: AggregationPolicy = failFast()): RunPlan {
  const entries = Object.entries(nodes);
  const specs = entries.map(([name, { deps = [], join = "all_succeeded" }]) => ({
    name,
    deps,
    join,
    onUpstreamFailure: "cancel" as const,
    kind: "task" as const,
  }));
  const plans = entries.map(([name, { run = () => name, args = [], when = null }]) => ({
    name,
    definition: submission(run).definition,
    priority: 0,
    args,
    when,
  }));
  return { pipeline: "by-hand", params: [], graph: buildGraph(specs), nodes: plans, aggregation, priority: 0 };
}

const statuses = (driver: PipelineDriver): readonly string[] => driver.cells.map(({ snapshot }) => snapshot.status);

describe("a run that has ended", () => {
  test("is forgotten, and nothing of it is left", async () => {
    const driver = await rig.engine.startRun(planOf({ a: {}, b: { deps: ["a"] } }));
    expect(rig.engine.run(driver.run.runId)).toBe(driver);
    expect(await driver.ended()).toMatchObject({ status: "succeeded", version: 2 });
    expect(rig.engine.run(driver.run.runId)).toBeUndefined();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("has told of each of its steps once it was stored", async () => {
    const puppet = new Puppet();
    const driver = await rig.engine.startRun(planOf({ a: { run: puppet.run } }));
    await rig.settle();
    driver.halt("stop", { by: { actor: "ada", reason: "enough" }, graceMs: 0 });
    expect(driver.run.status).toBe("stopping");
    expect(driver.storedRun.status).toBe("running");
    await rig.settle();
    const steps = rig.events.flatMap((event) =>
      event.type === "PipelineRunStatusChanged" ? [[event.from, event.to, event.trigger, event.actor, event.reason, event.version]] : [],
    );
    expect(steps).toEqual([
      ["pending", "running", "user:start", "system", null, 1],
      ["running", "stopping", "user:stop", "ada", "enough", 2],
      ["stopping", "failed", "pipeline:verdict", "system", null, 3],
    ]);
    puppet.last.returns();
    await rig.settle();
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("whoever waits for the end", () => {
  test("lets go when aborted, with the reason", async () => {
    const puppet = new Puppet();
    const driver = await rig.engine.startRun(planOf({ a: { run: puppet.run } }));
    const stop = new AbortController();
    const waiting = driver.ended(stop.signal);
    const why = new Error("enough");
    stop.abort(why);
    await expect(waiting).rejects.toBe(why);
    await rig.settle();
    puppet.last.returns();
    expect(await driver.ended()).toMatchObject({ status: "succeeded" });
  });

  test("hears of an end that cannot be stored", async () => {
    const driver = await rig.engine.startRun(planOf({ a: {} }));
    const conflict = new ConcurrencyConflict(driver.run.runId, 1, 7);
    rig.store.fail("commitRun", conflict);
    await expect(driver.ended()).rejects.toBe(conflict);
    expect(driver.run.status).toBe("succeeded");
    expect(driver.storedRun.status).toBe("running");
  });

  test("hears it late, not wrongly, where the store is away for a while", async () => {
    const driver = await rig.engine.startRun(planOf({ a: {} }));
    rig.store.fail("commitRun", new StoreError("busy", { transient: true }), { times: 2 });
    const waiting = driver.ended();
    await rig.clock.advance("1m");
    expect(await waiting).toMatchObject({ status: "succeeded" });
  });

  test("hears that nobody drives it any more", async () => {
    rig = await Rig.open({ supports: { durability: true } });
    const puppet = new Puppet();
    const driver = await rig.engine.startRun(planOf({ a: { run: puppet.run }, b: { deps: ["a"], join: "all_done" } }));
    const waiting = driver.ended();
    const problem = new StoreError("gone");
    driver.dismiss(problem);
    await expect(waiting).rejects.toBe(problem);
    await expect(driver.ended()).rejects.toBe(problem);
  });
});

describe("a run that cannot be stored", () => {
  test("is not begun, and nothing of it is left", async () => {
    const puppet = new Puppet();
    rig.store.fail("createRun", new StoreError("no such table"));
    await expect(rig.engine.startRun(planOf({ a: { run: puppet.run }, b: {} }))).rejects.toThrow("no such table");
    await rig.settle();
    expect(puppet.calls).toEqual([]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("arguments and conditions", () => {
  test("are worked out once, in the order of the nodes, when the join is met", async () => {
    const order: string[] = [];
    const note = (word: string, answer: unknown) => (): unknown => {
      order.push(word);
      return answer;
    };
    const driver = await rig.engine.startRun(
      planOf({
        a: { when: note("a when", true), args: note("a args", []) as NodePlan["args"] },
        b: { deps: ["a"], when: note("b when", false), args: note("b args", []) as NodePlan["args"] },
        c: { deps: ["a"], args: note("c args", [1]) as NodePlan["args"] },
      }),
    );
    await driver.ended();
    expect(order).toEqual(["a when", "a args", "b when", "c args"]);
    expect(statuses(driver)).toEqual(["succeeded", "skipped", "succeeded"]);
  });

  test("that are worked out are stored with the step that lets the node go", async () => {
    const puppet = new Puppet();
    const driver = await rig.engine.startRun(planOf({ a: { run: () => 20 }, b: { run: puppet.run, deps: ["a"], args: (up) => [up({ name: "a" }), "fixed"] } }));
    await rig.settle();
    const taskId = driver.cells[1]?.taskId ?? "";
    expect(puppet.last.args).toEqual([20, "fixed"]);
    expect(await rig.store.tasks.payload(taskId)).toMatchObject({ args: [20, "fixed"] });
    puppet.last.returns();
    await driver.ended();
  });

  test("that cannot be stored still flow; the record says why they are missing", async () => {
    const callback = (): number => 7;
    const driver = await rig.engine.startRun(planOf({ a: {}, b: { deps: ["a"], run: (_ctx, given) => given === callback, args: () => [callback] } }));
    expect(await driver.ended()).toMatchObject({ status: "succeeded" });
    await rig.settle();
    const [, cell] = driver.cells;
    expect(cell?.snapshot).toMatchObject({ status: "succeeded", outcome: true });
    expect(cell === undefined ? [] : rig.warnings(cell)).toEqual(["args_not_stored"]);
  });
});

describe("a revived node", () => {
  test("counts as open from then on: the run waits for it", async () => {
    const [first, second] = [new Puppet(), new Puppet()];
    const driver = await rig.engine.startRun(planOf({ a: { run: first.run }, b: { run: second.run } }, allSettled()));
    await rig.settle();
    first.last.throws(new Error("no"));
    await rig.settle();
    const cell = await rig.engine.cellOf(driver.cells[0]?.taskId ?? "", () => submission(first.run).definition);
    expect(cell).toBe(driver.cells[0]);
    rig.engine.hold(cell);
    await rig.engine.control.retry(cell, ADA);
    second.last.returns();
    await rig.settle();
    expect(driver.storedRun.status).toBe("running");
    first.last.returns();
    expect(await driver.ended()).toMatchObject({ status: "succeeded" });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("that was refused does not", async () => {
    const [deaf, other] = [new Puppet(), new Puppet()];
    const driver = await rig.engine.startRun(planOf({ a: { run: deaf.run }, b: { run: other.run } }, allSettled()));
    await rig.settle();
    const [cell] = driver.cells;
    if (cell === undefined) throw new Error("no cell");
    rig.engine.control.haltNow(cell, "stop", { ...ADA, graceMs: 0 });
    await rig.settle();
    await expect(rig.engine.control.retry(cell, ADA)).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    other.last.returns();
    expect(await driver.ended()).toMatchObject({ status: "failed" });
    deaf.last.returns();
    await rig.settle();
  });
});

test.each([20_000])("a chain of %i false conditions is a queue, not a recursion", async (length) => {
  const nodes = Object.fromEntries(
    Array.from({ length }, (_, index): [string, Node] => [`n${index}`, index === 0 ? { when: () => false } : { deps: [`n${index - 1}`] }]),
  );
  const driver = await rig.engine.startRun(planOf(nodes));
  expect(await driver.ended()).toMatchObject({ status: "succeeded", nodeCount: length });
  expect(new Set(statuses(driver))).toEqual(new Set(["skipped"]));
});
