/** Every status a task can have, in the order of its life. Source §2.1. */
export const TASK_STATUSES = [
  "pending",
  "blocked",
  "queued",
  "starting",
  "running",
  "pausing",
  "paused",
  "retry_wait",
  "stopping",
  "succeeded",
  "failed",
  "stopped",
  "cancelled",
  "skipped",
  "lost",
] as const;

/** Where a task is in its life. What is *wanted* of it is `requestedAction`. Source §2.1. */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** What a person or the orchestration wants of a task that cannot have it at once. Source §1.2. */
export type RequestedAction = "stop" | "pause" | "cancel";

/** Every status a pipeline run can have. Source §3.3. */
export const RUN_STATUSES = ["pending", "running", "pausing", "paused", "stopping", "succeeded", "failed", "stopped", "cancelled"] as const;

/** Where a pipeline run is in its life. */
export type RunStatus = (typeof RUN_STATUSES)[number];

interface StatusFact {
  /** What the status says, in one line. */
  readonly meaning: string;
  /** Who moves a task out of it. */
  readonly leftBy: string;
  /** `in_place`: only a task paused while its code was on the stack holds its slot. */
  readonly holdsSlot: boolean | "in_place";
}

/** What each status means, as data: the reference page is made from it. Source §2.1. */
export const STATUS_FACTS = {
  pending: { meaning: "created, dependencies not looked at yet", leftBy: "submit, or start after a reset", holdsSlot: false },
  blocked: { meaning: "waits for upstream tasks", leftBy: "the pipeline, when its upstreams end", holdsSlot: false },
  queued: { meaning: "ready, waits for its turn", leftBy: "the scheduler, when its time has come, nothing holds it and a slot is free", holdsSlot: false },
  starting: { meaning: "the executor is launching the carrier", leftBy: "the executor's report, or the start timeout", holdsSlot: true },
  running: { meaning: "user code runs", leftBy: "the code's end, a verb, or a timeout", holdsSlot: true },
  pausing: { meaning: "pause asked for, no checkpoint reached yet", leftBy: "the next checkpoint, or the pause timeout", holdsSlot: true },
  paused: { meaning: "still; see pausedFrom", leftBy: "resume, stop or cancel", holdsSlot: "in_place" },
  retry_wait: { meaning: "this attempt failed, backing off", leftBy: "the backoff's end", holdsSlot: false },
  stopping: { meaning: "stop or cancel asked for, inside the grace window", leftBy: "the code's end, or the grace's", holdsSlot: true },
  succeeded: { meaning: "finished as it should", leftBy: "nothing but reset", holdsSlot: false },
  failed: { meaning: "retries spent or not retryable", leftBy: "retry, skip or reset", holdsSlot: false },
  stopped: { meaning: "a person stopped it", leftBy: "retry or reset", holdsSlot: false },
  cancelled: { meaning: "orchestration cascaded, or somebody cancelled", leftBy: "retry or reset", holdsSlot: false },
  skipped: { meaning: "condition or policy", leftBy: "nothing but reset", holdsSlot: false },
  lost: { meaning: "the carrier is out of contact; the outcome is unknown", leftBy: "retry or reset", holdsSlot: false },
} as const satisfies Record<TaskStatus, StatusFact>;

/** Old names that are still understood where a status is read from text. Source §2.1. */
export const STATUS_ALIASES = { finished: "succeeded" } as const satisfies Record<string, TaskStatus>;

const STATUS_SET: ReadonlySet<string> = new Set(TASK_STATUSES);

/** Reads a status from text (a query, the command line); `undefined` when there is no such status. */
export function parseTaskStatus(text: string): TaskStatus | undefined {
  const name = text.trim().toLowerCase();
  if (STATUS_SET.has(name)) return name as TaskStatus;
  return Object.hasOwn(STATUS_ALIASES, name) ? STATUS_ALIASES[name as keyof typeof STATUS_ALIASES] : undefined;
}
