/** How the flights of one group fared. */
export interface Delays {
  readonly flights: number;
  readonly meanDelayMin: number;
  /** The share that was more than a quarter of an hour late. */
  readonly lateShare: number;
}

/** Counts flights and delays by group. */
export class Tally<Key> {
  readonly #groups = new Map<Key, { flights: number; delay: number; late: number }>();

  add(key: Key, delay: number): void {
    let group = this.#groups.get(key);
    if (group === undefined) this.#groups.set(key, (group = { flights: 0, delay: 0, late: 0 }));
    group.flights += 1;
    group.delay += delay;
    if (delay > 15) group.late += 1;
  }

  /** A row per group: what `describe` says of its key, then the figures. */
  rows<Named extends object>(describe: (key: Key) => Named): (Named & Delays)[] {
    return [...this.#groups].map(([key, { flights, delay, late }]) => ({
      ...describe(key),
      flights,
      meanDelayMin: delay / flights,
      lateShare: late / flights,
    }));
  }
}
