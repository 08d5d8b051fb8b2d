import { holdId, holdKeyOf } from "../core/holds.ts";
import type { Hold, HoldKey, HoldTarget } from "../core/holds.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Scheduler } from "./scheduler.ts";

/** The holds that people have put on names, tags and buckets, with who and why. */
export class Holds {
  readonly #scheduler: Scheduler;
  readonly #clock: Clock;
  /** By `holdId`, in the order in which they were made. */
  readonly #holds = new Map<string, Hold>();

  constructor(scheduler: Scheduler, clock: Clock) {
    this.#scheduler = scheduler;
    this.#clock = clock;
  }

  get all(): readonly Hold[] {
    return [...this.#holds.values()];
  }

  get(key: HoldKey): Hold | undefined {
    return this.#holds.get(holdId(key));
  }

  /** From now on nothing of it is started. Held already: the first hold stays as it is, and is the answer. */
  hold(target: HoldTarget, { actor, reason }: Pick<Hold, "actor" | "reason">): Hold {
    const key = holdKeyOf(target);
    const known = this.get(key);
    if (known !== undefined) return known;
    const hold = Object.freeze({ target: Object.freeze(target), actor, reason, since: this.#clock.now() });
    this.#holds.set(holdId(key), hold);
    this.#scheduler.hold(key);
    return hold;
  }

  /** False: it was not held. */
  release(target: HoldTarget): boolean {
    const key = holdKeyOf(target);
    this.#holds.delete(holdId(key));
    return this.#scheduler.endHold(key);
  }
}
