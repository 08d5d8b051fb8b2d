import { TASK_STATUSES } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";

/** `3 succeeded, 1 failed`: the statuses that there are, in the order of a life. */
export function formatCounts(count: (status: TaskStatus) => number): string {
  const present = TASK_STATUSES.filter((status) => count(status) > 0);
  return present.length === 0 ? "no tasks" : present.map((status) => `${count(status)} ${status}`).join(", ");
}
