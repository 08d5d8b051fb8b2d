import type { CarrierLink } from "./carrier-link.ts";

/** A carrier that a pool can keep. */
export interface PooledLink extends CarrierLink {
  /** It has work: it keeps this process alive. Idle: it does not. */
  hold(): void;
  letGo(): void;
  /** Asks it to end by itself and ends it when it does not; resolves when it is gone. */
  retire(): Promise<void>;
}

/** How a pool keeps its carriers. */
export interface PoolOptions<Link extends PooledLink> {
  readonly make: () => Link;
  /** How many idle ones are kept. */
  readonly keep: number;
  /** After so many tasks a carrier is retired. */
  readonly maxUses: number;
}

/** Warm carriers: reused until they have had enough; a broken one is replaced. */
export class CarrierPool<Link extends PooledLink> {
  readonly #options: PoolOptions<Link>;
  readonly #idle: Link[] = [];
  readonly #uses = new Map<Link, number>();
  readonly #leaving = new Set<Promise<void>>();
  #closed = false;

  constructor(options: PoolOptions<Link>) {
    this.#options = options;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  /** A warm carrier, or a new one. */
  take(): Link {
    let link = this.#idle.pop();
    while (link !== undefined && !link.alive) {
      this.drop(link);
      link = this.#idle.pop();
    }
    const taken = link ?? this.#options.make();
    this.#uses.set(taken, (this.#uses.get(taken) ?? 0) + 1);
    taken.hold();
    return taken;
  }

  /** A carrier made ahead of its first task. */
  add(link: Link): void {
    if (this.#closed) {
      this.#retire(link);
      return;
    }
    this.#uses.set(link, 0);
    link.letGo();
    this.#idle.push(link);
  }

  giveBack(link: Link): void {
    link.listener = null;
    const spent = (this.#uses.get(link) ?? 0) >= this.#options.maxUses;
    if (this.#closed || spent || !link.alive || this.#idle.length >= this.#options.keep) {
      this.#retire(link);
      return;
    }
    link.letGo();
    this.#idle.push(link);
  }

  /** It is gone, or not to be trusted any more. */
  drop(link: Link): void {
    this.#uses.delete(link);
    if (link.alive) this.#retire(link);
  }

  /** Retires the idle ones, ends those that still work, and waits until all are gone. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const link of this.#idle.splice(0)) this.#retire(link);
    for (const link of this.#uses.keys()) {
      link.kill();
      this.drop(link);
    }
    await Promise.all(this.#leaving);
  }

  #retire(link: Link): void {
    this.#uses.delete(link);
    const leaving = link.retire().finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }
}
