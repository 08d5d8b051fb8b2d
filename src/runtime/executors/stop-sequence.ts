import type { Clock, Timer } from "../../core/ports/clock.ts";
import type { StopRequest } from "../../core/ports/executor.ts";

/** What a carrier can do when it is to end. */
export interface StopSteps {
  /** Asks the body. Said again with each request. */
  ask(message: string): void;
  /** At three quarters of the grace, where there is something between asking and ending. */
  warn?(): void;
  /** The grace is used up. */
  lastResort(): void;
}

const WARN_AT = 0.75;

/** So late a timer says that this event loop has stood still: what has ended or wanted to end meanwhile had no turn to say so. */
const STALLED_MS = 100;
const LAST_MOMENT_MS = 50;

/** The three steps of a stop, written once for every carrier: ask, grace, last resort. Source §5.4, §13.4. */
export class StopSequence {
  readonly #clock: Clock;
  readonly #steps: StopSteps;
  #endsAt: number | null = null;
  #timers: readonly Timer[] = [];
  #over = false;

  constructor(clock: Clock, steps: StopSteps) {
    this.#clock = clock;
    this.#steps = steps;
  }

  /** Asked again, the earlier deadline holds. */
  request({ graceMs, message }: StopRequest): void {
    if (this.#over) return;
    this.#steps.ask(message);
    const endsAt = this.#clock.monotonic() + graceMs;
    if (this.#endsAt !== null && this.#endsAt <= endsAt) return;
    this.#endsAt = endsAt;
    this.#cancelTimers();
    const last = this.#clock.setTimer(graceMs, () => this.#graceEnds(endsAt));
    this.#timers = this.#steps.warn === undefined || graceMs === 0 ? [last] : [this.#clock.setTimer(graceMs * WARN_AT, () => this.#steps.warn?.()), last];
  }

  /** The body has ended, or was given up on: nothing more is done to it. */
  end(): void {
    this.#over = true;
    this.#cancelTimers();
  }

  #graceEnds(at: number): void {
    if (this.#clock.monotonic() - at < STALLED_MS) this.#lastResort();
    else this.#timers = [this.#clock.setTimer(LAST_MOMENT_MS, () => this.#lastResort())];
  }

  #lastResort(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimers();
    this.#steps.lastResort();
  }

  #cancelTimers(): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
  }
}
