import type { TaskSnapshot } from "./snapshot.ts";
import { STATUS_FACTS } from "./status.ts";
import { isTerminal } from "./transitions.ts";
import { isPausedInPlace } from "./verbs.ts";

/** Does the task hold an execution slot now? By status alone; a paused task only if paused in place. Source §2.3. */
export function holdsSlot(snapshot: Pick<TaskSnapshot, "status" | "pausedFrom">): boolean {
  const fact = STATUS_FACTS[snapshot.status].holdsSlot;
  return fact === "in_place" ? isPausedInPlace(snapshot) : fact;
}

interface Rule {
  readonly says: string;
  readonly holds: (snapshot: TaskSnapshot) => boolean;
}

const RULES: readonly Rule[] = [
  { says: "an occupied task has a start time", holds: (s) => !holdsSlot(s) || s.startedAt !== null },
  { says: "an occupied task has an owner, and only such a task", holds: (s) => holdsSlot(s) === (s.owner !== null) },
  { says: "an occupied task has begun an attempt", holds: (s) => !holdsSlot(s) || s.attempt > 0 },
  { says: "a terminal task has an end time, and only such a task", holds: (s) => isTerminal(s.status) === (s.endedAt !== null) },
  {
    says: "pausedFrom is set while pausing or paused, and only then",
    holds: (s) => (s.status === "pausing" || s.status === "paused") === (s.pausedFrom !== null),
  },
  { says: "a pause is wished exactly while pausing", holds: (s) => (s.requestedAction === "pause") === (s.status === "pausing") },
  {
    says: "a stop or cancel is wished exactly while stopping",
    holds: (s) => (s.requestedAction === "stop" || s.requestedAction === "cancel") === (s.status === "stopping"),
  },
  { says: "a queued task has a queue time", holds: (s) => s.status !== "queued" || s.queuedAt !== null },
  { says: "a task that waits to retry knows until when and why", holds: (s) => s.status !== "retry_wait" || (s.availableAt !== null && s.failure !== null) },
  { says: "a failed or lost task has a failure", holds: (s) => (s.status !== "failed" && s.status !== "lost") || s.failure !== null },
  { says: "a succeeded task has no failure", holds: (s) => s.status !== "succeeded" || s.failure === null },
  { says: "attempts stay within the budget", holds: (s) => Number.isSafeInteger(s.attempt) && s.attempt >= 0 && s.attempt <= s.maxAttempts },
  { says: "the version is a whole number", holds: (s) => Number.isSafeInteger(s.statusVersion) && s.statusVersion >= 0 },
];

/** The rules the snapshot breaks, each in words; empty when its dimensions agree. Source §2.4. */
export function validateSnapshot(snapshot: TaskSnapshot): readonly string[] {
  return RULES.filter((rule) => !rule.holds(snapshot)).map((rule) => rule.says);
}
