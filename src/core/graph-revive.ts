import { InternalError } from "./errors.ts";
import { at } from "./graph-at.ts";
import { actionsFor, concludeRun, decideInOrder, judgeNode } from "./graph-advance.ts";
import type { Action, Advance } from "./graph-advance.ts";
import { isClosing, isEnded, isOver, moveNode, standingOf } from "./graph-run-state.ts";
import type { RunState, Standing } from "./graph-run-state.ts";
import { REVIVABLE } from "./transitions.ts";

/** What a retry of a run has to do. Nodes are known by their number, each after its upstreams. Source §3.3. */
export interface Revival {
  /** Revive with the verb `retry`: they are queued at once. The engine counts them as let go. */
  readonly retry: readonly number[];
  /** Revive with `rerun`: to `pending`, history kept; an action lets each go when its join is met. */
  readonly rerun: readonly number[];
  /** What follows at once, to be done after both: see `advance`. */
  readonly actions: readonly Action[];
}

/** The nodes that `run.retry()` runs again: failed, lost, cancelled or stopped. A scan. */
export function revivableNodes(state: RunState): readonly number[] {
  return state.graph.order.filter((node) => isRevivable(standingOf(state, node)));
}

function isRevivable(standing: Standing): boolean {
  return isEnded(standing) && REVIVABLE.has(standing);
}

/**
 * Takes back the end of these nodes and of every ended node below them, as `run.retry()` does with
 * `revivableNodes(state)` and `run.retry({ from })` with one node. Nodes that have not ended are left alone,
 * but what has ended below them is taken back. A node given here whose join is met without waiting is
 * retried; everything else is rerun: a cascaded node whose upstream runs again has to wait for it. A node
 * whose join stays out of reach ends again. Old failures elsewhere set no policy off: a retry is a wish.
 * @throws InternalError while `isClosing`: wait until the run has ended
 */
export function reviveNodes(state: RunState, nodes: Iterable<number>): Revival {
  if (isClosing(state)) {
    throw new InternalError(`a run cannot be revived while ${state.counts.open} of its nodes are being cancelled. Wait until it has ended.`);
  }
  const given = new Set(nodes);
  const revived = nodesToRevive(state, given);
  if (revived.length === 0) return { retry: [], rerun: [], actions: [] };
  const retriable = new Set(revived.filter((node) => given.has(node) && isRevivable(standingOf(state, node))));
  state.closing = false;
  state.declared = false;
  for (const node of revived) moveNode(state, node, "waiting");
  const decided = decideInOrder(state, revived);
  const retry = decided.filter((node) => retriable.has(node) && standingOf(state, node) === "released");
  const retried = new Set(retry);
  const others = decided.filter((node) => !retried.has(node));
  return {
    retry,
    rerun: revived.filter((node) => !retried.has(node)),
    actions: [...actionsFor(state, others), ...concludeRun(state, null)],
  };
}

/** Those of the nodes that have ended, and every ended node below them: what `reviveNodes` takes back. O(nodes + edges). */
export function nodesToRevive(state: RunState, nodes: Iterable<number>): readonly number[] {
  const reached = withDescendants(state, nodes);
  return state.graph.order.filter((node) => reached.has(node) && isEnded(standingOf(state, node)));
}

/** The nodes below these that were let go and have not ended: they have begun with what is to be taken back. O(nodes + edges). */
export function busyBelow(state: RunState, nodes: Iterable<number>): readonly number[] {
  const reached = withDescendants(state, nodes);
  return state.graph.order.filter((node) => reached.has(node) && standingOf(state, node) === "released");
}

/**
 * One ended node was revived by itself (`retry`, `reset` or a force on its task): it is open again and in
 * the caller's hands, no action lets it go. What has ended below it stays; a verdict that was given is
 * taken back. Nothing happens to a node that has not ended.
 */
export function reopenNode(state: RunState, node: number): void {
  if (!isEnded(standingOf(state, node))) return;
  state.windingDown.delete(node);
  if (isOver(state)) state.closing = false;
  state.declared = false;
  moveNode(state, node, "released");
}

/**
 * A node that waits is put into the caller's hands (reset, or forced back to the start): its join neither lets it go nor
 * ends it any more. Nothing happens to a node that does not wait.
 */
export function takeNode(state: RunState, node: number): void {
  if (standingOf(state, node) === "waiting") moveNode(state, node, "released");
}

/**
 * A node in the caller's hands waits for its join again, and is judged at once: what its upstreams have come to
 * meanwhile may let it go or end it. While the run is being ended nothing is decided: that is for the caller to
 * end. Nothing happens to a node that is not in its hands.
 */
export function returnNode(state: RunState, node: number): Advance {
  if (standingOf(state, node) !== "released") return { actions: [] };
  moveNode(state, node, "waiting");
  return judgeNode(state, node);
}

function withDescendants(state: RunState, nodes: Iterable<number>): ReadonlySet<number> {
  const reached = new Set<number>(nodes);
  // A set that grows while it is walked is its own queue.
  for (const node of reached) for (const below of at(state.graph.downstream, node)) reached.add(below);
  return reached;
}
