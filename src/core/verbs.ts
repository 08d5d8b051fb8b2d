import type { TaskSnapshot } from "./snapshot.ts";
import type { TaskStatus } from "./status.ts";

/** What a person, a script or a run may ask of a task. Source §3.1. */
export const VERBS = ["start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset"] as const;

/** A verb of the control plane. Source §3.1. */
export type Verb = (typeof VERBS)[number];

/** The operations that lead out of a terminal status (or begin anew); each is audited as such. */
export const REVIVE_OPERATIONS = ["retry", "skip", "reset", "rerun"] as const;

/** A row of the verb table: `paused` has two, since a task paused in place still holds its slot. */
export type VerbRow = Exclude<TaskStatus, "paused"> | "paused (in place)" | "paused (not started)";

/** One cell of the verb table. */
export type VerbCell =
  | { readonly effect: "moves"; readonly to: TaskStatus; readonly via?: readonly TaskStatus[]; readonly revive?: true; readonly note?: string }
  | { readonly effect: "idempotent" }
  | { readonly effect: "refused"; readonly hint?: string };

const same = { effect: "idempotent" } as const;
const no = { effect: "refused" } as const;
const resumeFirst = { effect: "refused", hint: "resume it" } as const;
const stopFirst = { effect: "refused", hint: "stop it first" } as const;
const reset = { effect: "moves", to: "pending", revive: true } as const;
const revive = { effect: "moves", to: "queued", revive: true } as const;
function to(status: TaskStatus, note?: string): VerbCell {
  return note === undefined ? { effect: "moves", to: status } : { effect: "moves", to: status, note };
}
const wakeAndStop = { effect: "moves", to: "stopping", via: ["running"] } as const;

/**
 * What each verb does in each status. Read by the control plane, `can()`, the docs and the tests.
 * `idempotent`: already there or on the way to it. Source §3.1.
 */
export const VERB_TABLE: Readonly<Record<VerbRow, Readonly<Record<Verb, VerbCell>>>> = {
  pending: {
    start: to("queued", "queued, or blocked if deps are open"),
    stop: to("stopped"),
    pause: no,
    resume: no,
    cancel: to("cancelled"),
    retry: no,
    skip: to("skipped"),
    reset: same,
  },
  blocked: {
    start: to("queued", "queued if deps are met, else ="),
    stop: to("stopped"),
    pause: no,
    resume: no,
    cancel: to("cancelled"),
    retry: no,
    skip: to("skipped"),
    reset,
  },
  queued: { start: same, stop: to("stopped"), pause: to("paused"), resume: same, cancel: to("cancelled"), retry: same, skip: to("skipped"), reset },
  starting: { start: same, stop: to("stopping"), pause: to("pausing"), resume: same, cancel: to("stopping"), retry: no, skip: no, reset: stopFirst },
  running: { start: same, stop: to("stopping"), pause: to("pausing"), resume: same, cancel: to("stopping"), retry: no, skip: no, reset: stopFirst },
  pausing: { start: same, stop: to("stopping"), pause: same, resume: to("running"), cancel: to("stopping"), retry: no, skip: no, reset: stopFirst },
  "paused (in place)": { start: resumeFirst, stop: wakeAndStop, pause: same, resume: to("running"), cancel: wakeAndStop, retry: no, skip: no, reset: stopFirst },
  "paused (not started)": { start: resumeFirst, stop: to("stopped"), pause: same, resume: to("queued"), cancel: to("cancelled"), retry: no, skip: no, reset },
  retry_wait: { start: same, stop: to("stopped"), pause: to("paused"), resume: same, cancel: to("cancelled"), retry: to("queued"), skip: no, reset },
  stopping: { start: no, stop: same, pause: no, resume: no, cancel: same, retry: no, skip: no, reset: stopFirst },
  succeeded: { start: no, stop: no, pause: no, resume: no, cancel: no, retry: no, skip: no, reset },
  failed: { start: no, stop: no, pause: no, resume: no, cancel: no, retry: revive, skip: { effect: "moves", to: "skipped", revive: true }, reset },
  stopped: { start: no, stop: same, pause: no, resume: no, cancel: no, retry: revive, skip: no, reset },
  cancelled: { start: no, stop: no, pause: no, resume: no, cancel: same, retry: revive, skip: no, reset },
  skipped: { start: no, stop: no, pause: no, resume: no, cancel: no, retry: no, skip: same, reset },
  lost: { start: no, stop: same, pause: no, resume: no, cancel: no, retry: revive, skip: no, reset },
};

/** Was the task paused while its code was on the stack? Then it still holds its slot. Source §2.3. */
export function isPausedInPlace(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">): boolean {
  return snapshot.status === "paused" && (snapshot.pausedFrom === "running" || snapshot.pausedFrom === "starting");
}

/** The row of the verb table that holds for a task now. */
export function verbRow(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">): VerbRow {
  if (snapshot.status !== "paused") return snapshot.status;
  return isPausedInPlace(snapshot) ? "paused (in place)" : "paused (not started)";
}

/** What the verb would do to the task now. */
export function verbCell(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">, verb: Verb): VerbCell {
  return VERB_TABLE[verbRow(snapshot)][verb];
}

/** The verbs that would move the task now. */
export function allowedVerbs(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">): readonly Verb[] {
  const row = VERB_TABLE[verbRow(snapshot)];
  return VERBS.filter((verb) => row[verb].effect === "moves");
}

/** The same, of a task that can have no other attempt: what it belongs to has ended. */
export function verbsWithoutAttempt(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">): readonly Verb[] {
  return allowedVerbs(snapshot).filter((verb) => verb !== "retry" && verb !== "reset");
}

/** The answer to "may I": `reason` says why not, or why nothing would happen. */
export interface VerbAnswer {
  readonly allowed: boolean;
  readonly reason: string | null;
}

/** May the verb be used now? Answers from the table, without side effects. Source §2.3. */
export function canVerb(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">, verb: Verb): VerbAnswer {
  const cell = verbCell(snapshot, verb);
  switch (cell.effect) {
    case "moves":
      return { allowed: true, reason: null };
    case "idempotent":
      return { allowed: true, reason: `already ${snapshot.status}` };
    case "refused":
      return { allowed: false, reason: cell.hint === undefined ? `a task that is ${snapshot.status} cannot be given "${verb}"` : `it is ${snapshot.status}: ${cell.hint}` };
  }
}
