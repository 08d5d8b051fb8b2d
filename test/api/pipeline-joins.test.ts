import { describe, expect, it } from "vitest";
import { joinTruthTable, UPSTREAM_STATES } from "../../src/core/join-table.ts";
import type { UpstreamState } from "../../src/core/join-table.ts";
import { JOINS } from "../../src/core/join.ts";
import type { Outcome } from "../../src/core/join.ts";
import { allSettled, definePipeline, task } from "../../src/index.ts";
import type { PipelineBuilder, PipelineNode, RunHandle, TaskContext } from "../../src/index.ts";
import { gate, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** A body that ends as it is told, or waits until a person ends it. */
async function endAs(ctx: TaskContext, outcome: Outcome): Promise<string> {
  switch (outcome) {
    case "succeeded":
      return "a value";
    case "failed":
      throw new Error("told to");
    case "lost":
      return await gate<string>().opened;
    case "cancelled":
    case "stopped":
    case "skipped":
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      await ctx.checkpoint();
      return "not reached";
  }
}

const upstream = task({ name: "upstream" }, endAs);
const below = task({ name: "below" }, (_ctx, values: readonly unknown[]) => values);
const each = task({ name: "each" }, (_ctx, value: string) => value);

type Ended = Exclude<UpstreamState, "open">;

/** A node that will end like that, with what it gives. */
function addUpstream(p: PipelineBuilder, name: string, state: Ended): PipelineNode<string, string | readonly string[]> {
  if (state === "empty map") return p.map(each, { name, items: [] });
  return p.add(upstream, { name, args: [state], when: () => state !== "skipped" });
}

const VALUES: Partial<Record<Ended, unknown>> = { succeeded: "a value", "empty map": [] };
const STATUSES: Partial<Record<Ended, Outcome>> = { "empty map": "succeeded" };

/** Brings the two upstreams of a run to their ends. */
async function drive(stage: Stage, run: RunHandle, states: readonly Ended[]): Promise<void> {
  await stage.clock.advance(1);
  const nodes = run.graph();
  for (const [index, outcome] of states.entries()) {
    const taskId = nodes[index]?.taskId ?? "";
    if (outcome === "cancelled") await stage.controller.cancel(taskId);
    if (outcome === "stopped") await stage.controller.stop(taskId);
    if (outcome !== "lost") continue;
    const stopped = stage.controller.stop(taskId, { grace: 0 });
    await stage.clock.advance(0);
    await stopped;
  }
}

const decided = joinTruthTable().flatMap(({ join, upstreams: [first, second], verdict }) =>
  first === "open" || second === "open" ? [] : [{ join, upstreams: [first, second], verdict }],
);

it("has a row for each join and each pair of outcomes", () => {
  const ended = UPSTREAM_STATES.length - 1;
  const pairs = (ended * (ended + 1)) / 2;
  expect(decided).toHaveLength(JOINS.length * pairs);
});

describe.each(["cancel", "skip"] as const)("a node below two that have ended (onUpstreamFailure %s)", (rule) => {
  it.each(decided)("$join of $upstreams: $verdict", async ({ join, upstreams: outcomes, verdict }) => {
    const pair = definePipeline("pair", { onFailure: allSettled(), onUpstreamFailure: rule }, (p) => {
      const deps = outcomes.map((outcome, index) => addUpstream(p, `up-${index}`, outcome));
      p.add(below, { deps, join, args: (up) => [deps.map((dep) => up(dep))] });
    });
    await using stage = await openStage({ pipelines: [pair] });
    const run = await stage.controller.startRun(pair);
    await drive(stage, run, outcomes);
    const ended = await run.wait({ timeout: "1s" });
    const [...nodes] = await Promise.all(run.graph().map(async ({ taskId }) => await stage.controller.get(taskId)));
    expect(nodes.slice(0, 2).map(({ status }) => status)).toEqual(outcomes.map((outcome) => STATUSES[outcome] ?? outcome));
    const node = nodes[2];
    if (verdict === "ready") {
      // With any_succeeded it starts before the second has ended; a map without items ends before a task that runs.
      const first = outcomes.includes("empty map") ? outcomes.indexOf("empty map") : outcomes.indexOf("succeeded");
      const values = outcomes.map((outcome, index) => (join !== "any_succeeded" || index === first ? VALUES[outcome] : undefined));
      expect(node).toMatchObject({ status: "succeeded", outcome: values });
    } else if (typeof verdict === "object" && verdict.unmet === "skipped") {
      expect(node).toMatchObject({ status: "skipped", attempt: 0, failure: { kind: "condition_false", message: expect.stringContaining("(skipped, ") } });
    } else {
      const message = expect.stringMatching(/^what it depends on did not succeed: up-\d \((failed|lost|stopped|cancelled), /);
      expect(node).toMatchObject({ status: rule === "cancel" ? "cancelled" : "skipped", attempt: 0, failure: { kind: "dependency_failed", message } });
    }
    expect(ended.status).toBe(verdictOf(nodes.map(({ status }) => status)));
  });
});

describe("a node below one that has not ended", () => {
  const undecided = joinTruthTable().flatMap(({ join, upstreams: [other, second], verdict }) => (second === "open" ? [{ join, other, verdict }] : []));

  it.each(undecided)("and one that is $other, with $join: $verdict", async ({ join, other, verdict }) => {
    const pair = definePipeline("pair", { onFailure: allSettled() }, (p) => {
      const ended = other === "open" ? p.add(upstream, { name: "up-0", args: ["stopped"] }) : addUpstream(p, "up-0", other);
      const deps = [ended, p.add(upstream, { name: "up-1", args: ["stopped"] })];
      p.add(below, { deps, join, args: () => [[]] });
    });
    await using stage = await openStage({ pipelines: [pair] });
    const run = await stage.controller.startRun(pair);
    await drive(stage, run, other === "open" ? [] : [other]);
    await stage.clock.advance(1);
    const unmet = verdict === "waiting" ? "blocked" : "cancelled";
    expect(run.graph()[1]).toMatchObject({ status: "running" });
    expect(run.graph()[2]).toMatchObject({ status: verdict === "ready" ? "succeeded" : unmet });
  });
});

/** The rule in the words of the guide, written down a second time. */
function verdictOf(statuses: readonly string[]): string {
  if (statuses.some((status) => status === "failed" || status === "lost")) return "failed";
  if (statuses.includes("stopped")) return "stopped";
  return statuses.includes("cancelled") ? "cancelled" : "succeeded";
}

it("any_succeeded starts as soon as one has, and the other may still run or fail", async () => {
  const fast = task({ name: "fast" }, () => 1);
  const slow = task({ name: "slow" }, async () => await door.opened);
  const first = task({ name: "first" }, (_ctx, values: readonly unknown[]) => values);
  const door = gate<number>();
  const race = definePipeline("race", { onFailure: allSettled() }, (p) => {
    const deps = [p.add(fast), p.add(slow)] as const;
    p.add(first, { deps, join: "any_succeeded", args: (up) => [deps.map((dep) => up(dep))] });
  });
  await using stage = await openStage({ pipelines: [race] });
  const run = await stage.controller.startRun(race);
  await stage.clock.advance(1);
  expect(run.graph().map(({ status }) => status)).toEqual(["succeeded", "running", "succeeded"]);
  expect(await stage.controller.get(run.graph()[2]?.taskId ?? "")).toMatchObject({ outcome: [1, undefined] });
  door.fail(new Error("too late to matter for it"));
  expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
});

it("a node's own rule goes before the pipeline's", async () => {
  const fails = task({ name: "fails" }, () => {
    throw new Error("no");
  });
  const tick = task({ name: "tick" }, () => 1);
  const mixed = definePipeline("mixed", { onFailure: allSettled(), onUpstreamFailure: "skip" }, (p) => {
    const deps = [p.add(fails)];
    p.add(tick, { name: "as-the-pipeline", deps });
    p.add(tick, { name: "as-itself", deps, onUpstreamFailure: "cancel" });
  });
  await using stage = await openStage({ pipelines: [mixed] });
  const run = await stage.controller.startRun(mixed);
  await run.wait({ timeout: "1s" });
  expect(run.graph().map(({ status }) => status)).toEqual(["failed", "skipped", "cancelled"]);
});
