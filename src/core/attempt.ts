import type { Failure } from "./failure.ts";
import type { TaskSnapshot } from "./snapshot.ts";
import type { TaskStatus } from "./status.ts";

/**
 * When an attempt was asked to stop or pause, and when its body met that (a checkpoint, an aborted signal). Epoch
 * milliseconds; `null`: it was not, or has not been seen. How a stop was settled is `endedAt`.
 */
export interface AttemptTimes {
  readonly stopAskedAt: number | null;
  readonly stopSeenAt: number | null;
  /** Of the last pause. */
  readonly pauseAskedAt: number | null;
  readonly pauseSeenAt: number | null;
}

/** Nothing was asked. */
export const NO_TIMES: AttemptTimes = Object.freeze({ stopAskedAt: null, stopSeenAt: null, pauseAskedAt: null, pauseSeenAt: null });

/** What became of one attempt; `null` ends mean that it still runs. Appended, then closed once. Source §2.2. */
export interface AttemptRecord extends AttemptTimes {
  readonly taskId: string;
  readonly epoch: number;
  readonly attempt: number;
  readonly executor: string | null;
  readonly pid: number | null;
  readonly owner: string | null;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly durationMs: number | null;
  /** The status the attempt led to; `null` while it runs. */
  readonly endedAs: TaskStatus | null;
  readonly failure: Failure | null;
  /** The carrier was ended by force. */
  readonly forced: boolean;
}

/** The record of the attempt that has just begun. */
export function openAttempt(snapshot: TaskSnapshot): AttemptRecord {
  return {
    taskId: snapshot.taskId,
    epoch: snapshot.epoch,
    attempt: snapshot.attempt,
    executor: snapshot.executor,
    pid: snapshot.pid,
    owner: snapshot.owner,
    startedAt: snapshot.startedAt ?? snapshot.createdAt,
    endedAt: null,
    durationMs: null,
    endedAs: null,
    failure: null,
    forced: false,
    ...NO_TIMES,
  };
}

/** The record of the attempt that `before` was in, closed as `after` says. */
export function closeAttempt(before: TaskSnapshot, after: TaskSnapshot, now: number): AttemptRecord {
  const open = openAttempt(before);
  return {
    ...open,
    endedAt: now,
    durationMs: Math.max(0, now - open.startedAt),
    endedAs: after.status,
    failure: after.failure,
    forced: after.failure?.forced ?? false,
  };
}
