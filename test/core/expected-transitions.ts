import type { TaskStatus } from "../../src/core/status.ts";

/** The transition table as it was agreed on: written down apart from the source, so that a slip there shows. */
export const EXPECTED_TRANSITIONS: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  pending: ["blocked", "queued", "skipped", "cancelled", "stopped"],
  blocked: ["queued", "skipped", "cancelled", "stopped"],
  queued: ["starting", "paused", "skipped", "stopped", "cancelled"],
  starting: ["running", "retry_wait", "pausing", "stopping", "failed", "lost"],
  running: ["succeeded", "failed", "retry_wait", "pausing", "stopping", "lost"],
  pausing: ["paused", "running", "failed", "stopping", "lost", "retry_wait"],
  paused: ["queued", "running", "stopped", "cancelled", "lost", "failed", "retry_wait"],
  retry_wait: ["starting", "queued", "paused", "stopped", "failed", "cancelled"],
  stopping: ["stopped", "succeeded", "failed", "lost", "cancelled"],
  succeeded: [],
  failed: [],
  stopped: [],
  cancelled: [],
  skipped: [],
  lost: [],
};

/** The table's rows as `from → to`. */
export const EXPECTED_EDGES: readonly string[] = Object.entries(EXPECTED_TRANSITIONS).flatMap(([from, targets]) => targets.map((to) => `${from} → ${to}`));

/** The statuses that hold an execution slot, `paused` aside: it holds one only where it was paused in place. */
export const SLOT_HOLDERS: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["starting", "running", "pausing", "stopping"]);

/** The statuses in which a task has ended. */
export const ENDED: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["succeeded", "failed", "stopped", "cancelled", "skipped", "lost"]);
