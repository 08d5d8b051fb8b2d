import type { AggregationPolicy } from "./policies/aggregation.ts";
import type { RunStatus } from "./status.ts";

/** What was asked of a run and is not yet done. */
export type RunWish = "stop" | "cancel" | "pause";

/** All that is known of a pipeline run at an instant. Instants are epoch milliseconds. Source §3.3. */
export interface RunSnapshot {
  readonly runId: string;
  /** The pipeline's registered name. */
  readonly name: string;
  readonly status: RunStatus;
  /** Rises by one with every change. */
  readonly version: number;
  readonly requestedAction: RunWish | null;
  readonly aggregation: AggregationPolicy;
  readonly priority: number;
  readonly nodeCount: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** Has the run ended? */
export function isRunTerminal(status: RunStatus): boolean {
  return status === "succeeded" || status === "failed" || status === "stopped" || status === "cancelled";
}
