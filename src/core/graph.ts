import { describeValue } from "./describe-value.ts";
import { CircularDependency, ConfigurationError } from "./errors.ts";
import { at } from "./graph-at.ts";
import { checkItemNames, checkNodeName } from "./graph-names.ts";
import { findCycle, topologicalOrder } from "./graph-order.ts";
import { JOINS } from "./join.ts";
import type { Join } from "./join.ts";
import { nearestNames } from "./nearest.ts";
import { checkOneOf } from "./options.ts";

/** How a node can end when an upstream failed; the first is the default. */
export const UPSTREAM_FAILURE_RULES = ["cancel", "skip"] as const;

/** A node whose upstream failed ends `cancelled` or `skipped`. Source §3.3. */
export type UpstreamFailureRule = (typeof UPSTREAM_FAILURE_RULES)[number];

/** A node of a pipeline, as the rules see it. Source §3.3. */
export interface NodeSpec {
  /** Unique in its pipeline. */
  readonly name: string;
  /** The names of its direct upstreams, each once. */
  readonly deps: readonly string[];
  readonly join: Join;
  readonly onUpstreamFailure: UpstreamFailureRule;
  /** It has a `when`, so it may end `skipped` by itself. Default false. */
  readonly hasCondition?: boolean;
  readonly kind: "task" | "map";
}

/** A checked graph. Nodes are known by their number, from 0 in the order of declaration. Never changed. */
export interface Graph {
  readonly nodes: readonly NodeSpec[];
  readonly indexByName: ReadonlyMap<string, number>;
  /** The direct upstreams of each node, in the order of its `deps`. */
  readonly upstream: readonly (readonly number[])[];
  /** The nodes directly below each node, in the order of declaration. */
  readonly downstream: readonly (readonly number[])[];
  /** Every node after all its upstreams. */
  readonly order: readonly number[];
  readonly edgeCount: number;
}

/**
 * Builds and checks the graph of a pipeline, in time linear in nodes and edges and without recursion.
 * @throws ConfigurationError for a bad or repeated name, a dependency that does not exist (the nearest
 * names are shown) or is named twice, or an unknown `join` or `onUpstreamFailure`
 * @throws CircularDependency with the path, each node followed by one it depends on. Source §3.3.
 */
export function buildGraph(nodes: readonly NodeSpec[]): Graph {
  const indexByName = indexNames(nodes);
  const upstream = nodes.map((node) => resolveDeps(node, indexByName));
  const downstream: number[][] = nodes.map(() => []);
  for (const [index, list] of upstream.entries()) for (const above of list) at(downstream, above).push(index);
  const order = topologicalOrder(upstream, downstream);
  if (order.length < nodes.length) {
    throw new CircularDependency(findCycle(upstream, order).map((index) => at(nodes, index).name));
  }
  const edgeCount = upstream.reduce((sum, list) => sum + list.length, 0);
  return { nodes, indexByName, upstream, downstream, order, edgeCount };
}

/**
 * The number of the node with that name.
 * @throws ConfigurationError that shows the nearest names
 */
export function nodeIndex(graph: Graph, name: string): number {
  const index = graph.indexByName.get(name);
  if (index !== undefined) return index;
  throw new ConfigurationError(`the pipeline has no node named ${describeValue(name)}.${didYouMean(name, graph.indexByName.keys())}`);
}

function indexNames(nodes: readonly NodeSpec[]): ReadonlyMap<string, number> {
  const indexByName = new Map<string, number>();
  const mapNames = new Set<string>();
  for (const [index, node] of nodes.entries()) {
    checkNode(node);
    if (indexByName.has(node.name)) throw new ConfigurationError(`two nodes are named ${describeValue(node.name)}. Give one of them another name.`);
    indexByName.set(node.name, index);
    if (node.kind === "map") mapNames.add(node.name);
  }
  checkItemNames(indexByName.keys(), mapNames);
  return indexByName;
}

function checkNode(node: NodeSpec): void {
  checkNodeName(node.name);
  const label = `node ${describeValue(node.name)}`;
  checkOneOf(node.join, JOINS, `${label}: join`);
  checkOneOf(node.onUpstreamFailure, UPSTREAM_FAILURE_RULES, `${label}: onUpstreamFailure`);
}

function resolveDeps(node: NodeSpec, indexByName: ReadonlyMap<string, number>): readonly number[] {
  const seen = new Set<string>();
  return node.deps.map((dep) => {
    const index = indexByName.get(dep);
    if (index === undefined) {
      throw new ConfigurationError(
        `node ${describeValue(node.name)} depends on ${describeValue(dep)}, and the pipeline has no node of that name.${didYouMean(dep, indexByName.keys())}`,
      );
    }
    if (seen.has(dep)) throw new ConfigurationError(`node ${describeValue(node.name)} names ${describeValue(dep)} twice in its deps. Name it once.`);
    seen.add(dep);
    return index;
  });
}

function didYouMean(requested: string, names: Iterable<string>): string {
  const nearest = nearestNames(requested, names).map((name) => describeValue(name));
  return nearest.length === 0 ? "" : ` Did you mean ${nearest.join(" or ")}?`;
}
