/** Older samples say little about now. */
const WINDOW_MS = 20_000;
/** A shorter span gives figures that jump. */
const SHORTEST_MS = 500;
const MAX_SAMPLES = 64;

interface Sample {
  readonly atMs: number;
  readonly done: number;
}

/** How fast a task goes, from its progress within the last 20 s. */
export class RateMeter {
  #samples: readonly Sample[] = [];

  /** A count that goes back begins anew. */
  push(done: number, atMs: number): void {
    const last = this.#samples.at(-1);
    const kept = last !== undefined && done < last.done ? [] : this.#samples.filter((sample) => sample.atMs >= atMs - WINDOW_MS);
    this.#samples = [...kept.slice(-MAX_SAMPLES), { atMs, done }];
  }

  reset(): void {
    this.#samples = [];
  }

  /** Units a second; `null` while too little is known. */
  perSecond(): number | null {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.atMs - first.atMs < SHORTEST_MS) return null;
    return ((last.done - first.done) * 1_000) / (last.atMs - first.atMs);
  }

  /** Milliseconds until `total` at this rate; `null` when that is not known. */
  etaMs(total: number): number | null {
    const rate = this.perSecond();
    const done = this.#samples.at(-1)?.done;
    return rate === null || rate <= 0 || done === undefined ? null : (Math.max(0, total - done) * 1_000) / rate;
  }
}
