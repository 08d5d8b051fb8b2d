import type { NodeSpec } from "../../core/graph.ts";
import type { FailedItems } from "../../core/map-rules.ts";
import type { AggregationPolicy } from "../../core/policies/aggregation.ts";

/** A node as it is drawn. */
export type DrawnNode = NodeSpec & {
  /** The registered name of its task. */
  readonly task: string;
  /** What a map makes of its items. */
  readonly map?: { readonly maxParallel: number | null; readonly failedItems: FailedItems };
};

/** A pipeline's graph as it is drawn; each node comes after those it depends on. */
export interface DrawnGraph {
  readonly name: string;
  readonly aggregation: AggregationPolicy;
  readonly edgeCount: number;
  readonly nodes: readonly DrawnNode[];
}

/** What a node is called: its name, and its task's where that is another. A map is marked as one: `enrich[…]`. */
export function nodeLabel({ name, task, kind }: DrawnNode): string {
  const called = kind === "map" ? `${name}[…]` : name;
  return name === task ? called : `${called} (${task})`;
}

/** What there is to say of a node beside its name and its upstreams. */
export function nodeDetails({ join, hasCondition, map }: DrawnNode): readonly string[] {
  return [
    ...(join === "all_succeeded" ? [] : [`join ${join}`]),
    ...(hasCondition === true ? ["when …"] : []),
    ...(map === undefined || map.maxParallel === null ? [] : [`max ${map.maxParallel} at once`]),
    ...(map === undefined || map.failedItems === "fail" ? [] : [`${map.failedItems} failed items`]),
  ];
}
