import type { AttemptRecord } from "../core/attempt.ts";
import type { TaskError } from "../core/errors.ts";
import { InternalError, UnknownId } from "../core/errors.ts";
import type { StoredEvent, TaskEvent, WarningCode } from "../core/events.ts";
import type { Failure } from "../core/failure.ts";
import type { LifecycleEvent } from "../core/lifecycle-events.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskChange, TaskStore } from "../core/ports/store.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { apply } from "../core/state-machine.ts";
import { isTerminal } from "../core/transitions.ts";
import { eventsOf, warningEvent } from "./audit-events.ts";
import type { Cell } from "./cell.ts";
import type { HookCall, Hooks } from "./hooks.ts";
import type { Journal, Stored } from "./journal.ts";
import type { Scheduler } from "./scheduler.ts";

/** What the lifecycle works with. */
export interface LifecycleParts {
  readonly store: TaskStore;
  readonly journal: Journal;
  readonly scheduler: Scheduler;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: (events: readonly TaskEvent[]) => void;
  readonly hooks: Hooks;
  /** A task has taken a step, or has its turn in the queue; the scheduler and its run know. */
  readonly stepped: (cell: Cell) => void;
}

/** What goes with a change beside the step itself. */
export interface Along {
  readonly warning?: { readonly code: WarningCode; readonly message: string; readonly failure?: Failure };
  /** Called once the step is stored, or could not be. */
  readonly stored?: (problem: Error | null) => void;
  readonly args?: readonly unknown[];
}

type Warning = NonNullable<Along["warning"]>;
type Note = Partial<Pick<TaskSnapshot, "abandonedBy" | "pid" | "progress" | "lastHeartbeatAt">>;

/** What a decision brings with it to the store. */
interface Decided {
  readonly events: readonly StoredEvent[];
  readonly attempts: readonly AttemptRecord[];
  readonly along: Along;
  /** Called once it is stored. */
  readonly hook?: HookCall | null;
}

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([]);
/** So many ended tasks keep a value that could not be stored. */
const KEPT_VALUES = 100;

const NOTHING_ALONG: Along = Object.freeze({});

/**
 * Every step of every task this controller drives goes through here: the state machine decides, the journal
 * writes, the scheduler hears of it. There is no second way. Source §1 (1), §5.2.
 */
export class Lifecycle {
  readonly #parts: LifecycleParts;
  readonly #cells = new Map<string, Cell>();
  readonly #unstorable = new Map<string, Cell>();
  #warnings = 0;
  #recording: Promise<void> = Promise.resolve();

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** The tasks held in memory: those that have not ended, and those whose end is being written. */
  get cells(): ReadonlyMap<string, Cell> {
    return this.#cells;
  }

  get(taskId: string): Cell | undefined {
    return this.#cells.get(taskId);
  }

  /** An ended task whose value could not be stored. */
  withValue(taskId: string): Cell | undefined {
    return this.#unstorable.get(taskId);
  }

  hold(cell: Cell): void {
    this.#cells.set(cell.taskId, cell);
  }

  forget(cell: Cell): void {
    if (this.#cells.get(cell.taskId) === cell) this.#cells.delete(cell.taskId);
  }

  /** Applies an event. `null`: accepted, and on its way to the store. Else the refusal; nothing has changed. */
  apply(cell: Cell, event: LifecycleEvent, along: Along = NOTHING_ALONG): TaskError | null {
    const now = this.#parts.clock.now();
    const applied = apply(cell.snapshot, event, now);
    if (!applied.ok) return applied.error;
    const attempts = applied.attempt === null ? NO_ATTEMPTS : [{ ...applied.attempt, ...cell.attempt?.times }];
    this.#accept(cell, applied.snapshot, { events: eventsOf(applied, now), attempts, along, hook: this.#hook(cell, event, applied.snapshot) });
    return null;
  }

  /** Applies several events as one commit: all are accepted, or nothing has changed. */
  applyAll(cell: Cell, sequence: readonly LifecycleEvent[], along: Along = NOTHING_ALONG): TaskError | null {
    const now = this.#parts.clock.now();
    const events: StoredEvent[] = [];
    const attempts: AttemptRecord[] = [];
    let snapshot = cell.snapshot;
    for (const event of sequence) {
      const applied = apply(snapshot, event, now);
      if (!applied.ok) return applied.error;
      snapshot = applied.snapshot;
      events.push(...eventsOf(applied, now));
      if (applied.attempt !== null) attempts.push({ ...applied.attempt, ...cell.attempt?.times });
    }
    const last = sequence.at(-1);
    const hook = last === undefined ? null : this.#hook(cell, last, snapshot);
    this.#accept(cell, snapshot, { events, attempts, along, hook });
    return null;
  }

  #hook(cell: Cell, event: LifecycleEvent, after: TaskSnapshot): HookCall | null {
    return this.#parts.hooks.of(cell.definition.hooks ?? null, event.type, { before: cell.snapshot, after });
  }

