import type { AggregationPolicy } from "./policies/aggregation.ts";
import type { RunStatus, TaskStatus } from "./status.ts";

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
  /** Who paused it: nothing of it begins until it is resumed. `null`: it is not held. */
  readonly pausedBy: string | null;
  /** Why, where whoever paused it said so. */
  readonly pauseReason: string | null;
  readonly aggregation: AggregationPolicy;
  readonly priority: number;
  readonly nodeCount: number;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
}

/** What a run says that is held no longer, nor asked for anything. */
export const NOT_HELD = { requestedAction: null, pausedBy: null, pauseReason: null } as const satisfies Partial<RunSnapshot>;

/** Has the run ended? */
export function isRunTerminal(status: RunStatus): boolean {
  return status === "succeeded" || status === "failed" || status === "stopped" || status === "cancelled";
}

/** A node that runs on though its run was paused. */
export interface UnpausedNode {
  readonly name: string;
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly reason: string;
}

/** What became of a run's pause. Source §3.3. */
export interface RunPauseReport {
  /** `paused`: nothing of it runs; `pausing`: what is listed runs on; else it was resumed, stopped or has ended meanwhile. */
  readonly status: RunStatus;
  /** The nodes that could not be paused. What has not begun is held nevertheless. */
  readonly unpaused: readonly UnpausedNode[];
}
