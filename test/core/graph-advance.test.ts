import { describe, expect, it } from "vitest";
import { ConfigurationError, InternalError } from "../../src/core/errors.ts";
import { advance, beginRun, verdictOf } from "../../src/core/graph-advance.ts";
import type { Action } from "../../src/core/graph-advance.ts";
import { reopenNode } from "../../src/core/graph-revive.ts";
import { closeRun, countsOf, createRunState, isClosing, openNodes, standingOf } from "../../src/core/graph-run-state.ts";
import type { RunState, Standing } from "../../src/core/graph-run-state.ts";
import { buildGraph } from "../../src/core/graph.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import type { Outcome } from "../../src/core/join.ts";
import { allSettled, failFast, quorum } from "../../src/core/policies/aggregation.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import { node } from "./graph-model.ts";

/** A run whose actions read like sentences: `ready a`, `end b cancelled dependency_failed by a`. */
function runOf(nodes: readonly NodeSpec[], aggregation: AggregationPolicy = failFast(), standings?: readonly Standing[]) {
  const graph = buildGraph(nodes);
  const state = createRunState(graph, standings === undefined ? { aggregation } : { aggregation, standings });
  const nameOf = (index: number): string => graph.nodes[index]?.name ?? "?";
  const say = ({ actions }: { readonly actions: readonly Action[] }): string[] => actions.map((action) => sentenceOf(action, nameOf));
  const indexOf = (name: string): number => graph.indexByName.get(name) ?? -1;
  return {
    state,
    begin: (retried = false) => say(beginRun(state, { retried })),
    report: (name: string, outcome: Outcome) => say(advance(state, { node: indexOf(name), outcome })),
    standing: (name: string) => standingOf(state, indexOf(name)),
  };
}

function sentenceOf(action: Action, nameOf: (index: number) => string): string {
  const names = (list: readonly number[]): string => list.map(nameOf).join(",");
  switch (action.type) {
    case "ready":
      return `ready ${nameOf(action.node)}`;
    case "end":
      return `end ${nameOf(action.node)} ${action.to} ${action.kind} by ${names(action.upstream)}`;
    case "cancelRest":
      return `cancel ${names(action.nodes)} ${action.trigger}: ${action.reason}`;
    case "verdict":
      return `verdict ${action.status}`;
  }
}

const DIAMOND = [node("a"), node("b", ["a"]), node("c", ["a"]), node("d", ["b", "c"])];

describe("a run", () => {
  it("goes through a diamond", () => {
    const run = runOf(DIAMOND);
    expect(run.begin()).toEqual(["ready a"]);
    expect(run.report("a", "succeeded")).toEqual(["ready b", "ready c"]);
    expect(run.report("c", "succeeded")).toEqual([]);
    expect(run.report("b", "succeeded")).toEqual(["ready d"]);
    expect(verdictOf(run.state)).toBeNull();
    expect(run.report("d", "succeeded")).toEqual(["verdict succeeded"]);
    expect(verdictOf(run.state)).toBe("succeeded");
  });

  it("without nodes succeeds at once, and says so once", () => {
    const run = runOf([]);
    expect(run.begin()).toEqual(["verdict succeeded"]);
    expect(run.begin()).toEqual([]);
  });

  it("refuses a quorum larger than the pipeline", () => {
    expect(() => runOf([node("a")], quorum(2))).toThrow(ConfigurationError);
    expect(() => runOf([], quorum(1))).toThrow("has 0 nodes");
  });

  it("refuses a node the graph does not have", () => {
    const run = runOf([node("a")]);
    for (const index of [-1, 1, 0.5]) expect(() => advance(run.state, { node: index, outcome: "failed" })).toThrow(InternalError);
  });

  it("takes the same report twice", () => {
    const run = runOf(DIAMOND, allSettled());
    run.begin();
    run.report("a", "succeeded");
    expect(run.report("a", "succeeded")).toEqual([]);
    expect(countsOf(run.state)).toMatchObject({ succeeded: 1, open: 3 });
  });
});

