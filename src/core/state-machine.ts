import type { AttemptRecord } from "./attempt.ts";
import { closeAttempt, openAttempt } from "./attempt.ts";
import type { TaskError } from "./errors.ts";
import type { TaskStatusChanged } from "./events.ts";
import type { LifecycleEvent } from "./lifecycle-events.ts";
import { Move } from "./move.ts";
import type { TaskSnapshot } from "./snapshot.ts";
import { holdsSlot } from "./snapshot-rules.ts";
import * as carrier from "./state-carrier.ts";
import * as plan from "./state-plan.ts";
import * as recovery from "./state-recovery.ts";
import * as verb from "./state-verbs.ts";
import { unreachable } from "./unreachable.ts";

/** The event was accepted: the new snapshot, the steps that led there, and the attempt it opened, closed or told the pid of. */
export interface Applied {
  readonly ok: true;
  readonly snapshot: TaskSnapshot;
  /** In order; empty where only a fact was noted (the launch report of a task that is stopping). */
  readonly transitions: readonly TaskStatusChanged[];
  readonly attempt: AttemptRecord | null;
}

/** The event was refused: nothing at all has changed. */
export interface Refused {
  readonly ok: false;
  readonly error: TaskError;
}

/**
 * The only writer of status. Pure: what happened in, the new snapshot and its audit out, or a refusal.
 * Idempotence ("already stopped") is not its affair: the control plane asks the verb table first.
 * Source §1 (1), §2.3.
 */
export function apply(snapshot: TaskSnapshot, event: LifecycleEvent, now: number): Applied | Refused {
  const move = new Move(snapshot, event, now);
  const error = decide(move, event);
  if (error !== null) return { ok: false, error };
  const after = move.snapshot;
  return { ok: true, snapshot: after, transitions: move.transitions, attempt: attemptOf(snapshot, after, now) };
}

function attemptOf(before: TaskSnapshot, after: TaskSnapshot, now: number): AttemptRecord | null {
  if (after.status === "starting" && before.status !== "starting") return openAttempt(after);
  if (holdsSlot(before) && !holdsSlot(after)) return closeAttempt(before, after, now);
  return holdsSlot(after) && after.pid !== before.pid ? openAttempt(after) : null;
}

function decide(move: Move, event: LifecycleEvent): TaskError | null {
  switch (event.type) {
    case "start":
      return verb.start(move, event.depsOpen);
    case "stop":
    case "cancel":
      return verb.halt(move, event.type);
    case "pause":
      return verb.pause(move);
    case "resume":
      return verb.resume(move);
    case "retry":
      return verb.retry(move, event.force === true);
    case "skip":
      return verb.skip(move, event.outcome);
    case "reset":
      return verb.reset(move, event.force === true);
    case "enqueue":
    case "backoffElapsed":
      return plan.enqueue(move, event.type);
    case "block":
      return move.to("blocked", {});
    case "dispatch":
      return plan.dispatch(move, event.owner, event.executor);
    case "conditionFalse":
      return plan.endUnstarted(move, "skipped", event.failure);
    case "dependencyFailed":
      return plan.endUnstarted(move, event.to, event.failure);
    case "unrunnable":
      return plan.unrunnable(move, event.failure);
    case "launched":
      return carrier.launched(move, event.pid);
    case "succeeded":
      return carrier.succeeded(move, event.outcome, event.outcomeMissing ?? null);
    case "failed":
      return carrier.failed(move, event.failure, event.retryAt);
    case "ended":
      return carrier.ended(move, event.failure, event.partialOutcome);
    case "lost":
      return carrier.lost(move, event.failure);
    case "pauseReached":
      return carrier.pauseReached(move);
    case "pauseTimedOut":
      return carrier.pauseTimedOut(move);
    case "retryLost":
    case "requeue":
      return recovery.requeue(move, event.force === true);
    case "rerun":
      return recovery.rerun(move, event.force === true);
    case "force":
      return recovery.force(move, event.to, event.outcome, event.force === true);
    default:
      return unreachable(event);
  }
}
