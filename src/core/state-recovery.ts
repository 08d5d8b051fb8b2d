import { AttemptsExhausted, ConfigurationError } from "./errors.ts";
import type { TaskError } from "./errors.ts";
import { createFailure } from "./failure.ts";
import type { FailureKind } from "./failure.ts";
import type { GivenOutcome } from "./lifecycle-events.ts";
import { cleared, ended } from "./move.ts";
import type { Move, Patch } from "./move.ts";
import { holdsSlot } from "./snapshot-rules.ts";
import { given } from "./state-verbs.ts";
import type { TaskStatus } from "./status.ts";
import { TASK_STATUSES } from "./status.ts";
import { TERMINAL, isTerminal } from "./transitions.ts";

/** Where a person's force may lead: the terminal statuses, `pending`, `queued`. Source §3.1. */
export const FORCE_TARGETS: readonly TaskStatus[] = TASK_STATUSES.filter((status) => TERMINAL.has(status) || status === "pending" || status === "queued");

/** A lost task runs again by itself: by the retry policy (`retryLost`) or the orphan policy (`requeue`), within the budget. */
export function requeue(move: Move, force: boolean): TaskError | null {
  const { status, attempt, maxAttempts, taskId } = move.snapshot;
  if (status !== "lost") return move.refuse();
  const refused = move.refuseWhileAbandoned(force);
  if (refused !== null) return refused;
  if (attempt >= maxAttempts) return new AttemptsExhausted(taskId, attempt, maxAttempts);
  return move.apart("revive", "queued", { ...cleared(), queuedAt: move.now });
}

/** A node below a retried one runs again with a fresh budget; its history stays. */
export function rerun(move: Move, force: boolean): TaskError | null {
  if (!isTerminal(move.snapshot.status)) return move.refuse();
  const refused = move.refuseWhileAbandoned(force);
  if (refused !== null) return refused;
  return move.apart("revive", "pending", { ...cleared(), maxAttempts: freshBudget(move) });
}

/** The escape hatch: any status, on the record, with a name and a reason. Source §3.1. */
export function force(move: Move, to: TaskStatus, outcome: GivenOutcome | undefined, overAbandoned: boolean): TaskError | null {
  const { actor, reason } = move.event;
  if (isBlank(actor) || isBlank(reason)) return new ConfigurationError("a forced status needs an actor and a reason: say who does it and why.");
  if (!FORCE_TARGETS.includes(to)) return new ConfigurationError(`a status can be forced to ${FORCE_TARGETS.join(", ")}, not to "${to}".`);
  const before = move.snapshot;
  const patch: Patch = {
    fencingToken: before.fencingToken + 1,
    overridden: true,
    needsDecision: false,
    // The carrier is told to stop, but may run on for a while.
    abandonedBy: holdsSlot(before) ? before.owner : before.abandonedBy,
  };
  if (isTerminal(to)) return move.apart("override", to, { ...ended(move.now), ...forcedEnd(move, to, outcome), ...patch });
  const refused = move.refuseWhileAbandoned(overAbandoned);
  if (refused !== null) return refused;
  return move.apart("override", to, { ...cleared(), queuedAt: to === "queued" ? move.now : null, maxAttempts: freshBudget(move), ...patch });
}

function forcedEnd(move: Move, to: TaskStatus, outcome: GivenOutcome | undefined): Patch {
  if (to === "succeeded") return { failure: null, skippedBy: null, ...given(outcome, `forced to succeeded by ${move.actor} without an outcome`) };
  const kind = FORCED_FAILURE[to];
  const failure = kind === undefined ? null : createFailure({ kind, message: `forced to ${to} by ${move.actor}: ${move.event.reason ?? ""}` });
  if (to === "skipped") return { failure: null, skippedBy: move.actor, ...given(outcome, `skipped by ${move.actor} without an outcome`) };
  return { failure, skippedBy: null, outcome: undefined, outcomeMissing: null };
}

const FORCED_FAILURE: Partial<Record<TaskStatus, FailureKind>> = { failed: "exception", lost: "lost", stopped: "cancelled", cancelled: "cancelled" };

function freshBudget(move: Move): number {
  return move.snapshot.attempt + move.snapshot.attemptBudget;
}

function isBlank(text: string | null | undefined): boolean {
  return text === null || text === undefined || text.trim() === "";
}
