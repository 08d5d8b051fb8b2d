import type { RunStatus, TaskSnapshot, TaskStatus, TaskStatusChanged } from "../../src/index.ts";

// What is allowed, written down a second time from the guide and not taken from the sources.

export type AskedVerb = "start" | "stop" | "pause" | "resume" | "cancel" | "retry" | "skip" | "reset";

const TERMINAL: readonly TaskStatus[] = ["succeeded", "failed", "stopped", "cancelled", "skipped", "lost"];

const NEXT: Readonly<Record<TaskStatus, string>> = {
  pending: "blocked queued skipped cancelled stopped",
  blocked: "queued skipped cancelled stopped",
  queued: "starting paused skipped stopped cancelled",
  starting: "running retry_wait pausing stopping failed lost",
  running: "succeeded failed retry_wait pausing stopping lost",
  pausing: "paused running failed stopping lost retry_wait",
  paused: "queued running stopped cancelled lost failed retry_wait",
  retry_wait: "starting queued paused stopped failed cancelled",
  stopping: "stopped succeeded failed lost cancelled",
  succeeded: "",
  failed: "",
  stopped: "",
  cancelled: "",
  skipped: "",
  lost: "",
};

/** By verb: the first status it leads to, `=` for nothing to do, `no` for a refusal. */
const VERBS: Readonly<Record<string, Readonly<Record<AskedVerb, string>>>> = {
  // It was reset. Where it is a node, its dependencies decide between queued and blocked.
  pending: { start: "queued", stop: "stopped", pause: "no", resume: "no", cancel: "cancelled", retry: "no", skip: "skipped", reset: "=" },
  // Its dependencies are open, else it would not be blocked.
  blocked: { start: "=", stop: "stopped", pause: "no", resume: "no", cancel: "cancelled", retry: "no", skip: "skipped", reset: "pending" },
  queued: { start: "=", stop: "stopped", pause: "paused", resume: "=", cancel: "cancelled", retry: "=", skip: "skipped", reset: "pending" },
  running: { start: "=", stop: "stopping", pause: "pausing", resume: "=", cancel: "stopping", retry: "no", skip: "no", reset: "no" },
  pausing: { start: "=", stop: "stopping", pause: "=", resume: "running", cancel: "stopping", retry: "no", skip: "no", reset: "no" },
  "paused in place": { start: "no", stop: "running", pause: "=", resume: "running", cancel: "running", retry: "no", skip: "no", reset: "no" },
  "paused before": { start: "no", stop: "stopped", pause: "=", resume: "queued", cancel: "cancelled", retry: "no", skip: "no", reset: "pending" },
  retry_wait: { start: "=", stop: "stopped", pause: "paused", resume: "=", cancel: "cancelled", retry: "queued", skip: "no", reset: "pending" },
  stopping: { start: "no", stop: "=", pause: "no", resume: "no", cancel: "=", retry: "no", skip: "no", reset: "no" },
  succeeded: { start: "no", stop: "no", pause: "no", resume: "no", cancel: "no", retry: "no", skip: "no", reset: "pending" },
  failed: { start: "no", stop: "no", pause: "no", resume: "no", cancel: "no", retry: "queued", skip: "skipped", reset: "pending" },
  stopped: { start: "no", stop: "=", pause: "no", resume: "no", cancel: "no", retry: "queued", skip: "no", reset: "pending" },
  cancelled: { start: "no", stop: "no", pause: "no", resume: "no", cancel: "=", retry: "queued", skip: "no", reset: "pending" },
  skipped: { start: "no", stop: "no", pause: "no", resume: "no", cancel: "no", retry: "no", skip: "=", reset: "pending" },
  lost: { start: "no", stop: "=", pause: "no", resume: "no", cancel: "no", retry: "queued", skip: "no", reset: "pending" },
};

export function isOver(status: TaskStatus): boolean {
  return TERMINAL.includes(status);
}

function isBegun(row: TaskSnapshot): boolean {
  return row.pausedFrom === "running" || row.pausedFrom === "starting";
}

