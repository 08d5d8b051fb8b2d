import type { AttemptRecord } from "../core/attempt.ts";
import { frozenFailure } from "./frozen-failure.ts";

/** A frozen copy. Written out, field by field: faster than a spread, and every record has the same shape. */
export function frozenAttempt(attempt: AttemptRecord): AttemptRecord {
  const copy: AttemptRecord = {
    taskId: attempt.taskId,
    epoch: attempt.epoch,
    attempt: attempt.attempt,
    executor: attempt.executor,
    pid: attempt.pid,
    owner: attempt.owner,
    startedAt: attempt.startedAt,
    endedAt: attempt.endedAt,
    durationMs: attempt.durationMs,
    endedAs: attempt.endedAs,
    failure: frozenFailure(attempt.failure),
    forced: attempt.forced,
    stopAskedAt: attempt.stopAskedAt,
    stopSeenAt: attempt.stopSeenAt,
    pauseAskedAt: attempt.pauseAskedAt,
    pauseSeenAt: attempt.pauseSeenAt,
  };
  return Object.freeze(copy);
}
