import { cancelTrigger, judgeRun } from "./aggregation.ts";
import type { CancelTrigger, RunVerdict } from "./aggregation.ts";
import { InternalError } from "./errors.ts";
import { at } from "./graph-at.ts";
import { isEnded, isOver, moveNode, openNodes, standingOf } from "./graph-run-state.ts";
import type { RunState } from "./graph-run-state.ts";
import { classOfOutcome, judgeJoin } from "./join.ts";
import type { JoinVerdict, Outcome } from "./join.ts";
import { unreachable } from "./unreachable.ts";

/** Something the caller has to do, in the order given. Nodes are known by their number. Source §3.3. */
export type Action =
  /** The node's join is met: queue it. Given once per life of a node. */
  | { readonly type: "ready"; readonly node: number }
  | EndAction
  /** End every node listed, running ones included, then report each to `advance`. */
  | { readonly type: "cancelRest"; readonly nodes: readonly number[]; readonly trigger: CancelTrigger; readonly reason: string }
  /** All nodes have ended. Given once; a revival makes way for another. */
  | { readonly type: "verdict"; readonly status: RunVerdict };

/** The node can never run: end it like that. The engine counts it as ended already; no report is needed. */
export interface EndAction {
  readonly type: "end";
  readonly node: number;
  readonly to: "skipped" | "cancelled";
  /** The failure kind to record. */
  readonly kind: "condition_false" | "dependency_failed";
  /** The upstreams that are the reason. */
  readonly upstream: readonly number[];
}

/** A node has ended. */
export interface NodeReport {
  readonly node: number;
  /** As it counts: see `effectiveOutcome`. */
  readonly outcome: Outcome;
  /**
   * It is certain to end like that and has still to wind down: what follows follows now, but the verdict waits until it is
   * reported once more. Default false.
   */
  readonly isWindingDown?: boolean;
}

/** What is to be done next. */
export interface Advance {
  readonly actions: readonly Action[];
}

/** How a run is begun or carried on. */
export interface BeginOptions {
  /**
   * A person has retried this run, so the failures that are on record already were answered and must not
   * cancel what was revived. Default false.
   */
  readonly retried?: boolean;
}

/**
 * The first actions of a run: roots are ready, an empty run has its verdict. For a stored run: whatever was
 * decided but not carried out before the crash (a join that is met, a cascade, a fail-fast, the verdict).
 * O(nodes + edges).
 */
export function beginRun(state: RunState, options: BeginOptions = {}): Advance {
  const decided = decideInOrder(state, state.graph.order);
  const cause = options.retried === true ? null : failureOnRecord(state);
  return { actions: [...actionsFor(state, decided), ...concludeRun(state, cause)] };
}

/**
 * Tells the engine that a node has ended, and answers what follows from it: cascades first, complete at once
 * and however deep, then what the policy cancels, then the verdict. Amortised O(out-degree), no recursion;
 * a cancelled rest costs one scan.
 *
 * A report about a node that has ended already changes its outcome (a person skipped or forced it): nodes
 * below that still wait are judged again, those that were let go or have ended stay as they are, and a
 * verdict that was given stands until a revival. The same outcome again changes nothing.
 * @throws InternalError for a node the graph does not have
 */
export function advance(state: RunState, report: NodeReport): Advance {
  const wasWindingDown = state.windingDown.delete(report.node);
  if (report.isWindingDown === true) state.windingDown.add(report.node);
  if (standingOf(state, report.node) === report.outcome) return { actions: wasWindingDown ? concludeRun(state, null) : [] };
  moveNode(state, report.node, report.outcome);
  const decided = cascadeFrom(state, report.node);
  return { actions: [...actionsFor(state, decided), ...concludeRun(state, report)] };
}

/** The verdict as things stand, whether or not it was given; `null` while a node is open. O(1). */
export function verdictOf(state: RunState): RunVerdict | null {
  return isOver(state) ? judgeRun(state.aggregation, state.counts) : null;
}

/** Judges those of the nodes that wait; each must come after its upstreams. Answers which were decided. */
export function decideInOrder(state: RunState, nodes: readonly number[]): readonly number[] {
  return nodes.filter((node) => decide(state, node));
}

