import { setImmediate } from "node:timers";
import { describeValue } from "../core/describe-value.ts";
import { parseDuration } from "../core/duration.ts";
import type { Duration } from "../core/duration.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkOptions } from "../core/options.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";

/** Where a `FakeClock` begins. */
export interface FakeClockOptions {
  /** Wall time, epoch milliseconds. Default 2026-01-01T00:00:00Z. */
  readonly now?: number;
}

interface PendingTimer {
  /** On the monotonic clock. */
  readonly dueMs: number;
  readonly fire: () => void;
}

const DEFAULT_NOW = Date.UTC(2026, 0, 1);

/** Code that turns the event loop for ever must not hang a test. */
const MAX_TURNS = 100;

/**
 * A clock that stands still until it is moved, so that hours pass in a test at once. Timers run only within
 * `advance` and `runNext`, by due time and then in the order in which they were set; nothing ever sleeps. A delay
 * of 0 or less is due at once: the next `advance` runs it, `advance(0)` included.
 */
export class FakeClock implements Clock {
  /** In the order in which they will run. */
  readonly #timers: PendingTimer[] = [];
  #monotonicMs = 0;
  #wallAtZeroMs: number;
  #openTurns = 0;
  #isMoving = false;

  /** @throws ConfigurationError for an option that is wrong */
  constructor(options?: FakeClockOptions) {
    const { now = DEFAULT_NOW } = checkOptions(options, ["now"], "new FakeClock(options)");
    this.#wallAtZeroMs = checkFinite(now, "now");
  }

  /** How many timers have neither fired nor been cancelled. */
  get pendingTimers(): number {
    return this.#timers.length;
  }

  now(): number {
    return Math.floor(this.#wallAtZeroMs + this.#monotonicMs);
  }

  monotonic(): number {
    return this.#monotonicMs;
  }

  /** @throws ConfigurationError for a delay that is no finite number */
  setTimer(delayMs: number, fire: () => void): Timer {
    const timer: PendingTimer = { dueMs: this.#monotonicMs + Math.max(0, checkFinite(delayMs, "delayMs")), fire };
    const after = this.#timers.findLastIndex(({ dueMs }) => dueMs <= timer.dueMs);
    this.#timers.splice(after + 1, 0, timer);
    return { cancel: () => this.#remove(timer) };
  }

  /** A real turn of the event loop. It moves no time and runs no timer. */
  async turn(): Promise<void> {
    this.#openTurns += 1;
    await realTurn();
    this.#openTurns -= 1;
  }

  /**
   * Moves wall and monotonic time together. Each timer runs at its own instant, and what it set off settles
   * before the next one runs: promises, turns of this clock, and timers that come due within the same span.
   * What a timer throws rejects the promise; time then stands at that timer, and the others wait.
   * @throws ConfigurationError for a duration that is none, and while another move is not over
   */
  async advance(duration: Duration): Promise<void> {
    const targetMs = this.#monotonicMs + parseDuration(duration, "advance(duration)");
    await this.#move(async () => {
      while (await this.#runFirst(targetMs));
      this.#monotonicMs = targetMs;
    });
  }

  /**
   * Moves time to the next timer and runs it, and it alone.
   * @returns whether there was one
   * @throws ConfigurationError while another move is not over
   */
  async runNext(): Promise<boolean> {
    return this.#move(async () => {
      const hasRun = await this.#runFirst(Number.POSITIVE_INFINITY);
      if (hasRun) await this.#settle();
      return hasRun;
    });
  }

  /**
   * Moves wall time alone, forwards or backwards, as a person or a time server does. Nothing comes due by it.
   * @throws ConfigurationError for what is no finite number
   */
  jumpWall(ms: number): void {
    this.#wallAtZeroMs += checkFinite(ms, "jumpWall(ms)");
  }

  async #move<Result>(act: () => Promise<Result>): Promise<Result> {
    if (this.#isMoving) throw new ConfigurationError("the clock is already being moved: await that first.");
    this.#isMoving = true;
    try {
      return await act();
    } finally {
      this.#isMoving = false;
    }
  }

  /** Lets settle what ran before, then runs the first timer that is due by then; `false` when there is none. */
  async #runFirst(latestMs: number): Promise<boolean> {
    await this.#settle();
    const timer = this.#timers[0];
    if (timer === undefined || timer.dueMs > latestMs) return false;
    this.#timers.shift();
    this.#monotonicMs = timer.dueMs;
    timer.fire();
    return true;
  }

  /** Lets run what is ready to run: every promise, and whatever waits for a turn of this clock. */
  async #settle(): Promise<void> {
    for (let turns = 0; turns < MAX_TURNS; turns += 1) {
      await realTurn();
      if (this.#openTurns === 0) return;
    }
  }

  #remove(timer: PendingTimer): void {
    const index = this.#timers.indexOf(timer);
    if (index >= 0) this.#timers.splice(index, 1);
  }
}

function realTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

function checkFinite(value: unknown, name: string): number {
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new ConfigurationError(`${name} must be a finite number of milliseconds; found ${describeValue(value)}.`);
}
