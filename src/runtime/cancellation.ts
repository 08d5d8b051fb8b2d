import { AsyncLocalStorage } from "node:async_hooks";
import { ConfigurationError, TaskCancelled } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";

const RESOLVED: Promise<void> = Promise.resolve();

/** A tight async loop gives way to the event loop after so long. */
const YIELD_AFTER_MS = 8;

/** The clock is read once in so many checkpoints where they follow each other fast, unless somebody counts idle time. */
const MOST_CHECKS_PER_READING = 16;

/** Where this much or more lies between two readings, each checkpoint gets its own. */
const FAST_MS = 1;

/** What the token tells its owner. */
export interface TokenListener {
  /** A checkpoint holds the body. */
  pauseReached(): void;
  /** The body has met the stop. */
  stopSeen(): void;
  /** The carrier is alive. */
  beat(): void;
  /** The body has come by; only told where somebody counts idle time. */
  active(): void;
}

/** Where wishes arrive from outside this thread, though its event loop may not turn. */
export interface Inbox {
  /** Has anything been sent since the last `drain`? Costs some nanoseconds. */
  readonly changed: boolean;
  /** Takes what has been sent: the token is told of it before this returns. */
  drain(): void;
  /** Sleeps without using the CPU until something is sent, or for `ms`. */
  sleep(ms: number): void;
}

/** How often a body that sleeps in `checkpointSync` says that its carrier is alive. */
const BEAT_MS = 5_000;

/**
 * What is wished of one attempt, as its body can see it: a stop, a pause. Made for one attempt and thrown
 * away with it. Source §5.4, §13.3.
 */
export class CancellationToken {
  readonly #clock: Clock;
  readonly #listener: TokenListener;
  readonly #countsIdle: boolean;
  readonly #inbox: Inbox | null;
  #stopError: TaskCancelled | null = null;
  #pauseWished = false;
  #gate: { readonly promise: Promise<void>; readonly open: () => void } | null = null;
  /** Told of the next wish: the waits of the body for other tasks. Made with the first one. */
  #waits: Set<() => void> | null = null;
  #controller: AbortController | null = null;
  /** Runs something in the async context of the body. */
  #inBody: (act: () => void) => void = (act) => act();
  #checkpointThrew = false;
  #checksPerReading = 1;
  #checksLeft = 1;
  #readAt: number;
  #yieldedAt: number;

  constructor(clock: Clock, listener: TokenListener, options: { readonly countsIdle: boolean; readonly inbox?: Inbox }) {
    this.#clock = clock;
    this.#listener = listener;
    this.#countsIdle = options.countsIdle;
    this.#inbox = options.inbox ?? null;
    this.#readAt = this.#yieldedAt = clock.monotonic();
  }

  /** Could the body have seen that it was to stop? A checkpoint threw, or it took the signal. Source §13.6. */
  get noticed(): boolean {
    return this.#checkpointThrew || this.#controller !== null;
  }

  get stopWished(): boolean {
    return this.#stopError !== null;
  }

  /** Throws what a checkpoint would throw, once a stop was asked for. */
  throwIfStopped(): void {
    if (this.#stopError !== null) this.#throwStop(this.#stopError);
  }

  /** The body asks for the signal: from now on it may notice. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      this.#inBody = AsyncLocalStorage.snapshot();
      if (this.#stopError !== null) this.#abort(this.#controller, this.#stopError);
    }
    return this.#controller.signal;
  }

  stop(message: string): void {
    if (this.#stopError !== null) return;
    this.#stopError = new TaskCancelled(message);
    this.#openGate();
    this.#tellWaits();
    if (this.#controller !== null) this.#abort(this.#controller, this.#stopError);
  }

  /** Whoever stops it: what its abort listeners throw or leave behind is the task's, not theirs. */
  #abort(controller: AbortController, reason: TaskCancelled): void {
    this.#listener.stopSeen();
    this.#inBody(() => controller.abort(reason));
  }

  pause(): void {
    this.#pauseWished = true;
    this.#tellWaits();
  }

  resume(): void {
    this.#pauseWished = false;
    this.#openGate();
  }

  /** Where pause and stop take hold. Nothing asked: a resolved promise, no allocation. */
  checkpoint(): Promise<void> {
    if (this.#countsIdle) this.#listener.active();
    if (this.#inbox?.changed === true) this.#inbox.drain();
    if (this.#stopError !== null || this.#pauseWished) return this.#hold();
    return --this.#checksLeft > 0 ? RESOLVED : this.#look();
  }

  /** Waits as a checkpoint that lasts: a stop ends it, a pause takes hold in it and may outlast it. */
  async during<Value>(arrival: Promise<Value>): Promise<Value> {
    const waits = (this.#waits ??= new Set());
    let arrived = false;
    const arrive = (): void => void (arrived = true);
    const over = arrival.then(arrive, arrive);
    if (this.#countsIdle) this.#listener.active();
    for (;;) {
      if (this.#stopError !== null || this.#pauseWished) await this.#hold();
      if (arrived) break;
      const { promise: changed, resolve } = Promise.withResolvers<void>();
      waits.add(resolve);
      void over.then(resolve);
      await changed;
      waits.delete(resolve);
    }
    if (this.#countsIdle) this.#listener.active();
    return await arrival;
  }

  #tellWaits(): void {
    for (const tell of this.#waits ?? []) tell();
  }

  /** Has the body had the loop for long enough? */
  #look(): Promise<void> {
    const now = this.#clock.monotonic();
    this.#checksPerReading = now - this.#readAt < FAST_MS ? Math.min(MOST_CHECKS_PER_READING, this.#checksPerReading * 2) : 1;
    this.#checksLeft = this.#checksPerReading;
    this.#readAt = now;
    return now - this.#yieldedAt < YIELD_AFTER_MS ? RESOLVED : this.#giveWay();
  }

  /** Where pause and stop take hold in synchronous code; needs another thread to hear from. */
  checkpointSync(): void {
    const inbox = this.#inbox;
    if (inbox === null) {
      throw new ConfigurationError(
        'ctx.checkpointSync() works in a thread or process only: here it could hear nothing. Use "await ctx.checkpoint()", or executor: "thread".',
      );
    }
    if (this.#countsIdle) this.#listener.active();
    if (inbox.changed || this.#stopError !== null || this.#pauseWished) this.#holdSync(inbox);
  }

  #holdSync(inbox: Inbox): void {
    inbox.drain();
    while (this.#stopError === null && this.#pauseWished) {
      // Said again after each waking: a resume and a new pause may have come together.
      this.#listener.pauseReached();
      inbox.sleep(BEAT_MS);
      this.#listener.beat();
      inbox.drain();
    }
    if (this.#stopError !== null) this.#throwStop(this.#stopError);
  }

  async #giveWay(): Promise<void> {
    await this.#clock.turn();
    this.#yieldedAt = this.#clock.monotonic();
    if (this.#stopError !== null || this.#pauseWished) await this.#hold();
  }

  async #hold(): Promise<void> {
    while (this.#stopError === null && this.#pauseWished) {
      this.#gate ??= openable();
      this.#listener.pauseReached();
      await this.#gate.promise;
    }
    if (this.#stopError !== null) this.#throwStop(this.#stopError);
  }

  #throwStop(error: TaskCancelled): never {
    if (!this.#checkpointThrew) this.#listener.stopSeen();
    this.#checkpointThrew = true;
    throw error;
  }

  #openGate(): void {
    this.#gate?.open();
    this.#gate = null;
  }
}

function openable(): { readonly promise: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { promise, open: resolve };
}
