import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advance, beginRun, verdictOf } from "../../src/core/graph-advance.ts";
import type { Action } from "../../src/core/graph-advance.ts";
import { reviveNodes, revivableNodes } from "../../src/core/graph-revive.ts";
import { closeRun, createRunState, openNodes } from "../../src/core/graph-run-state.ts";
import type { RunState } from "../../src/core/graph-run-state.ts";
import { buildGraph } from "../../src/core/graph.ts";
import type { Outcome } from "../../src/core/join.ts";
import { allSettled, failFast, quorum } from "../../src/core/policies/aggregation.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import { Duel, MOSTLY_GOOD, play } from "./graph-duel.ts";
import { chain, node, pick, randomFrom, randomNodes, SHAPES } from "./graph-model.ts";

function policyOf(kind: "failFast" | "allSettled" | "quorum", count: number, random: () => number): AggregationPolicy {
  if (kind === "quorum") return quorum(1 + Math.floor(random() * count));
  return kind === "failFast" ? failFast() : allSettled();
}

const RUN = fc.record({
  shape: fc.constantFrom(...SHAPES),
  count: fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 10, max: 300 })),
  policy: fc.constantFrom("failFast", "allSettled", "quorum"),
  seed: fc.integer(),
});

describe("random runs against a model that computes everything again at every step", () => {
  it("let each node go or end it exactly once, and reach one verdict", () => {
    fc.assert(
      fc.property(RUN, ({ shape, count, policy, seed }) => {
        const random = randomFrom(seed);
        const duel = new Duel(randomNodes(shape, count, random), policyOf(policy, count, random));
        duel.begin();
        play(duel, random);
        expect(duel.settled.size).toBe(count);
        expect(Math.max(...duel.settled.values())).toBe(1);
        expect(duel.verdicts).toBe(1);
      }),
      { numRuns: 120 },
    );
  }, 60_000);

  it("can be retried, whole or from some nodes, and reach a verdict again", () => {
    fc.assert(
      fc.property(RUN, ({ shape, count, policy, seed }) => {
        const random = randomFrom(seed);
        const duel = new Duel(randomNodes(shape, Math.min(count, 120), random), policyOf(policy, Math.min(count, 120), random));
        duel.begin();
        play(duel, random);
        for (let round = 0; round < 3; round += 1) {
          const names = [...duel.model.status.keys()];
          const whole = revivableNodes(duel.state).map((index) => duel.state.graph.nodes[index]?.name ?? "?");
          const before = duel.verdicts;
          const chosen = random() < 0.5 ? whole : [pick(names, random)];
          duel.revive(chosen);
          play(duel, random);
          expect(duel.settled.size).toBe(names.length);
          expect(Math.max(...duel.settled.values())).toBe(1);
          expect(duel.verdicts).toBe(chosen.length > 0 ? before + 1 : before);
        }
      }),
      { numRuns: 60 },
    );
  }, 60_000);

  it("depend on what was reported alone, so a stored run goes on from that as if nothing had happened", () => {
    fc.assert(
      fc.property(RUN, ({ shape, count, seed }) => {
        const random = randomFrom(seed);
        const duel = new Duel(randomNodes(shape, count, random), allSettled());
        duel.begin();
        const reported = new Set<string>();
        for (let step = 0; step < count / 2 && duel.pool.length > 0; step += 1) {
          const name = duel.pool.splice(Math.floor(random() * duel.pool.length), 1)[0] ?? "?";
          duel.report(name, pick(MOSTLY_GOOD, random));
          reported.add(name);
        }
        const { graph, nodes, counts } = duel.state;
        // Some of the engine's own decisions were carried out before the crash, some were not.
        const standings = nodes.map(({ standing }, index) => (reported.has(graph.nodes[index]?.name ?? "?") || random() < 0.5 ? standing : "waiting"));
        const restored = createRunState(graph, { aggregation: allSettled(), standings });
        const { actions } = beginRun(restored);
        expect(restored.nodes).toEqual(nodes);
        expect(restored.counts).toEqual(counts);
        const decided = nodes.filter(({ standing }, index) => standing !== standings[index]).length;
        expect(actions).toHaveLength(decided + (verdictOf(duel.state) === null ? 0 : 1));
        expect(beginRun(restored).actions).toEqual([]);
      }),
      { numRuns: 60 },
    );
  }, 60_000);
});

