import { checkAggregation } from "./aggregation.ts";
import type { OutcomeCounts } from "./aggregation.ts";
import { InternalError } from "./errors.ts";
import type { Graph } from "./graph.ts";
import { at } from "./graph-at.ts";
import { classOfOutcome } from "./join.ts";
import type { Outcome, OutcomeClass, UpstreamTally } from "./join.ts";
import type { AggregationPolicy } from "./policies/aggregation.ts";

/** Where a node stands in its run: it waits for its join, was let go (queued or further), or has ended. */
export type Standing = "waiting" | "released" | Outcome;

/** A node's standing, and the tally of its direct upstreams. */
type NodeState = { standing: Standing } & { -readonly [Field in keyof UpstreamTally]: UpstreamTally[Field] };

/**
 * How far a run has come. It belongs to one driver and is changed by `beginRun`, `advance`, `reviveNodes`,
 * `reopenNode`, `takeNode`, `returnNode` and `closeRun` alone: a copy per step would cost a scan of the graph. Read it through
 * `standingOf`, `countsOf`, `openNodes`, `isClosing` and `verdictOf`.
 */
export interface RunState {
  readonly graph: Graph;
  readonly aggregation: AggregationPolicy;
  readonly nodes: readonly NodeState[];
  readonly counts: { -readonly [Key in keyof OutcomeCounts]: OutcomeCounts[Key] };
  /** Whatever is open is being ended by the caller: nothing is let go, nothing cascades. */
  closing: boolean;
  /** The verdict was given; a revival takes it back. */
  declared: boolean;
  /** Nodes that count as ended though they have still to wind down (a map whose items are being cancelled): the verdict waits for them. */
  readonly windingDown: Set<number>;
}

/** How to make a run's state. */
export interface RunStateOptions {
  readonly aggregation: AggregationPolicy;
  /** One per node, to carry a stored run on; default: all wait. */
  readonly standings?: readonly Standing[];
}

/**
 * The state of a run, new or stored; `beginRun` says what is to be done first. O(nodes + edges).
 * @throws ConfigurationError for a quorum larger than the number of nodes
 * @throws InternalError where `standings` does not fit the graph
 */
export function createRunState(graph: Graph, options: RunStateOptions): RunState {
  const count = graph.nodes.length;
  checkAggregation(options.aggregation, count);
  const nodes = graph.upstream.map((list): NodeState => ({ standing: "waiting", succeeded: 0, skipped: 0, failed: 0, open: list.length }));
  const counts = { succeeded: 0, failed: 0, stopped: 0, cancelled: 0, skipped: 0, lost: 0, open: count };
  const state: RunState = { graph, aggregation: options.aggregation, nodes, counts, closing: false, declared: false, windingDown: new Set() };
  if (options.standings === undefined) return state;
  if (options.standings.length !== count) throw new InternalError(`${options.standings.length} standings were given for a graph of ${count} nodes.`);
  for (const [node, standing] of options.standings.entries()) moveNode(state, node, standing);
  return state;
}

/** Sets a node's standing and keeps every counter right. O(out-degree); decides nothing. */
export function moveNode(state: RunState, node: number, to: Standing): void {
  const self = at(state.nodes, node);
  const from = self.standing;
  if (from === to) return;
  self.standing = to;
  state.counts[countKey(from)] -= 1;
  state.counts[countKey(to)] += 1;
  const [left, entered] = [tallyKey(from), tallyKey(to)];
  if (left === entered) return;
  for (const below of at(state.graph.downstream, node)) {
    const tally = at(state.nodes, below);
    tally[left] -= 1;
    tally[entered] += 1;
  }
}

function countKey(standing: Standing): Outcome | "open" {
  return isEnded(standing) ? standing : "open";
}

function tallyKey(standing: Standing): OutcomeClass | "open" {
  return isEnded(standing) ? classOfOutcome(standing) : "open";
}

/** Has a node of that standing ended? */
export function isEnded(standing: Standing): standing is Outcome {
  return standing !== "waiting" && standing !== "released";
}

/** Where that node stands. */
export function standingOf(state: RunState, node: number): Standing {
  return at(state.nodes, node).standing;
}

/** How many nodes ended how, a copy. O(1). */
export function countsOf(state: RunState): OutcomeCounts {
  return { ...state.counts };
}

/** Has every node ended, with nothing left to wind down? */
export function isOver(state: RunState): boolean {
  return state.counts.open === 0 && state.windingDown.size === 0;
}

/** The nodes that have not ended, each after its upstreams. A scan: not for every step. */
export function openNodes(state: RunState): readonly number[] {
  return state.graph.order.filter((node) => !isEnded(standingOf(state, node)));
}

/** Is the rest being ended, and has not ended yet? Until then `reviveNodes` is refused. */
export function isClosing(state: RunState): boolean {
  return state.closing && !isOver(state);
}

/**
 * The caller ends what is open, for reasons of its own (`run.stop`, `run.cancel`, a closing controller):
 * from now on nothing is let go and nothing cascades; each end is still reported to `advance`, and the
 * verdict comes after the last.
 * @returns the nodes to end, each after its upstreams
 */
export function closeRun(state: RunState): readonly number[] {
  state.closing = true;
  return state.graph.order.filter((node) => !isEnded(standingOf(state, node)) || state.windingDown.has(node));
}
