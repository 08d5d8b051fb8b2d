import type { ProgressReport } from "../progress.ts";

/**
 * The task's own log: each line carries the task, the run and the attempt. The fields are copied as they are said; in place of
 * what cannot be copied (a function, a promise) the line has a text that describes it. A log line never fails its task.
 */
export interface TaskLog {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The files of one attempt. */
export interface Artifacts {
  /** Its path; the folder is made when the first file is. */
  readonly folder: string;
  /**
   * The path of a file in it, whose folder then exists. The name may have sub-folders (`parts/1.csv`).
   * @throws ConfigurationError for a name that would lead outside, or that no file system takes
   */
  path(name: string): string;
  /** Writes a file in one step: it is there whole, or as it was before. Gives its path. */
  write(name: string, content: string | Uint8Array): Promise<string>;
}

/** Options of `track`. */
export interface TrackOptions {
  readonly unit?: string;
  /** Default: the length of the list, where it has one. */
  readonly total?: number;
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
  /**
   * The same for synchronous code in a thread or process: a busy loop hears pause and stop here, and costs no CPU
   * while paused. Throws `ConfigurationError` in an `inline` or `async` task, which has no other thread to hear from.
   */
  checkpointSync(): void;
  /**
   * Goes through the items with a checkpoint and progress at each: `for await (const row of ctx.track(rows))`.
   * `total` is the length where there is one.
   */
  track<Item>(items: Iterable<Item> | AsyncIterable<Item>, options?: TrackOptions): AsyncGenerator<Item, void, undefined>;
  /** The folder of this attempt's files: a retry never meets what a broken attempt left. */
  readonly artifacts: Artifacts;
  /** Keeps a state for the next attempt: a retried backfill goes on where it was. Plain values; the last one counts. */
  save(state: unknown): void;
  /** What the last attempt saved, whoever asked for this one; `undefined`: nothing. `reset` and success forget it. */
  readonly saved: unknown;
  /** The value of an upstream node of this run, by the node's name. Throws `OutcomeMissing` where it has none. */
  upstream(node: string): Promise<unknown>;
  /**
   * Sends a copy of a value to those who watch (`TaskOutput`).
   * @throws ConfigurationError that names the path of what cannot be copied, wherever the task runs
   */
  emit(kind: string, payload: unknown): void;
}
