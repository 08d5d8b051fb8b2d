import { TASK_STATUSES } from "./status.ts";
import type { TaskStatus } from "./status.ts";

/**
 * Which status may follow which. The one source of truth: guards, diagrams, docs and tests are made
 * from it. Source §2.3 with the corrections of v1.4.
 */
export const TRANSITIONS = {
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
} as const satisfies Record<TaskStatus, readonly TaskStatus[]>;

const FOLLOWERS: Readonly<Record<TaskStatus, ReadonlySet<TaskStatus>>> = Object.fromEntries(
  TASK_STATUSES.map((status) => [status, new Set<TaskStatus>(TRANSITIONS[status])]),
) as Record<TaskStatus, Set<TaskStatus>>;

/** The statuses with no way out: derived from the table, never written twice. Source §2.2. */
export const TERMINAL: ReadonlySet<TaskStatus> = new Set(TASK_STATUSES.filter((status) => TRANSITIONS[status].length === 0));

/** The terminal statuses that `retry` may leave. Source §2.2. */
export const REVIVABLE: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["failed", "stopped", "cancelled", "lost"]);

/** Is there such an edge in the table? */
export function canTransition(from: TaskStatus, to: TaskStatus): boolean {
  return FOLLOWERS[from].has(to);
}

/** Has the task ended? */
export function isTerminal(status: TaskStatus): boolean {
  return TERMINAL.has(status);
}

/** The edges of `paused` that exist only while the call stack is alive (`pausedFrom` is `starting` or `running`). */
export const PAUSED_IN_PLACE_EDGES: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["running", "lost", "failed", "retry_wait"]);

/** The edges of `paused` that exist only for a task that was paused before it began. */
export const PAUSED_NOT_STARTED_EDGES: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["queued", "stopped", "cancelled"]);

/** Why the less obvious rows are there: printed on the reference page. */
export const TRANSITION_NOTES: readonly { readonly edge: string; readonly why: string }[] = [
  { edge: "stopping → cancelled", why: "`cancel` works on every status that is not terminal and ends in `cancelled`." },
  { edge: "pausing → failed, retry_wait, lost", why: "The launch or the body can fail, or the carrier die, before the pause takes hold." },
  { edge: "paused → lost, failed, retry_wait", why: "A carrier paused in place can die by itself." },
  { edge: "paused → running", why: "Only where `pausedFrom` is `starting` or `running`: the slot is held, the call stack is alive." },
  { edge: "paused → queued, stopped, cancelled", why: "Only where the task was paused before it began." },
  { edge: "retry_wait → starting", why: "The backoff has ended and a slot is free; `→ queued` when none is." },
  { edge: "retry_wait → failed", why: "It can never run again: its arguments were lost with their node." },
  { edge: "pausing → running → succeeded", why: "It finished before the pause took hold (`pause:overtaken`); one commit." },
  { edge: "paused → running → stopping", why: "Stop or cancel of a task paused in place: it wakes up to run its clean-up; one commit." },
];
