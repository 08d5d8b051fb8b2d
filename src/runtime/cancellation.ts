import { TaskCancelled } from "../core/errors.ts";
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
  /** The body has come by; only told where somebody counts idle time. */
  active(): void;
}

/**
 * What is wished of one attempt, as its body can see it: a stop, a pause. Made for one attempt and thrown
 * away with it. Source §5.4, §13.3.
 */
export class CancellationToken {
  readonly #clock: Clock;
  readonly #listener: TokenListener;
  readonly #countsIdle: boolean;
  #stopError: TaskCancelled | null = null;
  #pauseWished = false;
  #gate: { readonly promise: Promise<void>; readonly open: () => void } | null = null;
  #controller: AbortController | null = null;
  #checkpointThrew = false;
  #checksPerReading = 1;
  #checksLeft = 1;
  #readAt: number;
  #yieldedAt: number;

  constructor(clock: Clock, listener: TokenListener, countsIdle: boolean) {
    this.#clock = clock;
    this.#listener = listener;
    this.#countsIdle = countsIdle;
    this.#readAt = this.#yieldedAt = clock.monotonic();
  }

  /** Could the body have seen that it was to stop? A checkpoint threw, or it took the signal. Source §13.6. */
  get noticed(): boolean {
    return this.#checkpointThrew || this.#controller !== null;
  }

  get stopWished(): boolean {
    return this.#stopError !== null;
  }

  /** The body asks for the signal: from now on it may notice. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stopError !== null && !this.#controller.signal.aborted) this.#controller.abort(this.#stopError);
    return this.#controller.signal;
  }

  stop(message: string): void {
    if (this.#stopError !== null) return;
    this.#stopError = new TaskCancelled(message);
    this.#controller?.abort(this.#stopError);
    this.#openGate();
  }

  pause(): void {
    this.#pauseWished = true;
  }

  resume(): void {
    this.#pauseWished = false;
    this.#openGate();
  }

  /** Where pause and stop take hold. Nothing asked: a resolved promise, no allocation. */
  checkpoint(): Promise<void> {
    if (this.#countsIdle) this.#listener.active();
    if (this.#stopError !== null || this.#pauseWished) return this.#hold();
    return --this.#checksLeft > 0 ? RESOLVED : this.#look();
  }

  /** Has the body had the loop for long enough? */
  #look(): Promise<void> {
    const now = this.#clock.monotonic();
    this.#checksPerReading = now - this.#readAt < FAST_MS ? Math.min(MOST_CHECKS_PER_READING, this.#checksPerReading * 2) : 1;
    this.#checksLeft = this.#checksPerReading;
    this.#readAt = now;
    return now - this.#yieldedAt < YIELD_AFTER_MS ? RESOLVED : this.#giveWay();
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
    if (this.#stopError === null) return;
    this.#checkpointThrew = true;
    throw this.#stopError;
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