/** Runs every node that is let go, first come first served; answers how many were. */
function drain(state: RunState, actions: readonly Action[], outcomeOf: (index: number) => Outcome): number {
  const queue = [...actions];
  let run = 0;
  for (const action of queue) {
    if (action.type !== "ready") continue;
    run += 1;
    for (const next of advance(state, { node: action.node, outcome: outcomeOf(action.node) }).actions) queue.push(next);
  }
  return run;
}

describe("large runs", () => {
  const LENGTH = 20_000;

  it("go down a chain of 20,000 nodes", () => {
    const state = createRunState(buildGraph(chain(LENGTH)), { aggregation: failFast() });
    expect(drain(state, beginRun(state).actions, () => "succeeded")).toBe(LENGTH);
    expect(verdictOf(state)).toBe("succeeded");
  }, 60_000);

  it("cascade down a chain of 20,000 nodes in one step, and come back with a retry", () => {
    const state = createRunState(buildGraph(chain(LENGTH)), { aggregation: failFast() });
    expect(beginRun(state).actions).toEqual([{ type: "ready", node: 0 }]);
    const { actions } = advance(state, { node: 0, outcome: "failed" });
    expect(actions).toHaveLength(LENGTH);
    expect(actions.at(-1)).toEqual({ type: "verdict", status: "failed" });
    const revival = reviveNodes(state, revivableNodes(state));
    expect([revival.retry.length, revival.rerun.length]).toEqual([1, LENGTH - 1]);
    expect(drain(state, [{ type: "ready", node: 0 }], () => "succeeded")).toBe(LENGTH);
    expect(verdictOf(state)).toBe("succeeded");
  }, 60_000);

  it("can be stopped in the middle of a chain of 20,000 nodes and retried from there", () => {
    const state = createRunState(buildGraph(chain(LENGTH)), { aggregation: failFast() });
    beginRun(state);
    for (let index = 0; index < LENGTH / 2; index += 1) advance(state, { node: index, outcome: "succeeded" });
    const rest = closeRun(state);
    expect(rest).toHaveLength(LENGTH / 2);
    const last = rest.map((index) => advance(state, { node: index, outcome: "stopped" }).actions).at(-1);
    expect(last).toEqual([{ type: "verdict", status: "stopped" }]);
    const revival = reviveNodes(state, revivableNodes(state));
    expect(revival.retry).toEqual([LENGTH / 2]);
    expect(drain(state, [{ type: "ready", node: LENGTH / 2 }], () => "succeeded")).toBe(LENGTH / 2);
    expect(verdictOf(state)).toBe("succeeded");
  }, 60_000);

  it("fan out to 10,000 nodes and in again", () => {
    const leaves = Array.from({ length: 10_000 }, (_, index) => node(`leaf${index}`, ["root"]));
    const nodes = [
      node("root"),
      ...leaves,
      node(
        "end",
        leaves.map(({ name }) => name),
      ),
    ];
    const state = createRunState(buildGraph(nodes), { aggregation: failFast() });
    expect(drain(state, beginRun(state).actions, () => "succeeded")).toBe(nodes.length);
    expect(verdictOf(state)).toBe("succeeded");
  }, 60_000);

  it.each(SHAPES)(
    "build and finish 100,000 random nodes of the shape %s",
    (shape) => {
      const random = randomFrom(7);
      const nodes = randomNodes(shape, 100_000, random);
      const state = createRunState(buildGraph(nodes), { aggregation: allSettled() });
      drain(state, beginRun(state).actions, () => pick(MOSTLY_GOOD, random));
      expect(openNodes(state)).toEqual([]);
      expect(verdictOf(state)).not.toBeNull();
    },
    60_000,
  );

  it("cancel 100,000 nodes after a failure", () => {
    const nodes = Array.from({ length: 100_000 }, (_, index) => node(`n${index}`));
    const state = createRunState(buildGraph(nodes), { aggregation: failFast() });
    beginRun(state);
    const [cancel] = advance(state, { node: 5, outcome: "failed" }).actions;
    if (cancel?.type !== "cancelRest") throw new Error("nothing was cancelled");
    expect(cancel.nodes).toHaveLength(99_999);
    const answers = cancel.nodes.flatMap((index) => advance(state, { node: index, outcome: "cancelled" }).actions);
    expect(answers).toEqual([{ type: "verdict", status: "failed" }]);
  }, 60_000);
});
