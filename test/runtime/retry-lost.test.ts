import { beforeEach, describe, expect, test } from "vitest";
import { buildGraph } from "../../src/core/graph.ts";
import { allSettled } from "../../src/core/policies/aggregation.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import type { PipelineDriver } from "../../src/runtime/pipeline-driver.ts";
import { Puppet } from "./support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, Rig, submission } from "./support/rig.ts";
import type { SubjectOptions } from "./support/rig.ts";

/** Lost 6 s after its launch by an attempt timeout, where the body is deaf. */
const LOST_BY_TIMEOUT = { timeout: { attempt: "1s" }, retry: { maxAttempts: 2, retryLost: true } } as const;
const LOST_AFTER_MS = 6_000;

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

/** A task whose deaf body has been given up on. */
async function lost(options: SubjectOptions = LOST_BY_TIMEOUT): Promise<Cell> {
  const cell = await rig.submit(puppet.run, options);
  await rig.clock.advance(LOST_AFTER_MS);
  expect(await rig.row(cell)).toMatchObject({ status: "lost", failure: { abandoned: true } });
  return cell;
}

async function force(cell: Cell): Promise<void> {
  const again = rig.engine.hold(await rig.engine.cellOf(cell.taskId, () => cell.definition));
  await rig.engine.control.retry(again, { ...ADA, force: true });
  await rig.settle();
}

async function expectInOrder(cell: Cell): Promise<void> {
  expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
}

describe("a lost task that is to be retried", () => {
  test("is revived by the system once its body has ended, and not before", async () => {
    const cell = await lost();
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 1 });
    puppet.call(0).returns("late");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 2, maxAttempts: 2, abandonedBy: null, failure: null });
    const revived = (await rig.store.audit.history(cell.taskId)).find(({ kind }) => kind === "revive");
    expect(revived).toMatchObject({ from: "lost", to: "queued", trigger: "retry:lost", actor: "system" });
    expect([rig.warnings(cell), rig.engine.health.orphans]).toEqual([["abandoned_body_ended"], 0]);
    puppet.call(1).returns("second");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second" });
    await expectInOrder(cell);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("is revived also where the body throws in the end", async () => {
    const cell = await lost();
    puppet.call(0).throws(new Error("too late"));
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 2 });
  });

  test("is given back the tags that its body kept, and takes them anew", async () => {
    rig = await Rig.open({ concurrency: { limits: { db: 1 } } });
    const cell = await lost({ ...LOST_BY_TIMEOUT, tags: ["db"] });
    puppet.call(0).returns("late");
    await rig.settle();
    expect([(await rig.row(cell)).status, rig.engine.load.slots.byTag.get("db")]).toEqual(["running", 1]);
    puppet.call(1).returns("second");
    await rig.settle();
    expect(rig.engine.load.slots.byTag.get("db") ?? 0).toBe(0);
  });

  test("gives its end to whoever waits from then on", async () => {
    const cell = await lost();
    puppet.call(0).returns("late");
    await rig.settle();
    const end = rig.engine.wait(cell.taskId, null, { timeoutMs: null });
    puppet.call(1).returns("second");
    expect(await end).toMatchObject({ status: "succeeded", outcome: "second" });
  });

  test("stays lost when its attempts are used up", async () => {
    const cell = await lost();
    puppet.call(0).returns("late");
    await rig.clock.advance(LOST_AFTER_MS);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 2 });
    puppet.call(1).returns("late again");
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 2, abandonedBy: null });
    expect([puppet.calls.length, rig.said]).toEqual([2, []]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("a lost task stays lost", () => {
  async function expectStaysLost(cell: Cell): Promise<void> {
    puppet.call(0).returns("late");
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 1, abandonedBy: null });
    expect([puppet.calls.length, rig.said]).toEqual([1, []]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  }

  test.each([
    ["where its policy does not say so", { ...LOST_BY_TIMEOUT, retry: { maxAttempts: 2 } }],
    ["where it has one attempt", { ...LOST_BY_TIMEOUT, retry: { retryLost: true } }],
  ])("%s", async (_what, options) => {
    await expectStaysLost(await lost(options));
  });

  test.each(["stop", "cancel"] as const)("where a person's %s was what it did not hear: nobody wants it to run again", async (verb) => {
    const cell = await rig.submit(puppet.run, LOST_BY_TIMEOUT);
    await Promise.all([rig.engine.control.halt(cell, verb, { ...ADA, graceMs: 0 }), rig.settle()]);
    await expectStaysLost(cell);
  });

  test("where the engine has closed meanwhile", async () => {
    const cell = await lost();
    const closed = rig.engine.close(0);
    await rig.settle();
    await closed;
    puppet.call(0).returns("late");
    await rig.settle();
    expect(cell.snapshot.status).toBe("lost");
    expect(rig.said.filter((line) => line.startsWith("error"))).toEqual([]);
    expect(rig.left).toEqual({ ...NOTHING_LEFT, listeners: -1 });
  });
});

