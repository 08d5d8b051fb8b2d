import type { TaskError } from "./errors.ts";
import type { GivenOutcome } from "./lifecycle-events.ts";
import { cleared, ended } from "./move.ts";
import type { Move, Patch } from "./move.ts";
import { holdsSlot } from "./snapshot-rules.ts";
import type { PausedFrom } from "./snapshot.ts";
import { REVIVABLE } from "./transitions.ts";
import { isPausedInPlace, verbCell } from "./verbs.ts";

/** `start`: looks at the dependencies. */
export function start(move: Move, depsOpen: boolean): TaskError | null {
  const { status } = move.snapshot;
  if (status !== "pending" && status !== "blocked") return move.refuse();
  if (!depsOpen) return move.to("queued", { queuedAt: move.now });
  return status === "pending" ? move.to("blocked", {}) : move.refuse();
}

/** `stop` and `cancel`: at once where nothing is occupied, else by way of the grace window. */
export function halt(move: Move, wish: "stop" | "cancel"): TaskError | null {
  const snapshot = move.snapshot;
  if (verbCell(snapshot, wish).effect !== "moves") return move.refuse();
  if (isPausedInPlace(snapshot)) {
    // It wakes up to run its clean-up: saying "stopped" at once would be a lie.
    const refused = move.to("running", { pausedFrom: null, pausedBy: null });
    if (refused !== null) return refused;
  }
  if (holdsSlot(move.snapshot)) return move.to("stopping", { requestedAction: wish, pausedFrom: null, pausedBy: null });
  return move.to(wish === "stop" ? "stopped" : "cancelled", ended(move.now));
}

/** `pause`: at once before the start, else at the next checkpoint. */
export function pause(move: Move): TaskError | null {
  const { status } = move.snapshot;
  const patch = (pausedFrom: PausedFrom): Patch => ({ pausedFrom, pausedBy: move.actor });
  if (status === "queued" || status === "retry_wait") return move.to("paused", patch(status));
  if (status === "starting" || status === "running") return move.to("pausing", { ...patch(status), requestedAction: "pause" });
  return move.refuse();
}

/** `resume`: in place where the call stack is alive, else back to the queue. */
export function resume(move: Move): TaskError | null {
  const { status, pausedFrom } = move.snapshot;
  const patch: Patch = { pausedFrom: null, pausedBy: null, requestedAction: null };
  if (status === "pausing") {
    return pausedFrom === "starting" ? move.refuse("its launch has not reported yet") : move.to("running", patch);
  }
  if (status !== "paused") return move.refuse();
  // A task paused while it backed off keeps the instant its next attempt is due.
  return isPausedInPlace(move.snapshot) ? move.to("running", patch) : move.to("queued", { ...patch, queuedAt: move.now });
}

/** `retry`: a person's retry grants one attempt where the budget is spent. */
export function retry(move: Move, force: boolean): TaskError | null {
  const snapshot = move.snapshot;
  if (snapshot.status !== "retry_wait" && !REVIVABLE.has(snapshot.status)) return move.refuse();
  const refused = move.refuseWhileAbandoned(force);
  if (refused !== null) return refused;
  if (snapshot.status === "retry_wait") return move.to("queued", { queuedAt: move.now, availableAt: null });
  const maxAttempts = Math.max(snapshot.maxAttempts, snapshot.attempt + 1);
  return move.apart("revive", "queued", { ...cleared(), queuedAt: move.now, maxAttempts });
}

/** `skip`: before the start, or of a failed task, with or without a value for those downstream. */
export function skip(move: Move, outcome: GivenOutcome | undefined): TaskError | null {
  const patch: Patch = { ...ended(move.now), skippedBy: move.actor, ...given(outcome, `skipped by ${move.actor} without an outcome`) };
  return move.snapshot.status === "failed" ? move.apart("revive", "skipped", { ...patch, overridden: false }) : move.to("skipped", patch);
}

/** `reset`: a new epoch; refused while a carrier is held, since the code would run on unowned. */
export function reset(move: Move, force: boolean): TaskError | null {
  const snapshot = move.snapshot;
  if (verbCell(snapshot, "reset").effect !== "moves") return move.refuse();
  const refused = move.refuseWhileAbandoned(force);
  if (refused !== null) return refused;
  return move.apart("revive", "pending", { ...cleared(), attempt: 0, maxAttempts: snapshot.attemptBudget, epoch: snapshot.epoch + 1 });
}

/** The outcome a person gave, or why there is none. */
export function given(outcome: GivenOutcome | undefined, missing: string): Patch {
  return outcome === undefined ? { outcome: undefined, outcomeMissing: missing } : { outcome: outcome.value, outcomeMissing: null };
}