describe("a node whose join cannot be met", () => {
  it("is cancelled below a failure, all the way down, each with its own upstreams", () => {
    const run = runOf([node("a"), node("b", ["a"]), node("c", ["b"]), node("d", ["c", "a"])], allSettled());
    run.begin();
    expect(run.report("a", "failed")).toEqual([
      "end b cancelled dependency_failed by a",
      "end d cancelled dependency_failed by c,a",
      "end c cancelled dependency_failed by b",
      "verdict failed",
    ]);
  });

  it.each(["failed", "lost", "cancelled", "stopped"] as const)("ends as its own rule says below a node that ended %s", (outcome) => {
    const run = runOf([node("a"), node("b", ["a"], { onUpstreamFailure: "skip" }), node("c", ["a"])], allSettled());
    run.begin();
    expect(run.report("a", outcome).slice(0, 2)).toEqual(["end b skipped dependency_failed by a", "end c cancelled dependency_failed by a"]);
  });

  it("is skipped below a skip, also where the rule for failures says cancel", () => {
    const run = runOf([node("a", [], { hasCondition: true }), node("b", ["a"]), node("c", ["b"])]);
    run.begin();
    expect(run.report("a", "skipped")).toEqual(["end b skipped condition_false by a", "end c skipped condition_false by b", "verdict succeeded"]);
  });

  it.each([
    ["skipped", "failed"],
    ["failed", "skipped"],
  ] as const)("follows the failure where its upstreams ended %s, then %s", (first, second) => {
    const run = runOf([node("a"), node("b"), node("c", ["a", "b"])], allSettled());
    run.begin();
    const by = first === "failed" ? "a" : "b";
    expect([...run.report("a", first), ...run.report("b", second)]).toEqual([`end c cancelled dependency_failed by ${by}`, "verdict failed"]);
  });

  it("is decided once", () => {
    const run = runOf([node("a"), node("b"), node("c", ["a", "b"])], allSettled());
    run.begin();
    expect(run.report("a", "failed")).toEqual(["end c cancelled dependency_failed by a"]);
    expect(run.report("b", "failed")).toEqual(["verdict failed"]);
  });

  it("lets a node run that any success, or any end, is enough for", () => {
    const nodes = [node("a"), node("b"), node("any", ["a", "b"], { join: "any_succeeded" }), node("all", ["a", "b"], { join: "all_done" })];
    const run = runOf(nodes, allSettled());
    run.begin();
    expect(run.report("a", "succeeded")).toEqual(["ready any"]);
    expect(run.report("b", "failed")).toEqual(["ready all"]);
  });

  it("takes a condition of its own for a skip of its own", () => {
    const run = runOf([node("a"), node("b", ["a"], { hasCondition: true }), node("c", ["b"], { join: "none_failed" })]);
    run.begin();
    run.report("a", "succeeded");
    expect(run.report("b", "skipped")).toEqual(["ready c"]);
  });
});

describe("fail-fast", () => {
  const nodes = [node("a"), node("b", ["a"]), node("x"), node("y", ["x"])];

  it.each([
    ["failed", 'node "a" failed'],
    ["lost", 'node "a" was lost'],
  ] as const)("cancels the rest after the cascades of a node that ended %s", (outcome, reason) => {
    const run = runOf(nodes);
    expect(run.begin()).toEqual(["ready a", "ready x"]);
    expect(isClosing(run.state)).toBe(false);
    expect(run.report("a", outcome)).toEqual(["end b cancelled dependency_failed by a", `cancel x,y pipeline:fail-fast: ${reason}`]);
    expect(isClosing(run.state)).toBe(true);
    expect(run.report("x", "succeeded")).toEqual([]);
    expect(run.report("y", "cancelled")).toEqual(["verdict failed"]);
    expect(isClosing(run.state)).toBe(false);
  });

  it.each(["cancelled", "stopped"] as const)("is not set off by a node that ended %s", (outcome) => {
    const run = runOf(nodes);
    run.begin();
    expect(run.report("a", outcome)).toEqual(["end b cancelled dependency_failed by a"]);
    expect(run.report("x", "succeeded")).toEqual(["ready y"]);
    expect(run.report("y", "succeeded")).toEqual([`verdict ${outcome}`]);
  });

  it("happens once", () => {
    const run = runOf([node("a"), node("b"), node("c")]);
    run.begin();
    expect(run.report("a", "failed")).toHaveLength(1);
    expect(run.report("b", "lost")).toEqual([]);
    expect(run.report("c", "cancelled")).toEqual(["verdict failed"]);
  });

  it("has nothing to cancel after the last node", () => {
    const run = runOf([node("a")]);
    run.begin();
    expect(run.report("a", "failed")).toEqual(["verdict failed"]);
  });
});

