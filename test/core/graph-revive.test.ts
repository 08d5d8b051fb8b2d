import { describe, expect, it } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import { advance, beginRun } from "../../src/core/graph-advance.ts";
import { busyBelow, nodesToRevive, reopenNode, returnNode, reviveNodes, revivableNodes, takeNode } from "../../src/core/graph-revive.ts";
import { closeRun, countsOf, createRunState, isClosing, standingOf } from "../../src/core/graph-run-state.ts";
import type { RunState, Standing } from "../../src/core/graph-run-state.ts";
import { buildGraph } from "../../src/core/graph.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import { allSettled, failFast } from "../../src/core/policies/aggregation.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import { node } from "./graph-model.ts";

function ended(nodes: readonly NodeSpec[], standings: readonly Standing[], aggregation: AggregationPolicy = failFast()): RunState {
  const state = createRunState(buildGraph(nodes), { aggregation, standings });
  beginRun(state);
  return state;
}

const CHAIN = [node("a"), node("b", ["a"]), node("c", ["b"]), node("d", ["c"])];

describe("reviveNodes", () => {
  it("retries what failed, reruns what lies below and keeps what succeeded", () => {
    const state = ended(CHAIN, ["succeeded", "failed", "cancelled", "cancelled"]);
    expect(revivableNodes(state)).toEqual([1, 2, 3]);
    expect(reviveNodes(state, revivableNodes(state))).toEqual({ retry: [1], rerun: [2, 3], actions: [] });
    expect(countsOf(state)).toEqual({ succeeded: 1, failed: 0, stopped: 0, cancelled: 0, skipped: 0, lost: 0, open: 3 });
    expect(advance(state, { node: 1, outcome: "succeeded" }).actions).toEqual([{ type: "ready", node: 2 }]);
    advance(state, { node: 2, outcome: "succeeded" });
    expect(advance(state, { node: 3, outcome: "succeeded" }).actions).toEqual([{ type: "verdict", status: "succeeded" }]);
  });

  it.each(["failed", "lost", "cancelled", "stopped"] as const)("retries a node that ended %s", (outcome) => {
    const state = ended([node("a"), node("b")], ["succeeded", outcome]);
    expect(reviveNodes(state, revivableNodes(state))).toMatchObject({ retry: [1], rerun: [] });
  });

  it("reruns from a node that had succeeded, and lets it go at once", () => {
    const state = ended(CHAIN, ["succeeded", "succeeded", "succeeded", "succeeded"]);
    expect(reviveNodes(state, [1])).toEqual({ retry: [], rerun: [1, 2, 3], actions: [{ type: "ready", node: 1 }] });
  });

  it("reruns what had succeeded or was skipped below a retried node", () => {
    const nodes = [node("a"), node("b", ["a"], { join: "all_done" }), node("c", ["a"], { onUpstreamFailure: "skip" })];
    const state = ended(nodes, ["failed", "succeeded", "skipped"]);
    expect(reviveNodes(state, revivableNodes(state))).toEqual({ retry: [0], rerun: [1, 2], actions: [] });
  });

  it("lets a node below go at once where another upstream is enough for its join", () => {
    const state = ended([node("a"), node("b"), node("c", ["a", "b"], { join: "any_succeeded" })], ["succeeded", "failed", "succeeded"]);
    expect(reviveNodes(state, [1])).toEqual({ retry: [1], rerun: [2], actions: [{ type: "ready", node: 2 }] });
  });

  it("ends a node again whose join stays out of reach", () => {
    const state = ended([node("a"), node("b", ["a"]), node("c", ["b"])], ["skipped", "cancelled", "cancelled"]);
    expect(reviveNodes(state, [1])).toEqual({
      retry: [],
      rerun: [1, 2],
      actions: [
        { type: "end", node: 1, to: "skipped", kind: "condition_false", upstream: [0] },
        { type: "end", node: 2, to: "skipped", kind: "condition_false", upstream: [1] },
        { type: "verdict", status: "succeeded" },
      ],
    });
  });

  it("lets what was cascaded go on after a person skipped the failed node", () => {
    const state = ended(CHAIN, ["failed", "cancelled", "cancelled", "cancelled"]);
    advance(state, { node: 0, outcome: "succeeded" });
    expect(reviveNodes(state, revivableNodes(state))).toEqual({ retry: [1], rerun: [2, 3], actions: [] });
  });

  it("is not cancelled by an old failure elsewhere, but by a new one", () => {
    const nodes = [node("a"), node("b"), node("c")];
    const state = ended(nodes, ["failed", "stopped", "stopped"]);
    expect(reviveNodes(state, [1, 2])).toEqual({ retry: [1, 2], rerun: [], actions: [] });
    expect(advance(state, { node: 1, outcome: "failed" }).actions).toMatchObject([{ type: "cancelRest", nodes: [2] }]);
  });

  it("leaves alone what has not ended, and takes back what has ended below it", () => {
    const nodes = [node("a"), node("b", ["a"], { join: "all_done" }), node("c", ["b"])];
    const state = ended(nodes, ["failed", "released", "cancelled"], allSettled());
    expect(reviveNodes(state, [0])).toEqual({ retry: [0], rerun: [2], actions: [] });
    expect(standingOf(state, 1)).toBe("released");
  });

  it("does nothing where nothing has ended", () => {
    const state = ended(CHAIN, ["released", "waiting", "waiting", "waiting"]);
    expect(reviveNodes(state, [0])).toEqual({ retry: [], rerun: [], actions: [] });
    expect(reviveNodes(state, revivableNodes(state))).toEqual({ retry: [], rerun: [], actions: [] });
  });

  it("is refused while the rest is being cancelled, and works after", () => {
    const state = ended([node("a"), node("b"), node("c", ["b"])], ["waiting", "waiting", "waiting"]);
    advance(state, { node: 0, outcome: "failed" });
    expect(() => reviveNodes(state, [0])).toThrow(InternalError);
    expect(() => reviveNodes(state, [0])).toThrow("while 2 of its nodes are being cancelled");
    advance(state, { node: 2, outcome: "cancelled" });
    advance(state, { node: 1, outcome: "stopped" });
    expect(reviveNodes(state, revivableNodes(state))).toEqual({ retry: [0, 1], rerun: [2], actions: [] });
    expect(advance(state, { node: 1, outcome: "succeeded" }).actions).toEqual([{ type: "ready", node: 2 }]);
  });

  it("refuses a node the graph does not have", () => {
    expect(() => reviveNodes(ended([node("a")], ["failed"]), [3])).toThrow(InternalError);
  });
});

