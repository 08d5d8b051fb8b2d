import type { Failure } from "../core/failure.ts";
import type { StatusCounts } from "../core/ports/store.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { RunStatus, TaskStatus } from "../core/status.ts";
import { TASK_STATUSES } from "../core/status.ts";

/** The items of a map: how many there are so far, and how many are in each status. */
export interface ItemCounts {
  readonly total: number;
  readonly counts: StatusCounts;
}

/** One item of a map. */
export interface RunItem {
  /** `enrich[3]`. */
  readonly name: string;
  readonly taskId: string;
  readonly status: TaskStatus;
}

/** One node of a run, for drawing. */
export interface RunGraphNode {
  readonly name: string;
  readonly kind: "task" | "map";
  /** The registered name of its task. */
  readonly task: string;
  readonly taskId: string;
  readonly status: TaskStatus;
  /** The names of its direct upstreams. */
  readonly deps: readonly string[];
  /** Of a map; `null`: it is none. */
  readonly items: ItemCounts | null;
}

/** A map of a run. */
export interface MapSummary extends ItemCounts {
  readonly node: string;
  readonly taskId: string;
  readonly status: TaskStatus;
}

/** The first thing that went wrong in a run, and what it brought down. */
export interface FailureChain {
  readonly node: string;
  readonly taskId: string;
  readonly status: TaskStatus;
  readonly failure: Failure | null;
  /** The nodes below it that ended without running because of it. */
  readonly affected: readonly string[];
}

/** How a run stands. Source §3.3. */
export interface RunSummary {
  readonly runId: string;
  /** The pipeline's name. */
  readonly name: string;
  readonly status: RunStatus;
  /** How many nodes; a map is one. */
  readonly total: number;
  /** Of the nodes. */
  readonly counts: StatusCounts;
  /** Its maps, with their items. */
  readonly maps: readonly MapSummary[];
  /** `null`: nothing has failed. */
  readonly firstFailure: FailureChain | null;
  /** The nodes that a person has skipped or forced to another end since the run ended: `status` is the verdict as it was then. */
  readonly changedSinceEnd: readonly string[];
}

/** Counts the nodes by status. */
export function countStatuses(snapshots: readonly TaskSnapshot[]): StatusCounts {
  const counts: Record<TaskStatus, number> = { ...NO_COUNTS };
  for (const { status } of snapshots) counts[status] += 1;
  return counts;
}

const NO_COUNTS = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<TaskStatus, number>;

/** The earliest node that failed or was lost, with those below it that never ran. */
export function firstFailure(nodes: readonly { readonly snapshot: TaskSnapshot; readonly below: () => readonly TaskSnapshot[] }[]): FailureChain | null {
  const failed = nodes.filter(({ snapshot }) => snapshot.status === "failed" || snapshot.status === "lost");
  const first = failed.toSorted((a, b) => (a.snapshot.endedAt ?? 0) - (b.snapshot.endedAt ?? 0))[0];
  if (first === undefined) return null;
  const { snapshot } = first;
  const affected = first.below().filter(({ failure }) => failure?.kind === "dependency_failed");
  return { node: nodeName(snapshot), taskId: snapshot.taskId, status: snapshot.status, failure: snapshot.failure, affected: affected.map(nodeName) };
}

function nodeName(snapshot: TaskSnapshot): string {
  return snapshot.node ?? snapshot.name;
}