describe("a quorum", () => {
  const nodes = ["a", "b", "c", "d"].map((name) => node(name));

  it("lets the rest settle once it is met, and forgives", () => {
    const run = runOf(nodes, quorum(2));
    run.begin();
    expect(run.report("a", "succeeded")).toEqual([]);
    expect(run.report("b", "succeeded")).toEqual([]);
    expect(run.report("c", "failed")).toEqual([]);
    expect(run.report("d", "lost")).toEqual(["verdict succeeded"]);
  });

  it("cancels the rest as soon as it is out of reach", () => {
    const run = runOf(nodes, quorum(3));
    run.begin();
    expect(run.report("a", "failed")).toEqual([]);
    expect(run.report("b", "succeeded")).toEqual([]);
    expect(run.report("c", "skipped")).toEqual(["cancel d pipeline:quorum-unreachable: 1 succeeded and 1 have not ended: too few for the quorum"]);
    expect(run.report("d", "cancelled")).toEqual(["verdict failed"]);
  });

  it("counts cascades before it is given up", () => {
    const run = runOf([node("a"), node("b", ["a"]), node("c", ["b"]), node("x")], quorum(2));
    run.begin();
    expect(run.report("a", "cancelled")).toEqual([
      "end b cancelled dependency_failed by a",
      "end c cancelled dependency_failed by b",
      "cancel x pipeline:quorum-unreachable: 0 succeeded and 1 have not ended: too few for the quorum",
    ]);
    expect(run.report("x", "cancelled")).toEqual(["verdict cancelled"]);
  });
});

describe("a person's hand", () => {
  it("lets the nodes below a skipped or forced node go on, before and after it failed", () => {
    const run = runOf([node("a"), node("b"), node("c", ["a", "b"], { join: "any_succeeded" })], allSettled());
    run.begin();
    run.report("a", "failed");
    expect(run.report("a", "succeeded")).toEqual(["ready c"]);
    expect(countsOf(run.state)).toMatchObject({ succeeded: 1, failed: 0, open: 2 });
  });

  it("does not wake what has ended below, nor give a second verdict", () => {
    const run = runOf([node("a"), node("b", ["a"])], allSettled());
    run.begin();
    expect(run.report("a", "failed")).toEqual(["end b cancelled dependency_failed by a", "verdict failed"]);
    expect(run.report("a", "succeeded")).toEqual([]);
    expect(run.standing("b")).toBe("cancelled");
    expect(verdictOf(run.state)).toBe("cancelled");
  });

  it("can turn a success into a failure: what waits is judged again, what was let go stays", () => {
    const run = runOf([node("a"), node("x"), node("b", ["a"]), node("c", ["a", "x"])]);
    run.begin();
    run.report("a", "succeeded");
    expect(run.report("a", "failed")).toEqual(["end c cancelled dependency_failed by a", 'cancel x,b pipeline:fail-fast: node "a" failed']);
    expect(run.standing("b")).toBe("released");
  });

  it("ends a node that still waits", () => {
    const run = runOf([node("a"), node("b", ["a"]), node("c", ["b"])]);
    run.begin();
    expect(run.report("b", "succeeded")).toEqual(["ready c"]);
    expect(run.report("a", "succeeded")).toEqual([]);
    expect(run.report("c", "succeeded")).toEqual(["verdict succeeded"]);
  });

  it("corrects a cascade that lost a race against another end", () => {
    const run = runOf([node("a"), node("b", ["a"]), node("c", ["b"])], allSettled());
    run.begin();
    run.report("a", "failed");
    expect(run.report("b", "stopped")).toEqual([]);
    expect(countsOf(run.state)).toMatchObject({ failed: 1, stopped: 1, cancelled: 1, open: 0 });
  });

  it("closes a run: nothing is let go, nothing cascades, the verdict comes last", () => {
    const run = runOf(DIAMOND);
    run.begin();
    run.report("a", "succeeded");
    expect(closeRun(run.state)).toEqual([1, 2, 3]);
    expect(run.report("b", "failed")).toEqual([]);
    expect(run.report("c", "stopped")).toEqual([]);
    expect(openNodes(run.state)).toEqual([3]);
    expect(run.report("d", "stopped")).toEqual(["verdict failed"]);
  });
});

