import type { ProgressReport } from "../progress.ts";

/** The task's own log: each line carries the task, the run and the attempt. */
export interface TaskLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/**
 * The one thing that is injected into a task: made by the executor for one attempt, passed as the first
 * argument. Source §3.3.
 */
export interface TaskContext {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  /** The task's registered name. */
  readonly name: string;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Rises with every attempt: give it to your own writes, to fence off a stale one. */
  readonly fencingToken: number;
  /**
   * Aborts when a stop, a cancel or a timeout asks the task to end. A task that has taken it is believed to
   * have noticed: what it then returns is kept as `partialOutcome` and does not count as success.
   */
  readonly signal: AbortSignal;
  /** When this attempt must have ended, epoch milliseconds; moves on by the time paused. `null`: never. */
  readonly deadline: number | null;
  readonly log: TaskLog;
  /** Says how far the task has come; cheap enough for every row (throttled). */
  progress(report: ProgressReport): void;
  /**
   * Where pause and stop take hold: await it in every loop. Throws `TaskCancelled` once a stop was asked for,
   * waits while paused. Code that never comes by can be neither paused nor stopped in time, and a synchronous
   * loop blocks the whole process: use a thread or a process for it.
   */
  checkpoint(): Promise<void>;
  /** The value of an upstream node of this run, by the node's name. Throws `OutcomeMissing` where it has none. */
  upstream(node: string): Promise<unknown>;
  /** Sends a value to those who watch (`TaskOutput`). */
  emit(kind: string, payload: unknown): void;
}