describe("a task that a person has forced to run beside its old body", () => {
  test("is left alone when that ends, whatever became of it", async () => {
    const cell = await lost();
    await force(cell);
    puppet.call(1).returns("second");
    await rig.settle();
    const before = await rig.row(cell);
    expect(before).toMatchObject({ status: "succeeded", outcome: "second" });
    puppet.call(0).returns("late");
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toEqual({ ...before, abandonedBy: null });
    expect([puppet.calls.length, rig.said]).toEqual([2, []]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test.each([
    ["the first body ends first", [0, 1]],
    ["the second body ends first", [1, 0]],
  ] as const)("and is lost again waits for both: %s", async (_what, [first, last]) => {
    const cell = await lost({ ...LOST_BY_TIMEOUT, retry: { maxAttempts: 3, retryLost: true } });
    await force(cell);
    await rig.clock.advance(LOST_AFTER_MS);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 2 });
    puppet.call(first).returns("late");
    await rig.clock.advance("1m");
    expect(await rig.row(cell)).toMatchObject({ status: "lost", attempt: 2 });
    expect((await rig.row(cell)).abandonedBy).not.toBeNull();
    puppet.call(last).returns("late");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 3, abandonedBy: null });
    await expectInOrder(cell);
  });
});

describe("a lost node", () => {
  /** A run of a node that is lost, and of another that the test holds. */
  async function begin(other: Puppet): Promise<PipelineDriver> {
    const names = ["deaf", "other"];
    const specs = names.map((name) => ({ name, deps: [], join: "all_succeeded" as const, onUpstreamFailure: "cancel" as const, kind: "task" as const }));
    const definitions = [submission(puppet.run, LOST_BY_TIMEOUT).definition, submission(other.run).definition];
    const nodes = definitions.map((definition, index) => ({ name: names[index] ?? "", definition, priority: 0, args: [], when: null }));
    const plan = { pipeline: "by-hand", params: [], graph: buildGraph(specs), nodes, aggregation: allSettled(), priority: 0 };
    const driver = await rig.engine.startRun(plan);
    await rig.clock.advance(LOST_AFTER_MS);
    expect(driver.cells.map(({ snapshot }) => snapshot.status)).toEqual(["lost", "running"]);
    return driver;
  }

  test("is revived while its run is under way, and counts for it", async () => {
    const other = new Puppet();
    const driver = await begin(other);
    puppet.call(0).returns("late");
    await rig.settle();
    other.last.returns(1);
    await rig.settle();
    expect(driver.run.status).toBe("running");
    puppet.call(1).returns("second");
    await rig.settle();
    expect(await driver.ended()).toMatchObject({ status: "succeeded" });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("stays lost where its run has ended", async () => {
    const other = new Puppet();
    const driver = await begin(other);
    other.last.returns(1);
    await rig.settle();
    expect(await driver.ended()).toMatchObject({ status: "failed" });
    puppet.call(0).returns("late");
    await rig.clock.advance("1h");
    const [deaf] = driver.cells;
    expect(deaf === undefined ? null : await rig.row(deaf)).toMatchObject({ status: "lost", attempt: 1, abandonedBy: null });
    expect([puppet.calls.length, rig.said]).toEqual([1, ["info: a lost task is not run again"]]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
