import { TaskError } from "../core/errors.ts";
import type { StatusCounts } from "../core/ports/store.ts";
import type { RunStatus, TaskStatus } from "../core/status.ts";
import { unreachable } from "../core/unreachable.ts";

/** What the exit codes say; `docs/reference/cli.md` explains each. */
export const EXIT_CODES = {
  ok: 0,
  failed: 1,
  usage: 2,
  unknown: 3,
  stopped: 6,
  lost: 7,
  internal: 70,
  interrupted: 130,
} as const;

/** The exit code of a task, from its stored status. Only an ended task has one. */
export function exitCodeOfTask(status: TaskStatus): number {
  switch (status) {
    case "succeeded":
    case "skipped":
      return EXIT_CODES.ok;
    case "stopped":
    case "cancelled":
      return EXIT_CODES.stopped;
    case "lost":
      return EXIT_CODES.lost;
    case "failed":
      return EXIT_CODES.failed;
    case "pending":
    case "blocked":
    case "queued":
    case "starting":
    case "running":
    case "pausing":
    case "paused":
    case "retry_wait":
    case "stopping":
      return EXIT_CODES.internal;
    default:
      return unreachable(status);
  }
}

/** The exit code of a run, from its stored status and those of its nodes: a node that is lost, where none failed, makes it 7. */
export function exitCodeOfRun(status: RunStatus, counts: StatusCounts): number {
  const isLost = counts.lost > 0 && counts.failed === 0;
  switch (status) {
    case "succeeded":
      return EXIT_CODES.ok;
    case "failed":
      return isLost ? EXIT_CODES.lost : EXIT_CODES.failed;
    case "stopped":
    case "cancelled":
      return isLost ? EXIT_CODES.lost : EXIT_CODES.stopped;
    case "pending":
    case "running":
    case "pausing":
    case "paused":
    case "stopping":
      return EXIT_CODES.internal;
    default:
      return unreachable(status);
  }
}

/** The exit code of an error that ended a command: anything that is not ours to foresee is a bug of ours. */
export function exitCodeOfError(error: unknown): number {
  return error instanceof TaskError ? error.exitCode : EXIT_CODES.internal;
}
