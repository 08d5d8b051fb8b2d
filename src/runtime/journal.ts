import { ControllerClosed, StoreError } from "../core/errors.ts";
import type { StoredEvent, TaskEvent } from "../core/events.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import { CHANGE_MADE } from "../core/ports/store.ts";
import type { ChangeResult, RunChange, TaskChange, TaskCreation, TaskStore } from "../core/ports/store.ts";
import type { RunSnapshot } from "../core/run.ts";
import { toError } from "../core/thrown.ts";
import { unreachable } from "../core/unreachable.ts";

/** So long work may go on from write to write before the event loop turns. */
const STRETCH_MS = 10;

const RETRY_AFTER_MS = [50, 100, 250, 500, 1_000] as const;

/** How one write ended: `null` for stored, and what could not be stored with it. */
export type Stored = (problem: Error | null, result: Omit<ChangeResult, "conflict">) => void;

interface Answer {
  readonly problem: Error | null;
  readonly result: Omit<ChangeResult, "conflict">;
}

const STORED: Answer = { problem: null, result: CHANGE_MADE };

interface Creation {
  readonly op: "create";
  readonly creation: TaskCreation;
  readonly stored: Stored;
}

interface RunCreation {
  readonly op: "createRun";
  readonly run: RunSnapshot;
  readonly params: readonly unknown[];
  readonly creations: readonly TaskCreation[];
  readonly events: readonly StoredEvent[];
  readonly stored: Stored;
}

interface Change {
  readonly op: "change";
  change: TaskChange;
  /** Its events, and between them what was said beside them and is not stored; one entry for each change that joined. */
  readonly parts: Announcement[];
  /** `null`: nobody waits for it. */
  stored: Stored | null;
}

/** What is published of one change, and which change it was: the place of its row in a write tells only of the first that joined. */
interface Announcement {
  readonly order: number;
  readonly events: readonly TaskEvent[];
  /** How many of them are stored, too. */
  readonly stored: number;
}

interface ChangeOfRun {
  readonly op: "changeRun";
  readonly change: RunChange;
  readonly stored: Stored | null;
}

type Write = Creation | RunCreation | Change | ChangeOfRun;

/** What the journal tells of itself. */
export interface JournalHealth {
  readonly degraded: boolean;
  /** Writes that the store could not take at once, since opening. */
  readonly persistFailures: number;
  readonly waiting: number;
}

/** What the journal works with. */
export interface JournalParts {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called with what has been stored, in order, and what was to be said between. */
  readonly publish: (events: readonly TaskEvent[]) => void;
}

/**
 * The only path to the store. Changes of one task that wait together become one; all that waits becomes one
 * durable write; only then is it published. A store that fails for a while fails no task: what waits keeps
 * its order until the store is back. Source §4.1 (2), §5.6.
 */
export class Journal {
  readonly #parts: JournalParts;
  #waiting: Write[] = [];
  /** The change of each task that is still waiting, so that the next one can join it. */
  #joinable = new Map<string, Change>();
  #flushing = false;
  #scheduled = false;
  #closed = false;
  #failures = 0;
  #failuresInRow = 0;
  #timer: Timer | null = null;
  #idle: (() => void)[] = [];
  #changes = 0;
  /** When the stretch of writes began that the event loop has not turned in; on the monotonic clock. */
  #stretchFrom: number | null = null;

  constructor(parts: JournalParts) {
    this.#parts = parts;
  }

