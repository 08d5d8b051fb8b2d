import { TASK_STATUSES } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";

/** `3 succeeded, 1 failed`: the statuses that there are, in the order of a life. */
export function formatCounts(count: (status: TaskStatus) => number): string {
  const present = TASK_STATUSES.filter((status) => count(status) > 0);
  return present.length === 0 ? "no tasks" : present.map((status) => `${count(status)} ${status}`).join(", ");
}

/** What is told of many while they run: what goes on, and what has gone wrong. */
const TOLD: readonly TaskStatus[] = ["running", "stopping", "pausing", "paused", "retry_wait", "failed", "lost"];

/** `8 running · 2 failed`; empty where there is nothing to tell. */
export function tellCounts(count: (status: TaskStatus) => number): string {
  return TOLD.filter((status) => count(status) > 0)
    .map((status) => `${NUMBER.format(count(status))} ${status}`)
    .join(" · ");
}

const NUMBER = new Intl.NumberFormat("en");