/** Does the task take up a slot? */
export function isOccupied(row: TaskSnapshot): boolean {
  return ["starting", "running", "pausing", "stopping"].includes(row.status) || (row.status === "paused" && isBegun(row));
}

/** What the verb is to do to a task that stands like this. */
export function effectOf(row: TaskSnapshot, verb: AskedVerb): string {
  const key = row.status === "paused" ? (isBegun(row) ? "paused in place" : "paused before") : row.status;
  return VERBS[key]?.[verb] ?? "no";
}

/** By a person, or by a map that is begun anew and takes along an item that waits: its attempts are counted from none. */
function isReset({ from, to, trigger }: TaskStatusChanged): boolean {
  return trigger === "user:reset" || (trigger === "pipeline:map" && to === "pending" && !isOver(from));
}

/** Out of a terminal status by a person or a run, or back to the beginning. */
function isRevival(step: TaskStatusChanged): boolean {
  const { from, to, trigger } = step;
  if (isReset(step)) return to === "pending" && !["pending", "starting", "running", "pausing", "stopping"].includes(from);
  // Below a retried node, or a map of which an item runs again; an item that waits is taken along when its map is begun anew.
  if (trigger === "pipeline:map" && to === "pending") return isOver(from) || ["queued", "retry_wait", "paused"].includes(from);
  if (trigger === "pipeline:rerun" && to === "pending") return isOver(from);
  if (to === "skipped") return from === "failed";
  return to === "queued" && ["failed", "stopped", "cancelled", "lost"].includes(from);
}

/** Does a run of that status refuse the verb, whatever its nodes do? */
export function refusesRun(status: RunStatus, verb: "stop" | "cancel" | "pause" | "resume" | "retry"): boolean {
  if (verb === "retry") return status === "stopping" || status === "pending";
  if (status === "pending" || status === "running" || status === "pausing" || status === "paused") return false;
  if (status === "stopping") return verb === "pause" || verb === "resume";
  return !((verb === "stop" && status === "stopped") || (verb === "cancel" && status === "cancelled"));
}

/** What is wrong with the story of a task, in words. */
export function brokenStory(row: TaskSnapshot, history: readonly TaskStatusChanged[]): readonly string[] {
  const wrong: string[] = [];
  let status: TaskStatus = "pending";
  let attempts = 0;
  let askedTo = "";
  for (const [index, step] of history.entries()) {
    const what = `step ${index + 1} (${step.from} → ${step.to})`;
    if (step.from !== status) wrong.push(`${what} does not begin where the one before ended: ${status}`);
    if (step.statusVersion !== index + 1) wrong.push(`${what} has version ${step.statusVersion}`);
    const isForced = step.kind === "override";
    const isAllowed = isForced || (step.kind === "revive" ? isRevival(step) : NEXT[step.from].split(" ").includes(step.to));
    if (!isAllowed) wrong.push(`${what} is not allowed`);
    if (isReset(step)) attempts = 0;
    if (step.to === "starting") attempts += 1;
    if (step.to === "stopping") askedTo = step.trigger === "user:stop" || step.trigger === "controller:close" ? "stopped" : "cancelled";
    // A map ends as its items have.
    const isByItems = step.to === "stopping" && step.trigger === "pipeline:map";
    if (isByItems) askedTo = "";
    if (!isForced && askedTo !== "" && step.from === "stopping" && (step.to === "stopped" || step.to === "cancelled") && step.to !== askedTo)
      wrong.push(`${what} was to be ${askedTo}`);
    if (step.attempt !== attempts) wrong.push(`${what} says attempt ${step.attempt} instead of ${attempts}`);
    status = step.to;
  }
  if (row.status !== status) wrong.push(`the row is ${row.status}, the story ends ${status}`);
  if (row.attempt !== attempts) wrong.push(`the row counts ${row.attempt} attempts, the story ${attempts}`);
  if (row.attempt > row.maxAttempts) wrong.push(`attempt ${row.attempt} of ${row.maxAttempts}`);
  if (isOver(row.status) !== (row.endedAt !== null)) wrong.push(`${row.status} with endedAt ${row.endedAt}`);
  return wrong.map((each) => `${row.node ?? row.name} ${row.taskId}: ${each}`);
}