  get health(): JournalHealth {
    return { degraded: this.#failuresInRow > 0, persistFailures: this.#failures, waiting: this.#waiting.length };
  }

  create(creation: TaskCreation, stored: Stored): void {
    this.#push({ op: "create", creation, stored });
  }

  createRun(run: Omit<RunCreation, "op" | "stored">, stored: Stored): void {
    this.#push({ op: "createRun", ...run, stored });
  }

  changeRun(change: RunChange, stored: Stored | null = null): void {
    // It is a write of its own between the changes of tasks: what is decided behind it must not be stored before it.
    this.#joinable.clear();
    this.#push({ op: "changeRun", change, stored });
  }

  /** @param ahead what was said before this change was decided: published right before its events */
  change(change: TaskChange, stored: Stored | null = null, ahead: readonly TaskEvent[] = []): void {
    const { taskId } = change.snapshot;
    const waiting = this.#joinable.get(taskId);
    this.#changes += 1;
    const announcement = { order: this.#changes, stored: change.events.length, events: ahead.length === 0 ? change.events : [...ahead, ...change.events] };
    if (waiting === undefined) {
      const write: Change = { op: "change", change, parts: [announcement], stored };
      this.#joinable.set(taskId, write);
      this.#push(write);
      return;
    }
    waiting.change = joined(waiting.change, change);
    waiting.parts.push(announcement);
    waiting.stored = both(waiting.stored, stored);
  }

  /** Resolves when nothing waits to be stored. */
  async drained(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#flushing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#idle.push(resolve);
    await promise;
  }

  /** Nothing more is taken. What still waits is told that it was not stored. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    refuse(this.#take());
    this.#wakeIdle();
  }

  #push(write: Write): void {
    if (this.#closed) {
      write.stored?.(new ControllerClosed("the controller is closed: open another."), CHANGE_MADE);
      return;
    }
    this.#waiting.push(write);
    if (this.#flushing || this.#scheduled || this.#timer !== null) return;
    this.#scheduled = true;
    // One microtask later: whatever this turn still decides goes into the same write.
    queueMicrotask(() => {
      this.#scheduled = false;
      void this.#flush();
    });
  }

  #take(): Write[] {
    const writes = this.#waiting;
    this.#waiting = [];
    this.#joinable = new Map();
    return writes;
  }

  async #flush(): Promise<void> {
    if (this.#flushing) return;
    this.#flushing = true;
    while (this.#waiting.length > 0 && !this.#closed) {
      if (this.#isLong()) await this.#parts.clock.turn();
      const writes = creationsFirst(this.#take());
      const rest = await this.#write(writes);
      if (rest.length === 0) continue;
      if (this.#closed) {
        refuse(rest);
        break;
      }
      this.#waiting = [...rest, ...this.#waiting];
      this.#retryLater();
      break;
    }
    this.#flushing = false;
    if (this.#waiting.length === 0) this.#wakeIdle();
  }

  /**
   * Has the event loop not turned for long? A store in memory answers within the turn, and tasks that never wait themselves
   * would keep timers, signals and input waiting.
   */
  #isLong(): boolean {
    const { clock } = this.#parts;
    if (this.#stretchFrom !== null) return clock.monotonic() - this.#stretchFrom >= STRETCH_MS;
    this.#stretchFrom = clock.monotonic();
    void clock.turn().then(() => {
      this.#stretchFrom = null;
    });
    return false;
  }

  /** Writes them in order, alike ones together; answers those that the store could not take. */
  async #write(writes: readonly Write[]): Promise<readonly Write[]> {
    let from = 0;
    while (from < writes.length) {
      const group = groupFrom(writes, from);
      from += group.length;
      const rest = await this.#writeGroup(group);
      if (rest.length > 0) return [...rest, ...writes.slice(from)];
      this.#failuresInRow = 0;
    }
    return [];
  }

  /** Answers those of the group that the store has decided on, and gives back the rest: for them it is out of reach. */
  async #writeGroup(group: readonly Write[]): Promise<readonly Write[]> {
    let answers: readonly Answer[];
    try {
      answers = await this.#hand(group);
    } catch (error) {
      if (!(error instanceof StoreError && error.transient)) return await this.#isolate(group, error);
      this.#failed(error);
      return group;
    }
    this.#answer(group, answers);
    return [];
  }

