import { judgeRun } from "./aggregation.ts";
import type { OutcomeCounts, RunVerdict } from "./aggregation.ts";

/** What an item of a map that has not succeeded can make of the map; the first is the default. */
export const FAILED_ITEMS = ["fail", "keep"] as const;

/** `fail`: a failed item fails its map; `keep`: its place in the result holds the failure. Source §3.3. */
export type FailedItems = (typeof FAILED_ITEMS)[number];

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
