import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Progress, ProgressReport } from "../core/progress.ts";

const INTERVAL_MS = 500;
const SHARE_OF_TOTAL = 0.01;
const MIN_GAP_MS = 50;

/**
 * Lets progress through when 500 ms have passed or `done` has moved by 1 % of `total`, at most 20 times a
 * second; the first and the last always. Source §4.1 (1).
 */
export class ProgressThrottle {
  readonly #clock: Clock;
  readonly #publish: (progress: Progress) => void;
  #done: number | null = null;
  #total: number | null = null;
  #unit: string | null = null;
  #message: string | null = null;
  #sentAt = Number.NEGATIVE_INFINITY;
  #sentDone = 0;
  #checksLeft = 0;
  #unsent = false;
  #timer: Timer | null = null;
  /** The timer is for the least gap: nothing can make it earlier. */
  #timerIsSoonest = false;

  constructor(clock: Clock, publish: (progress: Progress) => void) {
    this.#clock = clock;
    this.#publish = publish;
  }

  report(report: ProgressReport): void {
    if (report.done !== undefined) this.#done = finiteOr(report.done, this.#done);
    if (report.total !== undefined) this.#total = finiteOr(report.total, this.#total);
    if (report.unit !== undefined) this.#unit = report.unit;
    if (report.message !== undefined) this.#message = report.message;
    this.#unsent = true;
    // A million calls a second must not read the clock a million times; the timer covers what is left over.
    if (this.#timer !== null && this.#checksLeft-- > 0 && (this.#timerIsSoonest || !this.#moved())) return;
    this.#checksLeft = 32;
    this.#consider();
  }

  /** The last one always goes out. */
  flush(): void {
    if (this.#unsent) this.#send(this.#clock.monotonic());
    this.#timer?.cancel();
    this.#timer = null;
  }

  #consider(): void {
    const now = this.#clock.monotonic();
    const waitedMs = now - this.#sentAt;
    const moved = this.#moved();
    if (waitedMs >= INTERVAL_MS || (waitedMs >= MIN_GAP_MS && moved)) return this.#send(now);
    if (this.#timer !== null && (this.#timerIsSoonest || !moved)) return;
    this.#timer?.cancel();
    this.#timerIsSoonest = moved;
    this.#timer = this.#clock.setTimer((moved ? MIN_GAP_MS : INTERVAL_MS) - waitedMs, () => {
      this.#timer = null;
      if (this.#unsent) this.#consider();
    });
  }

  #moved(): boolean {
    return this.#total !== null && this.#total > 0 && Math.abs((this.#done ?? 0) - this.#sentDone) >= this.#total * SHARE_OF_TOTAL;
  }

  #send(now: number): void {
    this.#sentAt = now;
    this.#sentDone = this.#done ?? 0;
    this.#unsent = false;
    this.#timer?.cancel();
    this.#timer = null;
    this.#publish({ done: this.#done, total: this.#total, unit: this.#unit, message: this.#message, updatedAt: this.#clock.now() });
  }
}

function finiteOr(value: number, otherwise: number | null): number | null {
  return Number.isFinite(value) ? value : otherwise;
}