describe("nodesToRevive and busyBelow", () => {
  const nodes = [node("a"), node("b", ["a"], { join: "all_done" }), node("c", ["b"]), node("d"), node("e", ["a"], { join: "all_done" })];

  it("tell which nodes would be taken back, and which have begun below them; nothing is changed", () => {
    const state = ended(nodes, ["failed", "released", "waiting", "failed", "succeeded"], allSettled());
    expect(nodesToRevive(state, [0])).toEqual([0, 4]);
    expect(busyBelow(state, [0])).toEqual([1]);
    expect(nodesToRevive(state, [3])).toEqual([3]);
    expect(busyBelow(state, [3])).toEqual([]);
    expect(nodesToRevive(state, revivableNodes(state))).toEqual([0, 3, 4]);
    expect(standingOf(state, 0)).toBe("failed");
  });
});

describe("reopenNode", () => {
  it("puts one node into the caller's hands and takes the verdict back", () => {
    const state = ended(CHAIN, ["succeeded", "succeeded", "succeeded", "failed"]);
    reopenNode(state, 3);
    expect(standingOf(state, 3)).toBe("released");
    expect(advance(state, { node: 3, outcome: "succeeded" }).actions).toEqual([{ type: "verdict", status: "succeeded" }]);
  });

  it("leaves what has ended below", () => {
    const state = ended(CHAIN, ["failed", "cancelled", "cancelled", "cancelled"]);
    reopenNode(state, 0);
    expect(advance(state, { node: 0, outcome: "succeeded" }).actions).toEqual([{ type: "verdict", status: "cancelled" }]);
  });

  it("holds back what waits below until it has ended again", () => {
    const state = ended([node("a"), node("b"), node("c", ["a", "b"])], ["succeeded", "released", "waiting"]);
    reopenNode(state, 0);
    expect(advance(state, { node: 1, outcome: "succeeded" }).actions).toEqual([]);
    expect(advance(state, { node: 0, outcome: "succeeded" }).actions).toEqual([{ type: "ready", node: 2 }]);
  });

  it("does not stop a cancellation that is under way, and opens a run that has ended", () => {
    const state = ended([node("a"), node("b"), node("c", ["a"])], ["released", "released", "waiting"], allSettled());
    closeRun(state);
    advance(state, { node: 0, outcome: "stopped" });
    reopenNode(state, 0);
    expect(advance(state, { node: 0, outcome: "succeeded" }).actions).toEqual([]);
    advance(state, { node: 1, outcome: "stopped" });
    expect(advance(state, { node: 2, outcome: "stopped" }).actions).toEqual([{ type: "verdict", status: "stopped" }]);
    reopenNode(state, 1);
    expect(state.closing).toBe(false);
  });

  it("ignores a node that has not ended", () => {
    const state = ended(CHAIN, ["waiting", "waiting", "waiting", "waiting"]);
    reopenNode(state, 1);
    expect(standingOf(state, 1)).toBe("waiting");
  });
});

