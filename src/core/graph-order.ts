import { InternalError } from "./errors.ts";
import { at } from "./graph-at.ts";

type Edges = readonly (readonly number[])[];

/**
 * Puts every node after its upstreams; nodes that are free at the same time keep their order. O(nodes +
 * edges), no recursion. Nodes on a cycle, or below one, are missing from the answer.
 */
export function topologicalOrder(upstream: Edges, downstream: Edges): readonly number[] {
  const open = upstream.map((list) => list.length);
  const order: number[] = [];
  for (const [node, count] of open.entries()) if (count === 0) order.push(node);
  // `order` is the queue as well: it grows while it is walked.
  for (const node of order) {
    for (const below of at(downstream, node)) {
      const left = at(open, below) - 1;
      open[below] = left;
      if (left === 0) order.push(below);
    }
  }
  return order;
}

/**
 * A cycle among the nodes that `topologicalOrder` left out, each node followed by one it depends on, the
 * first repeated at the end. It begins with the node of the cycle that was declared first.
 *
 * Each node that was left out has an upstream that was left out too, so walking up must come back to a
 * node already seen: no search, no recursion.
 */
export function findCycle(upstream: Edges, order: readonly number[]): readonly number[] {
  const sorted = new Set(order);
  const seenAt = new Map<number, number>();
  const walk: number[] = [];
  let node = upstream.findIndex((_, index) => !sorted.has(index));
  while (!seenAt.has(node)) {
    seenAt.set(node, walk.length);
    walk.push(node);
    node = leftOut(at(upstream, node), sorted);
  }
  const cycle = walk.slice(seenAt.get(node));
  const first = cycle.indexOf(cycle.reduce((least, index) => Math.min(least, index)));
  return [...cycle.slice(first), ...cycle.slice(0, first), at(cycle, first)];
}

function leftOut(upstreams: readonly number[], sorted: ReadonlySet<number>): number {
  const found = upstreams.find((index) => !sorted.has(index));
  if (found === undefined) throw new InternalError("findCycle was asked about a graph without a cycle.");
  return found;
}
