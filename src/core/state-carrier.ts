import { AttemptsExhausted } from "./errors.ts";
import type { TaskError } from "./errors.ts";
import type { Failure } from "./failure.ts";
import { ended as endedPatch } from "./move.ts";
import type { Move } from "./move.ts";
import { holdsSlot } from "./snapshot-rules.ts";

/** `markRunning`: the launch has reported. While a pause or stop is wished only the fact is noted. */
export function launched(move: Move, pid: number | null): TaskError | null {
  const { status, startedAt, pausedFrom } = move.snapshot;
  if (startedAt === null) return move.refuse("its attempt has no start time");
  if (status === "starting") return move.to("running", { pid });
  if (status === "pausing" && pausedFrom === "starting") return move.note({ pid, pausedFrom: "running" });
  return status === "stopping" ? move.note({ pid }) : move.refuse();
}

/** The body returned a value that counts. */
export function succeeded(move: Move, outcome: unknown, outcomeMissing: string | null): TaskError | null {
  const { status } = move.snapshot;
  if (status === "pausing" || status === "paused") {
    // It finished before the pause took hold.
    const refused = move.to("running", { pausedFrom: null, pausedBy: null, requestedAction: null }, "pause:overtaken");
    if (refused !== null) return refused;
  }
  return move.to("succeeded", { ...endedPatch(move.now), outcome, outcomeMissing, failure: null });
}

/** The attempt failed. In the grace window of a stop nothing is retried. */
export function failed(move: Move, failure: Failure, retryAt: number | null): TaskError | null {
  const { status, attempt, maxAttempts, taskId } = move.snapshot;
  if (!holdsSlot(move.snapshot)) return move.refuse();
  if (retryAt === null || status === "stopping") return move.to("failed", { ...endedPatch(move.now), failure });
  if (attempt >= maxAttempts) return new AttemptsExhausted(taskId, attempt, maxAttempts);
  return move.to("retry_wait", { failure, availableAt: retryAt, requestedAction: null, pausedFrom: null, pausedBy: null, owner: null, pid: null });
}

/** The body ended under a stop or cancel: by whichever was asked for first. */
export function ended(move: Move, failure: Failure, partialOutcome: unknown): TaskError | null {
  const { status, requestedAction } = move.snapshot;
  if (status !== "stopping") return move.refuse();
  return move.to(requestedAction === "cancel" ? "cancelled" : "stopped", { ...endedPatch(move.now), failure, partialOutcome });
}

/** The carrier is out of contact. An abandoned body is on record with its owner until it ends. */
export function lost(move: Move, failure: Failure): TaskError | null {
  if (!holdsSlot(move.snapshot)) return move.refuse();
  return move.to("lost", { ...endedPatch(move.now), failure, abandonedBy: failure.abandoned ? move.snapshot.owner : move.snapshot.abandonedBy });
}

/** A checkpoint holds the body. */
export function pauseReached(move: Move): TaskError | null {
  return move.snapshot.status === "pausing" ? move.to("paused", { pausedFrom: "running", requestedAction: null }) : move.refuse();
}

/** `abortPause`: only from `pausing`, else it could make a `running` that never started. */
export function pauseTimedOut(move: Move): TaskError | null {
  const { status, pausedFrom } = move.snapshot;
  if (status !== "pausing") return move.refuse();
  if (pausedFrom === "starting") return move.refuse("its launch has not reported yet");
  return move.to("running", { pausedFrom: null, pausedBy: null, requestedAction: null });
}
