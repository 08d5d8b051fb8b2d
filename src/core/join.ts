import { TASK_STATUSES } from "./status.ts";
import type { TaskStatus } from "./status.ts";
import { isTerminal } from "./transitions.ts";
import type { TRANSITIONS } from "./transitions.ts";
import { unreachable } from "./unreachable.ts";

/** Every way a node can depend on its direct upstreams; the first is the default. Source §3.3. */
export const JOINS = ["all_succeeded", "none_failed", "any_succeeded", "all_done"] as const;

/**
 * What a node asks of its direct upstreams: that all have succeeded (default), that all have succeeded or
 * were skipped, that one has succeeded (it starts as soon as one has), or only that all have ended.
 * Source §3.3.
 */
export type Join = (typeof JOINS)[number];

/** How a node can have ended: the statuses with no way out, taken from the transition table. */
export type Outcome = { readonly [S in TaskStatus]: (typeof TRANSITIONS)[S] extends readonly [] ? S : never }[TaskStatus];

/** Has the task ended, and so has an outcome? */
export function isOutcome(status: TaskStatus): status is Outcome {
  return isTerminal(status);
}

/** Every outcome, in the order of the statuses. */
export const OUTCOMES: readonly Outcome[] = TASK_STATUSES.filter(isOutcome);

/**
 * The outcome that counts for joins, quorum and verdict: a node that a person skipped counts as succeeded;
 * one that its condition or a policy skipped does not. Source §3.3.
 */
export function effectiveOutcome(status: Outcome, skippedByPerson: boolean): Outcome {
  return status === "skipped" && skippedByPerson ? "succeeded" : status;
}

/** How an outcome counts in a join: `failed` is everything that is neither success nor skip. */
export type OutcomeClass = "succeeded" | "skipped" | "failed";

/** Sorts an outcome into the three classes that joins tell apart. */
export function classOfOutcome(outcome: Outcome): OutcomeClass {
  switch (outcome) {
    case "succeeded":
    case "skipped":
      return outcome;
    case "failed":
    case "lost":
    case "cancelled":
    case "stopped":
      return "failed";
    default:
      return unreachable(outcome);
  }
}

/** How many direct upstreams of a node are in each class; `open` have not ended. */
export type UpstreamTally = Readonly<Record<OutcomeClass | "open", number>>;

/** What a join says: the node may run, has to wait, or can never run, and for which reason. */
export type JoinVerdict = "ready" | "waiting" | { readonly unmet: "skipped" | "dependency_failed" };

const UNMET_SKIPPED = Object.freeze({ unmet: "skipped" } as const);
const UNMET_FAILED = Object.freeze({ unmet: "dependency_failed" } as const);

/**
 * Judges a join from counters alone, O(1). A node without upstreams is ready under every join.
 *
 * The verdict does not depend on the order in which upstreams end. A failure that makes the join
 * impossible decides at once; a skip decides only when every upstream has ended, since a failure that
 * comes later would take precedence. Source §3.3.
 */
export function judgeJoin(join: Join, tally: UpstreamTally): JoinVerdict {
  switch (join) {
    case "all_succeeded":
      if (tally.failed > 0) return UNMET_FAILED;
      if (tally.open > 0) return "waiting";
      return tally.skipped > 0 ? UNMET_SKIPPED : "ready";
    case "none_failed":
      if (tally.failed > 0) return UNMET_FAILED;
      return tally.open > 0 ? "waiting" : "ready";
    case "any_succeeded":
      return judgeAny(tally);
    case "all_done":
      return tally.open > 0 ? "waiting" : "ready";
    default:
      return unreachable(join);
  }
}

function judgeAny(tally: UpstreamTally): JoinVerdict {
  if (tally.succeeded > 0) return "ready";
  if (tally.open > 0) return "waiting";
  if (tally.failed > 0) return UNMET_FAILED;
  return tally.skipped > 0 ? UNMET_SKIPPED : "ready";
}
