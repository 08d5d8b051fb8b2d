import type { Blocker, HeldSlots, SlotClaim } from "../core/admission.ts";
import { InternalError } from "../core/errors.ts";
import { holdId, holdIdsOf } from "../core/holds.ts";
import type { Holdable, HoldKey } from "../core/holds.ts";
import type { ResolvedConcurrencyPolicy } from "../core/policies/concurrency.ts";
import type { Clock } from "../core/ports/clock.ts";
import { AttemptSlots } from "./attempt-slots.ts";
import type { SlotHolder, UsedLimit } from "./attempt-slots.ts";
import { DueQueue } from "./due-queue.ts";
import type { DueNode } from "./due-queue.ts";
import { ReadyQueue } from "./ready-queue.ts";
import type { QueuedTask } from "./ready-queue.ts";
import { SlotLoans } from "./slot-loans.ts";

/** A task that asks for its turn. */
export interface ScheduledItem {
  readonly taskId: string;
  /** The task's registered name. It limits nothing by itself, but it can be held. */
  readonly name: string;
  /** The id of the run it is a node of, which can be held. Default `null`: none. */
  readonly run?: string | null;
  /** Higher first. */
  readonly priority: number;
  readonly bucket: number | null;
  /** In any order; a tag given twice counts once. */
  readonly tags: readonly string[];
  /** Not before this instant, epoch milliseconds; `null`: at once. It becomes a length of time when it is enqueued. */
  readonly availableAt: number | null;
  /** It is in `retry_wait`: if no slot is free when its time has come, `backoffEnded` says so and it waits on. */
  readonly backoff: boolean;
  /** It takes no slot and waits for none, but it can be held. Default false. */
  readonly exempt?: boolean;
  /** Since when it waits, epoch milliseconds, for aging. Default: now. */
  readonly queuedAt?: number;
}

/** What a scheduler needs. */
export interface SchedulerOptions {
  readonly clock: Clock;
  readonly concurrency: ResolvedConcurrencyPolicy;
  /** Its turn has come and it holds its slots: start it, and `release` it once at its end. */
  dispatch(taskId: string): void;
  /** Its backoff is over and no slot is free: it waits as any other task now. Said once for an enqueued item. */
  backoffEnded(taskId: string): void;
}

/** What stays behind when a task gives its slots back. */
export interface ReleaseOptions {
  /** Keep the named semaphores until `releaseTags`: its abandoned body still runs under them. Default false. */
  readonly keepTags?: boolean;
}

/** What an enqueued task waits for. */
export interface Waiting {
  /** It is delayed: the rest counts once its time has come. */
  readonly delayed: boolean;
  readonly holds: readonly HoldKey[];
  readonly limits: readonly UsedLimit[];
}

/** What an enqueued task is doing here. */
type Phase = "delayed" | "ready" | "held";

interface Entry extends SlotHolder, QueuedTask<Entry>, DueNode {
  /** Of its arrival here, then of its arrival in the ready queue. */
  sequence: number;
  phase: Phase;
  readonly backoff: boolean;
}