describe("a stored run", () => {
  it("takes up what was decided but not carried out", () => {
    const run = runOf(DIAMOND, failFast(), ["succeeded", "succeeded", "waiting", "waiting"]);
    expect(run.begin()).toEqual(["ready c"]);
    expect(run.report("c", "succeeded")).toEqual(["ready d"]);
  });

  it("leaves alone what was let go", () => {
    const run = runOf(DIAMOND, failFast(), ["succeeded", "released", "succeeded", "waiting"]);
    expect(run.begin()).toEqual([]);
    expect(run.report("b", "succeeded")).toEqual(["ready d"]);
  });

  it("finishes cascades and fail-fast, unless a person has retried it since", () => {
    const nodes = [node("x"), node("a"), node("b", ["a"]), node("c", ["b"])];
    const standings = ["released", "failed", "waiting", "waiting"] as const;
    const ends = ["end b cancelled dependency_failed by a", "end c cancelled dependency_failed by b"];
    expect(runOf(nodes, failFast(), standings).begin()).toEqual([...ends, 'cancel x pipeline:fail-fast: node "a" failed']);
    expect(runOf(nodes, failFast(), standings).begin(true)).toEqual(ends);
    expect(runOf(nodes, failFast(), ["succeeded", "lost", "released", "released"]).begin()).toEqual(['cancel b,c pipeline:fail-fast: node "a" was lost']);
  });

  it("gives up a quorum that is out of reach", () => {
    const nodes = ["a", "b", "c"].map((name) => node(name));
    expect(runOf(nodes, quorum(2), ["stopped", "skipped", "released"]).begin()).toEqual([
      "cancel c pipeline:quorum-unreachable: 0 succeeded and 1 have not ended: too few for the quorum",
    ]);
    expect(runOf(nodes, quorum(2), ["stopped", "succeeded", "released"]).begin()).toEqual([]);
  });

  it("declares the verdict that was not declared", () => {
    expect(runOf([node("a"), node("b")], failFast(), ["succeeded", "stopped"]).begin()).toEqual(["verdict stopped"]);
  });

  it("refuses standings of another graph", () => {
    expect(() => runOf(DIAMOND, failFast(), ["succeeded"])).toThrow(InternalError);
  });
});

describe("what is not in the contract", () => {
  it("is refused as a bug", () => {
    const graph = { ...buildGraph([node("a"), node("b", ["a"])]) };
    const bent: RunState = createRunState(
      { ...graph, nodes: [node("a"), node("b", ["a"], { onUpstreamFailure: "ignore" as "skip" })] },
      { aggregation: allSettled() },
    );
    beginRun(bent);
    expect(() => advance(bent, { node: 0, outcome: "failed" })).toThrow("unreachable: ignore");
  });
});

describe("a node that is certain to fail and winds down", () => {
  const graph = buildGraph([node("map", [], { kind: "map" }), node("below", ["map"]), node("beside")]);
  const begun = () => {
    const state = createRunState(graph, { aggregation: failFast() });
    beginRun(state);
    return state;
  };

  it("sets off the cascade and the policy at once, and the verdict when it has ended", () => {
    const state = begun();
    const { actions } = advance(state, { node: 0, outcome: "failed", isWindingDown: true });
    expect(actions).toMatchObject([
      { type: "end", node: 1, to: "cancelled", kind: "dependency_failed", upstream: [0] },
      { type: "cancelRest", nodes: [2], trigger: "pipeline:fail-fast", reason: 'node "map" failed' },
    ]);
    expect(advance(state, { node: 2, outcome: "cancelled" })).toEqual({ actions: [] });
    expect(verdictOf(state)).toBeNull();
    expect(isClosing(state)).toBe(true);
    expect(advance(state, { node: 0, outcome: "failed" })).toEqual({ actions: [{ type: "verdict", status: "failed" }] });
    expect(isClosing(state)).toBe(false);
  });

  it("reported so a second time it still winds down", () => {
    const state = begun();
    advance(state, { node: 2, outcome: "succeeded" });
    advance(state, { node: 0, outcome: "failed", isWindingDown: true });
    expect(advance(state, { node: 0, outcome: "failed", isWindingDown: true })).toEqual({ actions: [] });
    expect(verdictOf(state)).toBeNull();
    expect(advance(state, { node: 0, outcome: "failed" })).toEqual({ actions: [{ type: "verdict", status: "failed" }] });
  });

  it("may end otherwise after all", () => {
    const state = begun();
    advance(state, { node: 0, outcome: "failed", isWindingDown: true });
    expect(advance(state, { node: 0, outcome: "cancelled" })).toEqual({ actions: [] });
    expect(advance(state, { node: 2, outcome: "cancelled" })).toEqual({ actions: [{ type: "verdict", status: "cancelled" }] });
  });

  it("is among those that a stop of the run ends", () => {
    const state = begun();
    advance(state, { node: 0, outcome: "failed", isWindingDown: true });
    expect(closeRun(state)).toEqual([0, 2]);
  });

  it("winds down no more once it is taken back", () => {
    const state = begun();
    advance(state, { node: 0, outcome: "failed", isWindingDown: true });
    reopenNode(state, 0);
    advance(state, { node: 2, outcome: "cancelled" });
    expect(advance(state, { node: 0, outcome: "succeeded" })).toEqual({ actions: [{ type: "verdict", status: "cancelled" }] });
  });
});
