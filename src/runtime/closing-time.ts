import type { Clock, Timer } from "../core/ports/clock.ts";

/** Beyond the grace, how long a closing controller waits for a store that does not write. */
const PATIENCE_MS = 5_000;

/** How long a controller takes to close at most: the grace and some patience with the store. It can be shortened. */
export class ClosingTime {
  readonly #clock: Clock;
  readonly #up = Promise.withResolvers<void>();
  #graceMs: number;
  #timer: Timer | null = null;

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** The shortest that was asked for. */
  get graceMs(): number {
    return this.#graceMs;
  }

  /** From now on it runs; resolves when it is up. */
  async begin(): Promise<void> {
    this.#start();
    await this.#up.promise;
  }

  /** False: it is not shorter, and nothing has changed. */
  shorten(graceMs: number): boolean {
    if (graceMs >= this.#graceMs) return false;
    this.#graceMs = graceMs;
    if (this.#timer !== null) this.#start();
    return true;
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #start(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(this.#graceMs + PATIENCE_MS, this.#up.resolve);
  }
}