/**
 * Ready tasks to free slots: a global limit, named semaphores by tag, a limit per bucket, holds; by priority, then
 * first in, first out. Woken by `enqueue`, `release` and one timer for the earliest that is due; it never
 * polls. What one turn of code asks for is decided in one pass right behind it, in a microtask, so the
 * callbacks may call every method. Source §5.3.
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #slots: AttemptSlots;
  readonly #loans: SlotLoans;
  readonly #delayed: DueQueue<Entry>;
  readonly #ready: ReadyQueue<Entry>;
  readonly #exempt = new ReadyQueue<Entry>(NO_LIMITS);
  readonly #entries = new Map<string, Entry>();
  /** By `holdId`. */
  readonly #holds = new Map<string, HoldKey>();
  /** Backoffs that are over while it is not yet known whether a slot is free. */
  readonly #overdue: Entry[] = [];
  #sequence = 0;
  #woken = false;
  #closed = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#slots = new AttemptSlots(options.concurrency);
    this.#loans = new SlotLoans(this.#slots);
    this.#ready = new ReadyQueue(options.concurrency);
    this.#delayed = new DueQueue(options.clock, this.#pass);
  }

  /** How many slots are held, in all, by tag and by bucket; exempt tasks hold none. */
  get held(): HeldSlots {
    return this.#slots.held;
  }

  /** How many tasks wait for a slot. */
  get queuedCount(): number {
    return this.#ready.size + this.#exempt.size;
  }

  /** How many wait for their time. */
  get delayedCount(): number {
    return this.#delayed.size;
  }

  /**
   * A task asks for its turn. After `close` it is ignored.
   * @throws InternalError when the task waits here already, or runs
   */
  enqueue(item: ScheduledItem): void {
    if (this.#closed) return;
    const known = this.#entries.get(item.taskId);
    if (known !== undefined) throw new InternalError(`task ${item.taskId} cannot be enqueued: it is ${known.phase} already.`);
    const entry = this.#entryOf(item);
    this.#entries.set(item.taskId, entry);
    if (entry.phase === "delayed") return this.#delayed.add(entry);
    this.#admit(entry);
    if (entry.exempt || entry.backoff || this.#slots.hasRoom) this.#wake();
  }

  /** It asks no longer. False: it was not waiting (it runs, or is not known). */
  remove(taskId: string): boolean {
    const entry = this.#entries.get(taskId);
    if (entry === undefined || entry.phase === "held") return false;
    this.#entries.delete(taskId);
    if (entry.phase === "delayed") this.#delayed.remove(entry);
    else if (entry.exempt) this.#exempt.remove(entry);
    else this.#ready.remove(entry);
    return true;
  }

  /**
   * A dispatched task gives back its slots, exactly once.
   * @throws InternalError when it was not dispatched, or has released already
   */
  release(taskId: string, { keepTags = false }: ReleaseOptions = {}): void {
    const entry = this.#entries.get(taskId);
    if (entry?.phase !== "held")
      throw new InternalError(`task ${taskId} has no slots to release: it is ${entry?.phase ?? "not here, or gave them back before"}.`);
    this.#entries.delete(taskId);
    this.#loans.forget(entry);
    this.#freed(keepTags ? this.#slots.abandon(entry) : this.#slots.release(entry));
  }

  /**
   * The abandoned body of a task has ended: the tags that its oldest release kept are free.
   * @throws InternalError when none are kept for it
   */
  releaseTags(taskId: string): void {
    this.#freed(this.#slots.releaseTags(taskId));
  }

  /**
   * A running task waits for another one and needs its global and its bucket slot no more; it keeps its tags. Lent
   * already, or on the way back: they stay lent. Not here any more: nothing happens.
   */
  lend(taskId: string): void {
    const entry = this.#entries.get(taskId);
    if (entry?.phase === "held") this.#freed(this.#loans.lend(entry));
  }

  /**
   * It goes on and takes back what it lent, ahead of everything in the queue.
   * @returns `null`: it has its slots; else resolves when it has, when it lends again, or when it ends
   */
  takeBack(taskId: string): Promise<void> | null {
    const entry = this.#entries.get(taskId);
    return entry?.phase === "held" ? this.#loans.takeBack(entry) : null;
  }

  /** What the task waits for; `null`: it does not wait here. Changes nothing. O(tags × slots held). */
  waitOf(taskId: string): Waiting | null {
    const entry = this.#entries.get(taskId);
    if (entry === undefined || entry.phase === "held") return null;
    return { delayed: entry.phase === "delayed", holds: this.holdsOf(entry), limits: entry.exempt ? [] : this.#slots.inTheWay(entry) };
  }

  /** The holds that such a task is under, be it here or not. */
  holdsOf(task: Holdable): readonly HoldKey[] {
    return holdIdsOf(task, this.#holds).flatMap((id) => this.#holds.get(id) ?? []);
  }

  /** Other limits from now on. What is over a lowered one ends in its own time, and nothing takes its place. */
  setLimits(concurrency: ResolvedConcurrencyPolicy): void {
    this.#slots.setLimits(concurrency);
    this.#ready.setRules(concurrency);
    this.#wake();
  }

  /**
   * Nothing under this key is dispatched from now on, whatever is or will be enqueued; what runs goes on, and
   * times go on: a delay or a backoff may end meanwhile. A task under several keys waits until none is held. What
   * is held costs the others nothing: its classes are parked. The first hold of a key
   * looks once at all that is ready, O(n), to set its tasks apart; ending it is O(log n).
   * @returns false: it was held already, and nothing has changed
   */
  hold(key: HoldKey): boolean {
    const id = holdId(key);
    if (this.#holds.has(id)) return false;
    this.#holds.set(id, key);
    for (const queue of [this.#ready, this.#exempt]) queue.hold(key);
    return true;
  }

  /** Ends a hold: what waited only for that gets its turn. False: it was not held. */
  endHold(key: HoldKey): boolean {
    const id = holdId(key);
    if (!this.#holds.delete(id)) return false;
    for (const queue of [this.#ready, this.#exempt]) queue.release(key);
    this.#wake();
    return true;
  }

  /** Forgets all that waits; nothing is dispatched from now on. What is held can still be released. */
  close(): void {
    this.#closed = true;
    for (const taskId of this.#entries.keys()) this.remove(taskId);
  }

  #entryOf(item: ScheduledItem): Entry {
    const { taskId, name, run = null, priority, bucket, tags, availableAt, backoff, exempt = false, queuedAt } = item;
    const { clock } = this.#options;
    const now = clock.now();
    const delayMs = availableAt === null ? 0 : availableAt - now;
    this.#sequence += 1;
    return {
      taskId,
      name,
      run,
      priority,
      bucket,
      tags,
      exempt,
      backoff,
      queuedAt: queuedAt ?? now,
      dueAt: delayMs > 0 ? clock.monotonic() + delayMs : 0,
      sequence: this.#sequence,
      heapIndex: -1,
      lane: null,
      admissionClass: null,
      previous: null,
      next: null,
      holder: taskId,
      phase: delayMs > 0 ? "delayed" : "ready",
    };
  }

  #admit(entry: Entry): void {
    entry.phase = "ready";
    if (entry.backoff) this.#overdue.push(entry);
    if (entry.exempt) this.#exempt.add(entry);
    else this.#ready.add(entry);
  }

  #freed(claim: SlotClaim): void {
    this.#ready.released(claim);
    if (this.#ready.size > 0 || this.#loans.waiting > 0) this.#wake();
  }

  #wake(): void {
    if (this.#woken || this.#closed) return;
    this.#woken = true;
    queueMicrotask(this.#pass);
  }

  readonly #pass = (): void => {
    this.#woken = false;
    this.#loans.settle();
    for (const entry of this.#delayed.takeDue()) this.#admit(entry);
    this.#dispatchExempt();
    this.#dispatchReady();
    this.#tellOverdue();
  };

  #dispatchExempt(): void {
    while (!this.#closed && this.#exempt.size > 0) {
      const entry = this.#exempt.take(takesNothing);
      if (entry === undefined) return;
      this.#start(entry);
    }
  }

  #dispatchReady(): void {
    while (!this.#closed && this.#ready.size > 0 && this.#slots.hasRoom) {
      const entry = this.#ready.take(this.#acquire);
      if (entry === undefined) return;
      this.#start(entry);
    }
  }

  #start(entry: Entry): void {
    entry.phase = "held";
    this.#call("dispatch", entry.taskId);
  }

  readonly #acquire = (entry: Entry): Blocker | null => this.#slots.acquire(entry, entry.sequence);

  #tellOverdue(): void {
    if (this.#overdue.length === 0) return;
    for (let entry = this.#overdue.shift(); entry !== undefined; entry = this.#overdue.shift()) {
      const waits = entry.phase === "ready" && this.#entries.get(entry.taskId) === entry;
      if (waits) this.#call("backoffEnded", entry.taskId);
    }
  }

  /** What a callback throws is a bug and goes up; another pass is for those who have not had their turn. */
  #call(name: "dispatch" | "backoffEnded", taskId: string): void {
    try {
      this.#options[name](taskId);
    } catch (error) {
      this.#wake();
      throw error;
    }
  }
}

const NO_LIMITS = { limits: new Map<string, number>(), perBucket: null, agingMs: null };

function takesNothing(): null {
  return null;
}
