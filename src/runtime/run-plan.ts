import type { Graph } from "../core/graph.ts";
import type { FailedItems } from "../core/map-rules.ts";
import type { AggregationPolicy } from "../core/policies/aggregation.ts";
import { NOT_HELD } from "../core/run.ts";
import type { RunSnapshot } from "../core/run.ts";
import type { BucketChoice } from "./buckets.ts";
import type { TaskDefinition } from "./task-definition.ts";

/** Reads the value of an upstream node. */
export type UpstreamReader = (node: { readonly name: string }) => unknown;

/** What a map makes of its items. */
export interface MapPlan {
  /** At most so many at once; `null`: no limit of its own. */
  readonly maxParallel: number | null;
  readonly failedItems: FailedItems;
}

/** One node of a run, ready to be driven. */
export interface NodePlan {
  readonly name: string;
  /** Of its task; for a map of each item. */
  readonly definition: TaskDefinition;
  readonly priority: number;
  /** For a map of each item, too. Default: none. */
  readonly bucket?: BucketChoice | undefined;
  /** Only of a map. */
  readonly map?: MapPlan;
  /** Fixed arguments, or a function of the upstream values. For a map a function that returns the list of items as the only argument. */
  readonly args: readonly unknown[] | ((up: UpstreamReader) => unknown);
  readonly when: ((up: UpstreamReader) => unknown) | null;
}

/** A pipeline built for one run. */
export interface RunPlan {
  readonly pipeline: string;
  readonly params: readonly unknown[];
  readonly graph: Graph;
  /** In the order of the graph's nodes. */
  readonly nodes: readonly NodePlan[];
  readonly aggregation: AggregationPolicy;
  readonly priority: number;
}

/** The run as planned: nothing of it has begun. */
export function plannedRun(plan: RunPlan, runId: string, createdAt: number): RunSnapshot {
  return {
    runId,
    name: plan.pipeline,
    status: "pending",
    version: 0,
    ...NOT_HELD,
    aggregation: plan.aggregation,
    priority: plan.priority,
    nodeCount: plan.nodes.length,
    createdAt,
    startedAt: null,
    endedAt: null,
  };
}
