import type { ReasonFact, UpstreamWait } from "../core/explanation.ts";
import type { Graph } from "../core/graph.ts";
import { at } from "../core/graph-at.ts";
import { effectiveOutcome, isOutcome } from "../core/join.ts";
import type { Cell } from "./cell.ts";

/** So many nodes are named. */
const NAMED = 10;

/** What a node waits for that is blocked: those upstream that are open first, then those that ended otherwise than well. O(upstreams). */
export function upstreamWaits(graph: Graph, cells: readonly Cell[], node: number): readonly ReasonFact[] {
  if (at(cells, node).snapshot.status !== "blocked") return [];
  const open: UpstreamWait[] = [];
  const others: UpstreamWait[] = [];
  for (const upstream of at(graph.upstream, node)) {
    const { snapshot } = at(cells, upstream);
    const { status, taskId, skippedBy } = snapshot;
    const wait = { node: at(graph.nodes, upstream).name, taskId, status };
    if (!isOutcome(status)) open.push(wait);
    else if (effectiveOutcome(status, skippedBy !== null) !== "succeeded") others.push(wait);
  }
  return [{ kind: "upstream", join: at(graph.nodes, node).join, open: open.length, nodes: (open.length > 0 ? open : others).slice(0, NAMED) }];
}