  #accept(cell: Cell, after: TaskSnapshot, what: Decided): void {
    const before = cell.snapshot;
    const { warning } = what.along;
    cell.snapshot = after;
    // What is done is done: should it ever run again, it begins anew.
    if (after.status === "succeeded" && cell.saved !== undefined) cell.save(undefined);
    this.#write(cell, before, warning === undefined ? what : { ...what, events: [...what.events, this.#warning(cell, warning)] });
    this.#react(cell, before, after);
  }

  /** Applies an event that must be accepted: a refusal is a bug of ours. */
  must(cell: Cell, event: LifecycleEvent, along: Along = NOTHING_ALONG): void {
    const refused = this.apply(cell, event, along);
    if (refused !== null) throw new InternalError(`task ${cell.taskId}: "${event.type}" was refused: ${refused.message}`, { cause: refused });
  }

  /** Notes a fact without a step: the version stays. */
  note(cell: Cell, patch: Note, along: Along = NOTHING_ALONG): void {
    const before = cell.snapshot;
    cell.snapshot = { ...before, ...patch };
    const events = along.warning === undefined ? [] : [this.#warning(cell, along.warning)];
    this.#write(cell, before, { events, attempts: [], along });
  }

  /** Publishes what is not stored as a step (progress, log lines, output): behind the steps decided so far, ahead of the next. */
  publish(cell: Cell, event: TaskEvent): void {
    if (cell.unstored === 0) this.#parts.publish([event]);
    else if (!cell.outbox.add(event) && cell.outbox.dropped === 1) {
      this.#parts.logger.warn("a task says more than can wait until the store is back; the oldest is dropped", { taskId: cell.taskId });
    }
  }

  /** Puts a warning on a task's record, though it may have ended long ago. */
  async warn(taskId: string, warning: Warning, patch: Note = {}): Promise<void> {
    if (this.#noteOnHeld(taskId, warning, patch)) return;
    // One after the other, since each begins with the row as the one before has left it.
    const recorded = this.#recording.then(async () => await this.#warnEnded(taskId, warning, patch));
    this.#recording = recorded.catch(() => {});
    await recorded;
  }

  async #warnEnded(taskId: string, warning: Warning, patch: Note): Promise<void> {
    const row = await this.#parts.store.tasks.get(taskId);
    if (row === undefined) throw new UnknownId(`no task ${taskId}: its history was pruned.`);
    // It may have been revived meanwhile.
    if (this.#noteOnHeld(taskId, warning, patch)) return;
    const snapshot = { ...row, ...patch };
    const event = warningEvent(snapshot, this.#parts.clock.now(), { ...warning, nth: this.#nextWarning() });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#parts.journal.change({ snapshot, expectVersion: row.statusVersion, events: [event], attempts: [] }, (problem) =>
      problem === null ? resolve() : reject(problem),
    );
    await promise;
  }

  /** False: the task is not held in memory. */
  #noteOnHeld(taskId: string, warning: Warning, patch: Note): boolean {
    const cell = this.#cells.get(taskId);
    if (cell !== undefined) this.note(cell, patch, { warning });
    return cell !== undefined;
  }

  #write(cell: Cell, before: TaskSnapshot, what: Decided): void {
    const snapshot = cell.snapshot;
    const { args, stored } = what.along;
    const saved = cell.takeSave();
    const change: TaskChange = {
      snapshot,
      expectVersion: before.statusVersion,
      events: what.events,
      attempts: what.attempts,
      ...(args === undefined ? {} : { args }),
      ...(saved === undefined ? {} : { saved }),
    };
    const ahead = cell.outbox.takeAhead();
    cell.unstored += 1;
    const whenStored: Stored = (problem, result) => {
      cell.unstored -= 1;
      cell.outbox.sent(ahead.length);
      this.#stored(cell, snapshot, problem, result.outcomeMissing);
      // Only of the step that brought the value: the warning is itself a write with that value in it.
      const isEnd = isTerminal(snapshot.status) && snapshot.statusVersion > before.statusVersion;
      if (isEnd && result.outcomeMissing !== null) this.#warnOfMissing(cell, "outcome_not_stored", result.outcomeMissing);
      // A map's list may well be longer than what is kept of one task; each item is stored with its own task.
      if (args !== undefined && result.argsMissing !== null && cell.carrier === null) this.#warnOfMissing(cell, "args_not_stored", result.argsMissing);
      if (saved !== undefined && result.savedMissing !== null) this.#warnOfMissing(cell, "state_not_stored", result.savedMissing);
      if (problem === null && what.hook !== undefined && what.hook !== null) this.#parts.hooks.call(what.hook, cell.stored ?? snapshot, snapshot.outcome);
      stored?.(problem);
    };
    this.#parts.journal.change(change, whenStored, ahead);
  }

  #stored(cell: Cell, snapshot: TaskSnapshot, problem: Error | null, outcomeMissing: string | null): void {
    if (problem === null) {
      const lacksOutcome = outcomeMissing !== null && isTerminal(snapshot.status);
      cell.tell(lacksOutcome ? { ...snapshot, outcomeMissing } : snapshot);
    } else {
      // The owner of an occupied task is its only writer: a conflict here is a bug, and is said to be one.
      this.#parts.logger.error("a change of a task was not stored", { taskId: cell.taskId, status: snapshot.status, problem: problem.message });
      cell.fail(problem);
    }
    if (cell.unstored > 0) return;
    const said = cell.outbox.drain();
    if (said.length > 0) this.#parts.publish(said);
    if (!isTerminal(cell.snapshot.status)) return;
    if (cell.stored !== null && cell.stored.outcomeMissing !== null && cell.snapshot.outcomeMissing === null) this.#keepValue(cell);
    this.forget(cell);
  }

  /** A value that is in memory alone can still be asked for: the last of them are kept. */
  #keepValue(cell: Cell): void {
    this.#unstorable.delete(cell.taskId);
    this.#unstorable.set(cell.taskId, cell);
    const [oldest] = this.#unstorable.keys();
    if (this.#unstorable.size > KEPT_VALUES && oldest !== undefined) this.#unstorable.delete(oldest);
  }

  /** The value still flows in memory; whoever needs it later must know that it is not in the store. */
  #warnOfMissing(cell: Cell, code: "outcome_not_stored" | "args_not_stored" | "state_not_stored", why: string): void {
    this.warn(cell.taskId, { code, message: why }).catch((problem: unknown) => {
      this.#parts.logger.warn(why, { taskId: cell.taskId, notRecorded: String(problem) });
    });
  }

  /** Keeps the scheduler and the run in step with what was decided. */
  #react(cell: Cell, before: TaskSnapshot, after: TaskSnapshot): void {
    const { scheduler } = this.#parts;
    const wasQueued = before.status === "queued" || before.status === "retry_wait";
    if (wasQueued && after.status !== "starting") scheduler.remove(cell.taskId);
    if (holdsSlot(before) && !holdsSlot(after)) scheduler.release(cell.taskId, { keepTags: isAbandoned(after) || isForcedOut(before, after) });
    cell.place?.stepped?.(cell);
    if ((after.status === "queued" && !cell.waitsForBody) || after.status === "retry_wait") this.queue(cell);
    if (isTerminal(after.status)) cell.place?.ended(cell);
    this.#parts.stepped(cell);
  }

  /** Hands a task that is queued or backs off to the scheduler. */
  queue(cell: Cell): void {
    if (cell.place?.admit?.() === false) return;
    const { taskId, name, pipelineRunId, priority, bucket, tags, availableAt, status } = cell.snapshot;
    const exempt = cell.carrier !== null;
    this.#parts.scheduler.enqueue({ taskId, name, run: pipelineRunId, priority, bucket, tags, availableAt, backoff: status === "retry_wait", exempt });
    this.#parts.stepped(cell);
  }

  /** Takes it out of the scheduler though it still waits to be begun. False: it does not wait there. */
  unqueue(cell: Cell): boolean {
    return this.#parts.scheduler.remove(cell.taskId);
  }

  #warning(cell: Cell, warning: Warning): StoredEvent {
    return warningEvent(cell.snapshot, this.#parts.clock.now(), { ...warning, nth: this.#nextWarning() });
  }

  #nextWarning(): number {
    this.#warnings += 1;
    return this.#warnings;
  }
}

/** Was it taken from a live carrier by force? Only that raises the token on the way out. */
function isForcedOut(before: TaskSnapshot, after: TaskSnapshot): boolean {
  return after.fencingToken > before.fencingToken;
}

/** Has this attempt's own body been given up on? `abandonedBy` may also tell of an earlier one. */
function isAbandoned({ status, failure }: TaskSnapshot): boolean {
  return status === "lost" && failure?.abandoned === true;
}
