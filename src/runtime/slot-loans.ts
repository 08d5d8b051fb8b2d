import type { SlotClaim } from "../core/admission.ts";
import type { AttemptSlots, SlotHolder } from "./attempt-slots.ts";

/**
 * Slots that running tasks have lent while they wait for others, and those who want theirs back: first come, first
 * served, ahead of everything that is queued. One whose bucket is used up holds up nobody of another bucket.
 */
export class SlotLoans {
  readonly #slots: AttemptSlots;
  /** Each with what is called when its wait for the slots is over. */
  readonly #returning = new Map<SlotHolder, { readonly back: Promise<void>; readonly over: () => void }>();

  constructor(slots: AttemptSlots) {
    this.#slots = slots;
  }

  /** How many wait for what they have lent. */
  get waiting(): number {
    return this.#returning.size;
  }

  /** Answers what became free. Who wants its slots back and waits for another task again lets them be. */
  lend(attempt: SlotHolder): SlotClaim {
    this.forget(attempt);
    return this.#slots.lend(attempt);
  }

  /** `null`: it has what it lent; else resolves when it has, or when it no longer wants it. */
  takeBack(attempt: SlotHolder): Promise<void> | null {
    const known = this.#returning.get(attempt);
    if (known !== undefined) return known.back;
    // Those who came before it come first; what they leave they have no use for.
    this.settle();
    if (this.#slots.reclaim(attempt)) return null;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#returning.set(attempt, { back: promise, over: resolve });
    return promise;
  }

  /** Something has become free: whoever can take back what it lent does. */
  settle(): void {
    for (const attempt of this.#returning.keys()) if (this.#slots.reclaim(attempt)) this.forget(attempt);
  }

  /** It wants nothing back any more. */
  forget(attempt: SlotHolder): void {
    const known = this.#returning.get(attempt);
    this.#returning.delete(attempt);
    known?.over();
  }
}
