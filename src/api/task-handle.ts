import { OutcomeMissing, TaskCancelled, TaskExecutionError, TaskLost, TaskSkipped, TaskTimeout } from "../core/errors.ts";
import type { TaskEvent } from "../core/events.ts";
import type { FailureKind } from "../core/failure.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { TaskStatus } from "../core/status.ts";
import type { Cell } from "../runtime/cell.ts";
import type { Asking, EventOptions, ForceOptions, PauseOptions, ResetOptions, RetryOptions, SkipOptions, StopOptions, WaitOptions } from "./options.ts";
import type { TaskControls } from "./task-controls.ts";

/** One submitted task: its verbs, its end, its result. Source §3.2. */
export class TaskHandle<Result> {
  readonly id: string;
  readonly #controls: TaskControls;
  /** Of the execution that was last seen: a retry after the end may have made another. */
  #cell: Cell;

  /** Made by `submit`. */
  constructor(controls: TaskControls, cell: Cell) {
    this.id = cell.taskId;
    this.#controls = controls;
    this.#cell = cell;
  }

  /** The task as stored now. */
  async snapshot(): Promise<TaskSnapshot> {
    return await this.#controls.get(this.id);
  }

  /** Starts a task that is `pending`: made so by `reset`, or forced back. */
  async start(options?: Asking): Promise<TaskSnapshot> {
    return await this.#controls.start(this.id, options);
  }

  /** True once it is paused; false when no checkpoint was reached in time, and it runs on. */
  async pause(options?: PauseOptions): Promise<boolean> {
    return await this.#controls.pause(this.id, options);
  }

  async resume(options?: Asking): Promise<TaskSnapshot> {
    return await this.#controls.resume(this.id, options);
  }

  /** Resolves when the task has ended: `stopped`, or `lost` where it could not be stopped. */
  async stop(options?: StopOptions): Promise<TaskSnapshot> {
    return await this.#controls.halt(this.id, "stop", options);
  }

  /** Resolves when the task has ended: `cancelled`, or `lost` where it could not be stopped. */
  async cancel(options?: StopOptions): Promise<TaskSnapshot> {
    return await this.#controls.halt(this.id, "cancel", options);
  }

  /** Runs it again; the history stays. */
  async retry(options?: RetryOptions): Promise<TaskSnapshot> {
    return this.#seen(await this.#controls.retry(this.id, options));
  }

  /** Skips it before it has begun, or once it has failed: with `outcome`, `result()` is that. */
  async skip(options?: SkipOptions): Promise<TaskSnapshot> {
    return this.#seen(await this.#controls.skip(this.id, options));
  }

  /** Begins it anew: a new epoch with no attempt counted. It is `pending` then, and waits for `start`. */
  async reset(options: ResetOptions): Promise<TaskSnapshot> {
    return this.#seen(await this.#controls.reset(this.id, options));
  }

  /**
   * The escape hatch: sets a status by hand (a terminal one, `pending` or `queued`), on the record with who and why. A live
   * body is told to end, and what it still says is discarded. Source §3.1.
   */
  async forceTransition(to: TaskStatus, options: ForceOptions): Promise<TaskSnapshot> {
    return this.#seen(await this.#controls.force(this.id, to, options));
  }

  /**
   * Waits for a status; the task never notices.
   * @throws WaitTimeout when time is up, WaitImpossible when the status can no longer come
   */
  async wait(options: WaitOptions): Promise<TaskSnapshot> {
    return await this.#controls.wait(this.id, options);
  }

  /**
   * The value the task returned, once it has ended.
   * @throws TaskExecutionError (with the cause), TaskTimeout, TaskCancelled, TaskSkipped, TaskLost, OutcomeMissing
   */
  async result(): Promise<Result> {
    this.#cell = this.#controls.live(this.id) ?? this.#cell;
    const snapshot = await this.#controls.ended(this.id);
    this.#cell = this.#controls.live(this.id) ?? this.#cell;
    // What was submitted as a task of this result type returned it.
    return this.#valueOf(snapshot) as Result;
  }

  /** What happens to it, from its making on; ends with the task. */
  events(options?: EventOptions): AsyncGenerator<TaskEvent, void, undefined> {
    return this.#controls.eventsOf(this.id, options);
  }

  /** The verb may have made another execution of it. */
  #seen(snapshot: TaskSnapshot): TaskSnapshot {
    this.#cell = this.#controls.live(this.id) ?? this.#cell;
    return snapshot;
  }

  #valueOf(snapshot: TaskSnapshot): unknown {
    const { status, failure, taskId, name, skippedBy, outcomeMissing } = snapshot;
    const what = `task ${taskId} ("${name}")`;
    if (status === "succeeded") return this.#outcome(snapshot);
    if (status === "skipped") {
      if (skippedBy !== null && outcomeMissing === null) return snapshot.outcome;
      throw new TaskSkipped(`${what} was skipped: ${failure?.message ?? outcomeMissing ?? "no reason is on record"}.`);
    }
    if (status === "stopped" || status === "cancelled") throw new TaskCancelled(`${what} was ${status}${failure === null ? "" : `: ${failure.message}`}.`);
    if (status === "lost") throw new TaskLost(`${what} is lost: ${failure?.message ?? "its carrier is out of contact"}.`, failure);
    const scope = failure === null ? null : timeoutScope(failure.kind);
    if (scope !== null) throw new TaskTimeout(scope, `${what} timed out: ${failure?.message ?? scope}.`, { failure, cause: this.#cause(snapshot) });
    throw new TaskExecutionError(`${what} failed (${failure?.kind ?? "unknown"}): ${failure?.message ?? "no reason is on record"}`, failure, {
      cause: this.#cause(snapshot),
    });
  }

  /** An outcome that could not be stored is still in memory where it was made. */
  #outcome(snapshot: TaskSnapshot): unknown {
    if (snapshot.outcomeMissing === null) return snapshot.outcome;
    const mine = this.#cell.snapshot;
    if (mine.statusVersion === snapshot.statusVersion && mine.outcomeMissing === null) return mine.outcome;
    throw new OutcomeMissing(`task ${snapshot.taskId} has no outcome to read: ${snapshot.outcomeMissing}.`);
  }

  /** What was thrown itself, where it is still in memory. */
  #cause({ failure, statusVersion }: TaskSnapshot): unknown {
    if (this.#cell.error !== undefined && this.#cell.snapshot.statusVersion === statusVersion) return this.#cell.error;
    if (failure === null) return undefined;
    const error = new Error(failure.message);
    error.name = failure.name;
    if (failure.stack !== null) error.stack = failure.stack;
    return error;
  }
}

function timeoutScope(kind: FailureKind): TaskTimeout["scope"] | null {
  if (kind === "timeout_start") return "start";
  if (kind === "timeout_attempt") return "attempt";
  return kind === "timeout_idle" ? "idle" : null;
}
