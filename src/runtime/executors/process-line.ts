import type { ToCarrier } from "./protocol.ts";

/**
 * The file descriptor over which a child hears what is asked of the task it runs. A helper thread reads it, so that a
 * busy child hears, too; the helper's beats come back the same way.
 */
export const CONTROL_FD = 3;

/** The file descriptor over which the main thread of a child gets its jobs and says all that it has to say. */
export const JOBS_FD = 4;

/** The lines are read by two threads: what is asked names the job it is meant for, counted from 1 in each child. */
export interface Control {
  readonly nth: number;
  readonly message: ToCarrier;
}

/** Does the main thread get this between two tasks? All else is asked of the one that runs. */
export function isForIdle({ type }: ToCarrier): boolean {
  return type === "run" || type === "load" || type === "retire";
}