describe("takeNode and returnNode", () => {
  it("keep a waiting node out of its join's reach, and give it back", () => {
    const state = ended([node("a"), node("b"), node("c", ["a", "b"])], ["released", "released", "waiting"], allSettled());
    takeNode(state, 2);
    expect(advance(state, { node: 0, outcome: "failed" }).actions).toEqual([]);
    reopenNode(state, 0);
    expect(returnNode(state, 2).actions).toEqual([]);
    expect(standingOf(state, 2)).toBe("waiting");
    expect(advance(state, { node: 0, outcome: "lost" }).actions).toMatchObject([{ type: "end", node: 2 }]);
  });

  it("give it back to a join that was decided meanwhile: it is let go or ended at once, and what lies below it as well", () => {
    const graph = [node("a"), node("b", ["a"]), node("c", ["b"])];
    const state = ended(graph, ["waiting", "waiting", "waiting"], allSettled());
    takeNode(state, 1);
    advance(state, { node: 0, outcome: "cancelled" });
    expect(returnNode(state, 1).actions).toMatchObject([
      { type: "end", node: 1, to: "cancelled", kind: "dependency_failed" },
      { type: "end", node: 2, to: "cancelled", kind: "dependency_failed" },
      { type: "verdict", status: "cancelled" },
    ]);
    const met = ended(graph, ["waiting", "waiting", "waiting"]);
    takeNode(met, 1);
    advance(met, { node: 0, outcome: "succeeded" });
    expect(returnNode(met, 1).actions).toEqual([{ type: "ready", node: 1 }]);
    expect(standingOf(met, 1)).toBe("released");
  });

  it("decide nothing while the run is being ended", () => {
    const state = ended([node("a"), node("b", ["a"])], ["released", "waiting"]);
    takeNode(state, 1);
    closeRun(state);
    advance(state, { node: 0, outcome: "stopped" });
    expect(returnNode(state, 1).actions).toEqual([]);
    expect(isClosing(state)).toBe(true);
  });

  it("leave a node that has ended as it is", () => {
    const state = ended([node("a"), node("b")], ["failed", "released"]);
    takeNode(state, 0);
    returnNode(state, 0);
    expect(standingOf(state, 0)).toBe("failed");
  });
});