/** Judges one node that waits, and what follows from it where its join is decided. */
export function judgeNode(state: RunState, node: number): Advance {
  if (!decide(state, node)) return { actions: [] };
  const outcome = standingOf(state, node);
  if (!isEnded(outcome)) return { actions: actionsFor(state, [node]) };
  return { actions: [...actionsFor(state, [node, ...cascadeFrom(state, node)]), ...concludeRun(state, { node, outcome })] };
}

function cascadeFrom(state: RunState, ended: number): readonly number[] {
  const decided: number[] = [];
  const queue = [ended];
  // `queue` grows while it is walked: this is the cascade, without recursion.
  for (const node of queue) {
    for (const below of at(state.graph.downstream, node)) {
      if (!decide(state, below)) continue;
      decided.push(below);
      if (isEnded(standingOf(state, below))) queue.push(below);
    }
  }
  return decided;
}

/** Lets a waiting node go or ends it, where its join is decided; says whether it was. */
function decide(state: RunState, node: number): boolean {
  if (state.closing || standingOf(state, node) !== "waiting") return false;
  const verdict = verdictOn(state, node);
  if (verdict === "waiting") return false;
  moveNode(state, node, verdict === "ready" ? "released" : endStatus(state, node, verdict.unmet));
  return true;
}

function verdictOn(state: RunState, node: number): JoinVerdict {
  return judgeJoin(at(state.graph.nodes, node).join, at(state.nodes, node));
}

function endStatus(state: RunState, node: number, reason: "skipped" | "dependency_failed"): EndAction["to"] {
  if (reason === "skipped") return "skipped";
  const rule = at(state.graph.nodes, node).onUpstreamFailure;
  switch (rule) {
    case "cancel":
      return "cancelled";
    case "skip":
      return "skipped";
    default:
      return unreachable(rule);
  }
}

/** Made after the whole cascade, so that each end names all the upstreams that are its reason by then. */
export function actionsFor(state: RunState, decided: readonly number[]): readonly Action[] {
  return decided.map((node) => (standingOf(state, node) === "released" ? { type: "ready", node } : endAction(state, node)));
}

function endAction(state: RunState, node: number): EndAction {
  const verdict = verdictOn(state, node);
  if (typeof verdict === "string") throw new InternalError(`node ${node} was ended although its join is ${verdict}.`);
  const cause = verdict.unmet === "skipped" ? "skipped" : "failed";
  const upstream = at(state.graph.upstream, node).filter((above) => {
    const standing = standingOf(state, above);
    return isEnded(standing) && classOfOutcome(standing) === cause;
  });
  return {
    type: "end",
    node,
    to: endStatus(state, node, verdict.unmet),
    kind: cause === "skipped" ? "condition_false" : "dependency_failed",
    upstream,
  };
}

/**
 * What the whole run owes after its nodes have moved: the cancelled rest, or the verdict.
 * @param cause what may set the policy off; `null` where nothing may (a person's retry)
 */
export function concludeRun(state: RunState, cause: NodeReport | null): readonly Action[] {
  const status = verdictOf(state);
  if (status !== null) {
    if (state.declared) return [];
    state.declared = true;
    return [{ type: "verdict", status }];
  }
  if (state.closing || cause === null) return [];
  const trigger = cancelTrigger(state.aggregation, state.counts, cause.outcome);
  if (trigger === null) return [];
  state.closing = true;
  return [{ type: "cancelRest", nodes: openNodes(state), trigger, reason: reasonOf(state, trigger, cause) }];
}

function reasonOf(state: RunState, trigger: CancelTrigger, cause: NodeReport): string {
  const { succeeded, open } = state.counts;
  switch (trigger) {
    case "pipeline:fail-fast":
      return `node "${at(state.graph.nodes, cause.node).name}" ${cause.outcome === "lost" ? "was lost" : "failed"}`;
    case "pipeline:quorum-unreachable":
      return `${succeeded} succeeded and ${open} have not ended: too few for the quorum`;
    default:
      return unreachable(trigger);
  }
}

/** A node whose end may have gone unanswered: a failed or lost one if there is one, else any that has ended. */
function failureOnRecord(state: RunState): NodeReport | null {
  let found: NodeReport | null = null;
  for (const node of state.graph.order) {
    const outcome = standingOf(state, node);
    if (!isEnded(outcome)) continue;
    found = { node, outcome };
    if (outcome === "failed" || outcome === "lost") break;
  }
  return found;
}
