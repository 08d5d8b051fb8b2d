import { judgeRun } from "./aggregation.ts";
import type { OutcomeCounts, RunVerdict } from "./aggregation.ts";
import type { TaskStatus } from "./status.ts";

/** What an item of a map that has not succeeded can make of the map; the first is the default. */
export const FAILED_ITEMS = ["fail", "keep"] as const;

/** `fail`: a failed item fails its map; `keep`: its place in the result holds the failure. Source §3.3. */
export type FailedItems = (typeof FAILED_ITEMS)[number];

/** The name of the failure of a map whose items failed; its causes stand beside each other: each is why some of the items failed. */
export const ITEMS_FAILED = "ItemsFailed";

/** The name of an item among the nodes of its run. */
export function itemName(map: string, index: number): string {
  return `${map}[${index}]`;
}

/**
 * How a map whose items have all ended is to end, as a run of these nodes would: `failed` where an item failed or was lost,
 * else `stopped`, else `cancelled`, else `succeeded`. With `keep` it has succeeded, whatever became of its items. Source §3.3.
 */
export function judgeItems(counts: OutcomeCounts, rule: FailedItems): RunVerdict {
  return rule === "keep" ? "succeeded" : judgeRun({ kind: "all_settled" }, counts);
}

/**
 * Has an item that ended like that done its part? One that succeeded or was skipped has, and one that failed or was lost where
 * the map keeps failures; one that was stopped or cancelled was left undone.
 */
export function isItemDone(status: TaskStatus, rule: FailedItems): boolean {
  return status === "succeeded" || status === "skipped" || (rule === "keep" && (status === "failed" || status === "lost"));
}
