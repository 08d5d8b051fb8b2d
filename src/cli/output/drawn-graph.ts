import type { NodeSpec } from "../../core/graph.ts";
import type { AggregationPolicy } from "../../core/policies/aggregation.ts";

/** A node as it is drawn. */
export type DrawnNode = NodeSpec & {
  /** The registered name of its task. */
  readonly task: string;
};

/** A pipeline's graph as it is drawn; each node comes after those it depends on. */
export interface DrawnGraph {
  readonly name: string;
  readonly aggregation: AggregationPolicy;
  readonly edgeCount: number;
  readonly nodes: readonly DrawnNode[];
}

/** What a node is called: its name, and its task's where that is another. */
export function nodeLabel({ name, task }: DrawnNode): string {
  return name === task ? name : `${name} (${task})`;
}
