import { AttemptsExhausted } from "./errors.ts";
import type { TaskError } from "./errors.ts";
import type { Failure } from "./failure.ts";
import { ended } from "./move.ts";
import type { Move } from "./move.ts";
import { holdsSlot } from "./snapshot-rules.ts";

/** Ready: `pending` or `blocked` whose dependencies are met, `retry_wait` whose backoff has ended. */
export function enqueue(move: Move, type: "enqueue" | "backoffElapsed"): TaskError | null {
  const { status } = move.snapshot;
  const legal = type === "backoffElapsed" ? status === "retry_wait" : status === "pending" || status === "blocked";
  return legal ? move.to("queued", { queuedAt: move.now }) : move.refuse();
}

/** `markStarting`: opens the attempt, so each path into `running` has a `startedAt`. */
export function dispatch(move: Move, owner: string, executor: string | null): TaskError | null {
  const snapshot = move.snapshot;
  const { status, attempt, maxAttempts, taskId } = snapshot;
  if (status !== "queued" && status !== "retry_wait") return move.refuse();
  if (attempt + 1 > maxAttempts) return new AttemptsExhausted(taskId, attempt, maxAttempts);
  return move.to("starting", {
    attempt: attempt + 1,
    fencingToken: snapshot.fencingToken + 1,
    startedAt: move.now,
    lastHeartbeatAt: move.now,
    availableAt: null,
    failure: null,
    progress: null,
    executor,
    owner,
    pid: null,
  });
}

/** It ends without having run: a false condition, or upstreams that did not end as it needs. */
export function endUnstarted(move: Move, to: "skipped" | "cancelled", failure: Failure): TaskError | null {
  const { status } = move.snapshot;
  if (status !== "pending" && status !== "blocked" && status !== "queued") return move.refuse();
  return move.to(to, { ...ended(move.now), failure });
}

/** It can never run (again): its arguments are gone. */
export function unrunnable(move: Move, failure: Failure): TaskError | null {
  // What is launched has its arguments: `stopping → cancelled` is not an edge for this.
  if (holdsSlot(move.snapshot)) return move.refuse();
  return move.to(move.snapshot.status === "retry_wait" ? "failed" : "cancelled", { ...ended(move.now), failure });
}