  /** The data of one write is at fault: it must not sink the others. */
  async #isolate(group: readonly Write[], error: unknown): Promise<readonly Write[]> {
    if (group.length === 1) {
      this.#answer(group, [{ problem: toError(error), result: CHANGE_MADE }]);
      return [];
    }
    const middle = group.length >> 1;
    const rest = await this.#writeGroup(group.slice(0, middle));
    return rest.length > 0 ? [...rest, ...group.slice(middle)] : await this.#writeGroup(group.slice(middle));
  }

  async #hand(group: readonly Write[]): Promise<readonly Answer[]> {
    const { store } = this.#parts;
    const creations: TaskCreation[] = [];
    const changes: TaskChange[] = [];
    const joins = hasJoins(group);
    for (const write of group) {
      switch (write.op) {
        case "create":
          creations.push(write.creation);
          break;
        case "createRun":
          await store.runs.create(write.run, write.params, write.creations, write.events);
          break;
        case "change":
          changes.push(joins ? ranked(write) : write.change);
          break;
        case "changeRun":
          return [{ problem: await store.runs.commit(write.change), result: CHANGE_MADE }];
        default:
          return unreachable(write);
      }
    }
    if (creations.length > 0) await store.tasks.create(creations);
    if (changes.length === 0) return [];
    const results = await store.tasks.commit(changes);
    return results.map((result) => (result === CHANGE_MADE ? STORED : { problem: result.conflict, result }));
  }

  #answer(group: readonly Write[], answers: readonly Answer[]): void {
    const done = group.filter((_write, index) => (answers[index] ?? STORED).problem === null);
    this.#parts.publish(inOrder(done).flatMap((announcement) => announcement.events));
    for (const [index, write] of group.entries()) {
      const { problem, result } = answers[index] ?? STORED;
      write.stored?.(problem, result);
    }
  }

  #failed(problem: StoreError): void {
    this.#failures += 1;
    this.#failuresInRow += 1;
    this.#parts.logger.error("the store could not write; what waits is kept in order and tried again", { problem: problem.message });
  }

  #retryLater(): void {
    const delayMs = RETRY_AFTER_MS[Math.min(this.#failuresInRow, RETRY_AFTER_MS.length) - 1] ?? 1_000;
    this.#timer = this.#parts.clock.setTimer(delayMs, () => {
      this.#timer = null;
      void this.#flush();
    });
  }

  #wakeIdle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const wake of idle) wake();
  }
}

/** The controller closed before they were stored. */
function refuse(writes: readonly Write[]): void {
  for (const write of writes) write.stored?.(new ControllerClosed("the controller closed before this was stored."), CHANGE_MADE);
}

/** A change may well have been decided before another task was made: one call can then make all that is new. */
function creationsFirst(writes: readonly Write[]): readonly Write[] {
  const rank = (write: Write): number => (write.op === "create" ? 0 : write.op === "createRun" ? 1 : 2);
  return writes.some((write, index) => index > 0 && rank(write) < rank(writes[index - 1] ?? write)) ? writes.toSorted((a, b) => rank(a) - rank(b)) : writes;
}

/** The longest run of writes that one call of the store can take. */
function groupFrom(writes: readonly Write[], from: number): readonly Write[] {
  const first = writes[from];
  if (first === undefined || first.op === "createRun" || first.op === "changeRun") return writes.slice(from, from + 1);
  let end = from + 1;
  while (end < writes.length && writes[end]?.op === first.op) end += 1;
  return from === 0 && end === writes.length ? writes : writes.slice(from, end);
}

/** As it was decided: a cause before its effects, though a later change of one task joined an earlier one of it. */
function inOrder(writes: readonly Write[]): readonly Announcement[] {
  const announcements = writes.flatMap(announcementsOf);
  return hasJoins(writes) ? announcements.toSorted((a, b) => a.order - b.order) : announcements;
}

/** Has a later change of one task joined an earlier one? */
function hasJoins(writes: readonly Write[]): boolean {
  return writes.some((write) => write.op === "change" && write.parts.length > 1);
}

/** The change with the place of each of its events among all that were decided. */
function ranked({ change, parts }: Change): TaskChange {
  return { ...change, ranks: parts.flatMap(({ order, stored }) => Array.from({ length: stored }, () => order)) };
}

function announcementsOf(write: Write): readonly Announcement[] {
  switch (write.op) {
    case "create":
      return [{ order: 0, stored: 0, events: write.creation.events }];
    case "createRun":
      // The run before its nodes, as the feed tells it.
      return [{ order: 0, stored: 0, events: [...write.events, ...write.creations.flatMap((creation) => creation.events)] }];
    case "change":
      return write.parts;
    case "changeRun":
      return [{ order: 0, stored: 0, events: write.change.events }];
    default:
      return unreachable(write);
  }
}

/** Two changes of one task as one: from what the first expects to where the second leads. */
function joined(first: TaskChange, second: TaskChange): TaskChange {
  const args = second.args ?? first.args;
  const saved = second.saved ?? first.saved;
  const change: TaskChange = {
    snapshot: second.snapshot,
    expectVersion: first.expectVersion,
    events: [...first.events, ...second.events],
    attempts: [...first.attempts, ...second.attempts],
  };
  return { ...change, ...(args === undefined ? {} : { args }), ...(saved === undefined ? {} : { saved }) };
}

function both(first: Stored | null, second: Stored | null): Stored | null {
  if (first === null || second === null) return first ?? second;
  return (problem, result) => {
    first(problem, result);
    second(problem, result);
  };
}
