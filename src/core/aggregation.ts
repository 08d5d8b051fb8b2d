import { ConfigurationError } from "./errors.ts";
import type { Outcome } from "./join.ts";
import type { AggregationPolicy } from "./policies/aggregation.ts";
import type { RunStatus } from "./status.ts";
import { unreachable } from "./unreachable.ts";

/** How many nodes of a run ended how; `open` have not ended. */
export type OutcomeCounts = Readonly<Record<Outcome | "open", number>>;

/** How a run can end. Source §3.3. */
export type RunVerdict = Extract<RunStatus, "succeeded" | "failed" | "stopped" | "cancelled">;

/** Why the policy cancels what has not ended: the trigger of each of those transitions. */
export type CancelTrigger = "pipeline:fail-fast" | "pipeline:quorum-unreachable";

/**
 * Refuses a policy that this many nodes can never meet.
 * @throws ConfigurationError for a quorum larger than the number of nodes
 */
export function checkAggregation(policy: AggregationPolicy, nodeCount: number): void {
  if (policy.kind !== "quorum" || policy.count <= nodeCount) return;
  throw new ConfigurationError(
    `quorum(${policy.count}) can never be met: the pipeline has ${nodeCount} ${nodeCount === 1 ? "node" : "nodes"}. Ask for at most that many.`,
  );
}

/**
 * Does the policy cancel the rest, now that a node has ended like that? O(1).
 *
 * `failFast` answers to `failed` and `lost` alone: `cancelled` is a result, not a cause. A quorum is out of
 * reach when those that succeeded and those that have not ended are together too few; a node that waits
 * counts as able to succeed until its join is decided. Source §5.3.
 * @param counts the counts after that end and the cascades it caused
 */
export function cancelTrigger(policy: AggregationPolicy, counts: OutcomeCounts, ended: Outcome): CancelTrigger | null {
  switch (policy.kind) {
    case "fail_fast":
      return ended === "failed" || ended === "lost" ? "pipeline:fail-fast" : null;
    case "all_settled":
      return null;
    case "quorum":
      return counts.succeeded + counts.open < policy.count ? "pipeline:quorum-unreachable" : null;
    default:
      return unreachable(policy);
  }
}

/**
 * The verdict of a run whose nodes have all ended. A met quorum forgives everything; else `failed` where a
 * node failed or was lost, else `stopped`, else `cancelled`, else `succeeded`. Source §3.3, §5.3.
 */
export function judgeRun(policy: AggregationPolicy, counts: OutcomeCounts): RunVerdict {
  if (policy.kind === "quorum" && counts.succeeded >= policy.count) return "succeeded";
  if (counts.failed + counts.lost > 0) return "failed";
  if (counts.stopped > 0) return "stopped";
  return counts.cancelled > 0 ? "cancelled" : "succeeded";
}
