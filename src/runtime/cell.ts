import type { AttemptTimes } from "../core/attempt.ts";
import type { ReasonFact } from "../core/explanation.ts";
import type { By } from "../core/lifecycle-events.ts";
import type { Executor } from "../core/ports/executor.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { Outbox } from "./outbox.ts";
import type { TaskDefinition } from "./task-definition.ts";

/** Waits for a task: told of each snapshot once it is stored, or that one could not be. */
export interface CellWatcher {
  stored(snapshot: TaskSnapshot): void;
  failed(problem: Error): void;
}

/** A node's place in the run that drives it. */
export interface NodePlace {
  /** Has its run ended? Then it can be led to no attempt. */
  isOver(): boolean;
  /** A person takes the node into their hands: refused where its run has ended, else what tells the run, once that is done. */
  reopen(cell: Cell, verb: string): () => void;
  /** `start` by hand: queued with its arguments worked out anew, or blocked while its dependencies are open. */
  start(cell: Cell, by: By): void;
  /** Called once the node has reached a terminal status, stored or not. */
  ended(cell: Cell): void;
  /** Its arguments as its upstreams stand now; `undefined`: they are no function. */
  args(): readonly unknown[] | undefined;
  /** The value of an upstream of this node. */
  upstream(name: string): Promise<unknown>;
  /** Of an item of a map: may it go on to the scheduler, or does it wait for its turn among the items? */
  admit?(): boolean;
  /** Of an item of a map that waits for its turn: those that have theirs. */
  ahead?(): readonly Cell[];
  /** Called after each of its steps. */
  stepped?(cell: Cell): void;
  /** What keeps it from the scheduler: its upstreams, or its turn among the items of a map. Changes nothing. */
  inTheWay?(): readonly ReasonFact[];
}

/** What carries a node whose body is made of other tasks. */
export interface ItemCarrier extends Executor {
  /** Is that task one of them? */
  carries(taskId: string): boolean;
  /** Those that have not ended, as they are iterated. */
  readonly openItems: Iterable<Cell>;
}

/** The attempt under way, as the control plane sees it. */
export interface LiveAttempt {
  readonly times: AttemptTimes;
  readonly local: boolean;
  readonly alive: boolean;
  readonly beatsItself: boolean;
  readonly number: number;
  readonly supportsPause: boolean;
  launch(): void;
  abort(error: Error): void;
  stop(graceMs: number, message: string): void;
  pause(timeoutMs: number): void;
  /** A pause that is to be taken back once the launch has reported holds again. */
  pauseAfterAll(timeoutMs: number): void;
  resume(by: By): void;
  /** It is taken out of its task's hands: the body is told to end, and its end is only for the record. */
  detach(graceMs: number, message: string): void;
}

/**
 * What this controller holds in memory of one task: the snapshot as decided, as stored, and its attempt.
 * Kept while the task is not terminal or a write is under way.
 */
export class Cell {
  readonly definition: TaskDefinition;
  readonly place: NodePlace | null;
  /** As decided: verbs and outcomes are judged by it. */
  snapshot: TaskSnapshot;
  /** As stored: whoever asks is answered by it. `null` until the task is made. */
  stored: TaskSnapshot | null = null;
  args: readonly unknown[] | undefined;
  attempt: LiveAttempt | null = null;
  /** What carries it in place of an executor, and takes no slot: the items of a map. */
  carrier: ItemCarrier | null = null;
  #saved: unknown;
  #isSaveDue = false;
  /** What the last attempt threw, while it is in memory: the `cause` of the error that `result` throws. */
  error: unknown;
  /** Its last body was given up on while it was to stop: whoever asked for that does not want another attempt. */
  lostInStop = false;
  /** Its run has paused it, not a person: then resuming the run wakes it. */
  pausedByRun = false;
  /** It was forced back to the start and is not begun until the body that it was taken from has ended. */
  waitsForBody = false;
  /** Writes decided and not yet stored. */
  unstored = 0;
  /** What was said behind the latest of them and is published in that place: neither before its `running` nor after its end. */
  readonly outbox = new Outbox();
  /** Made with the first one: most tasks of a run are watched by nobody. */
  #watchers: Set<CellWatcher> | null = null;

  constructor(parts: {
    readonly definition: TaskDefinition;
    readonly snapshot: TaskSnapshot;
    readonly args: readonly unknown[] | undefined;
    readonly place: NodePlace | null;
  }) {
    this.definition = parts.definition;
    this.snapshot = parts.snapshot;
    this.args = parts.args;
    this.place = parts.place;
  }

  /** What the last attempt saved for the next one. */
  get saved(): unknown {
    return this.#saved;
  }

  /** Something else is to go on from: it goes to the store with the next change. */
  save(state: unknown): void {
    this.#saved = state;
    this.#isSaveDue = true;
  }

  /** As it was read from the store. */
  restore(saved: unknown): void {
    this.#saved = saved;
  }

  /** What is to be stored of it with a change, once; `undefined`: nothing. */
  takeSave(): { readonly value: unknown } | undefined {
    if (!this.#isSaveDue) return undefined;
    this.#isSaveDue = false;
    return { value: this.#saved };
  }

  get taskId(): string {
    return this.snapshot.taskId;
  }

  watch(watcher: CellWatcher): () => void {
    const watchers = (this.#watchers ??= new Set());
    watchers.add(watcher);
    return () => watchers.delete(watcher);
  }

  /** How many wait for it: returns to 0 when nobody does. */
  get watcherCount(): number {
    return this.#watchers?.size ?? 0;
  }

  /** A snapshot has been stored: whoever waits hears of it. */
  tell(stored: TaskSnapshot): void {
    this.stored = stored;
    for (const watcher of this.#watchers ?? []) watcher.stored(stored);
  }

  /** A change was decided and cannot be stored: whoever waits hears why, instead of waiting for ever. */
  fail(problem: Error): void {
    for (const watcher of this.#watchers ?? []) watcher.failed(problem);
  }
}
