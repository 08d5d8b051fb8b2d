import type { OutcomeCounts } from "../core/aggregation.ts";
import { TaskCancelled } from "../core/errors.ts";
import { createFailure } from "../core/failure.ts";
import type { Failure, FailureCause } from "../core/failure.ts";
import { effectiveOutcome, isOutcome } from "../core/join.ts";
import type { Outcome } from "../core/join.ts";
import { ITEMS_FAILED, judgeItems } from "../core/map-rules.ts";
import type { FailedItems } from "../core/map-rules.ts";
import type { Settlement } from "../core/ports/executor.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { MAX_CAUSES } from "../core/thrown.ts";
import { unreachable } from "../core/unreachable.ts";
import { OutcomeOmitted } from "../core/verdict.ts";

const NO_REASON = "no reason is on record";

/** How a map whose items have all ended is to end. */
export interface MapEnd {
  readonly settlement: Settlement;
  /** What it is to be asked first, where nobody has and its items were ended one by one. */
  readonly endedBy: { readonly verb: "stop" | "cancel"; readonly reason: string } | null;
}

/**
 * Reads the end of a map from those of its items.
 * @param stopMessage what it was told when it was asked to end; `null`: it was not
 */
export function settlementOf(
  items: readonly TaskSnapshot[],
  { rule, stopMessage }: { readonly rule: FailedItems; readonly stopMessage: string | null },
): MapEnd {
  const counts = countItems(items);
  // What was cut short has no result, whatever the map keeps.
  const wasCut = stopMessage !== null && counts.stopped + counts.cancelled > 0;
  // A failure that it would have kept is none of its own then, either; a lost item is: nobody knows what it still does.
  const verdict = wasCut ? judgeItems(rule === "keep" ? { ...counts, failed: 0 } : counts, "fail") : judgeItems(counts, rule);
  switch (verdict) {
    case "succeeded":
      return { settlement: { type: "returned", value: resultsOf(items, rule), noticed: false }, endedBy: null };
    case "failed":
      return { settlement: { type: "died", failure: itemsFailure(items) }, endedBy: null };
    case "stopped":
    case "cancelled": {
      const reason = stopMessage ?? whoEndedIt(items, verdict);
      const settlement: Settlement = { type: "threw", error: new TaskCancelled(reason), noticed: true };
      return { settlement, endedBy: stopMessage === null ? { verb: verdict === "stopped" ? "stop" : "cancel", reason } : null };
    }
    default:
      return unreachable(verdict);
  }
}

function countItems(items: readonly TaskSnapshot[]): OutcomeCounts {
  const counts: Record<Outcome | "open", number> = { succeeded: 0, failed: 0, stopped: 0, cancelled: 0, skipped: 0, lost: 0, open: 0 };
  for (const item of items) counts[outcomeOf(item) ?? "open"] += 1;
  return counts;
}

/** The results in the order of the items, or why there are none. */
function resultsOf(items: readonly TaskSnapshot[], rule: FailedItems): unknown {
  const results: unknown[] = [];
  for (const item of items) {
    const isMissing = item.outcomeMissing !== null && item.outcome === undefined;
    if (rule === "keep" && (isMissing || outcomeOf(item) !== "succeeded")) results.push(keptFailure(item));
    else if (isMissing) return new OutcomeOmitted(`its item ${nameOf(item)} was ${item.outcomeMissing}`);
    else results.push(item.outcome);
  }
  return results;
}

/** The kind is that of the first that failed. Its causes are what went wrong with the items, each once. */
function itemsFailure(items: readonly TaskSnapshot[]): Failure {
  const failed = items.filter(({ status }) => status === "failed" || status === "lost");
  const [first] = failed.toSorted((a, b) => (a.endedAt ?? 0) - (b.endedAt ?? 0));
  return createFailure({
    kind: first?.failure?.kind ?? "exception",
    name: ITEMS_FAILED,
    message: `${failed.length} of ${items.length} items did not succeed${first === undefined ? "" : `; the first was ${nameOf(first)} (${first.status}, ${first.taskId}): ${first.failure?.message ?? NO_REASON}`}`,
    causes: distinctFailures(failed),
  });
}

/** `enrich[3]`, or `12 items, first enrich[3]`, and why; where there are too many the last says how many more. */
function distinctFailures(failed: readonly TaskSnapshot[]): readonly FailureCause[] {
  const groups = new Map<string, TaskSnapshot[]>();
  for (const item of failed) {
    const key = JSON.stringify([item.status, item.failure?.kind, item.failure?.name, item.failure?.message]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  const all = [...groups.values()].map(causeOf);
  if (all.length <= MAX_CAUSES) return all;
  const told = groups.values().take(MAX_CAUSES - 1);
  const rest = told.reduce((left, group) => left - group.length, failed.length);
  return [...all.slice(0, MAX_CAUSES - 1), { name: `${rest} more items`, message: `${all.length - MAX_CAUSES + 1} other failures`, stack: null }];
}

function causeOf(group: readonly TaskSnapshot[]): FailureCause {
  const [first] = group;
  const name = first === undefined ? "" : nameOf(first);
  const message = first?.failure?.message ?? first?.status ?? NO_REASON;
  return { name: group.length === 1 ? name : `${group.length} items, first ${name}`, message, stack: first?.failure?.stack ?? null };
}

function whoEndedIt(items: readonly TaskSnapshot[], status: "stopped" | "cancelled"): string {
  const item = items.find((each) => each.status === status);
  return item === undefined ? `its items were ${status}` : `its item ${nameOf(item)} (${item.taskId}) was ${status}`;
}

function outcomeOf({ status, skippedBy }: TaskSnapshot): Outcome | null {
  return isOutcome(status) ? effectiveOutcome(status, skippedBy !== null) : null;
}

function keptFailure(item: TaskSnapshot): Failure {
  return item.failure ?? createFailure({ kind: "cancelled", message: item.outcomeMissing ?? `it was ${item.status}` });
}

function nameOf(item: TaskSnapshot): string {
  return item.node ?? item.name;
}
