import { blockersOf, Slots } from "../core/admission.ts";
import type { AdmissionLimits, Blocker, HeldSlots, SlotClaim } from "../core/admission.ts";
import { InternalError } from "../core/errors.ts";
import type { ResolvedConcurrencyPolicy } from "../core/policies/concurrency.ts";

/** An attempt that holds slots, or wants to. */
export interface SlotHolder extends SlotClaim {
  readonly taskId: string;
  /** It needs no slots and holds none. */
  readonly exempt: boolean;
  /** The name its slots are held under: the task's id at first. Written by `acquire`. */
  holder: string;
}

/** A limit that is used up, and who holds its slots. */
export interface UsedLimit {
  readonly blocker: Blocker;
  readonly limit: number;
  readonly held: number;
  readonly holders: readonly SlotOwner[];
}

/** Whose slot it is. */
export interface SlotOwner {
  readonly taskId: string;
  /** It is held for the body of an attempt that was given up on and still runs. */
  readonly abandoned: boolean;
}

/**
 * Slots by attempt: beside the one that runs, bodies of earlier attempts that were abandoned may keep the
 * task's tags. What gives slots back answers what became free.
 */
export class AttemptSlots {
  /** `Slots` reads it anew at each decision, so changing it changes the limits. */
  readonly #limits: { -readonly [Name in keyof AdmissionLimits]: AdmissionLimits[Name] };
  readonly #slots: Slots;
  /** By task, the oldest first. */
  readonly #abandoned = new Map<string, SlotHolder[]>();

  constructor({ maxParallel, limits, perBucket }: ResolvedConcurrencyPolicy) {
    this.#limits = { maxParallel, limits, perBucket };
    this.#slots = new Slots(this.#limits);
  }

  get held(): HeldSlots {
    return this.#slots;
  }

  get hasRoom(): boolean {
    return this.#slots.total < this.#limits.maxParallel;
  }

  setLimits({ maxParallel, limits, perBucket }: ResolvedConcurrencyPolicy): void {
    Object.assign(this.#limits, { maxParallel, limits, perBucket });
  }

  /**
   * Takes all it needs, or nothing and answers what is in the way.
   * @param order differs from that of every other attempt of the task
   */
  acquire(attempt: SlotHolder, order: number): Blocker | null {
    if (this.#abandoned.size > 0 && this.#abandoned.has(attempt.taskId)) attempt.holder = `${attempt.taskId}/${order}`;
    return this.#slots.acquire(attempt.holder, attempt);
  }

  /** Every limit that is in the way of that claim. O(holders) for each. */
  inTheWay(claim: SlotClaim): readonly UsedLimit[] {
    return blockersOf(this.#limits, this.#slots, claim).map((blocker) => ({ blocker, ...this.#useOf(blocker), holders: this.#holdersOf(blocker) }));
  }

  release(attempt: SlotHolder): SlotClaim {
    if (attempt.exempt) return NOTHING;
    this.#slots.release(attempt.holder);
    return attempt;
  }

  /** Gives back everything but the tags, which are kept until `releaseTags`. */
  abandon(attempt: SlotHolder): SlotClaim {
    const others = this.#abandoned.get(attempt.taskId);
    if (others === undefined) this.#abandoned.set(attempt.taskId, [attempt]);
    else others.push(attempt);
    return this.lend(attempt);
  }

  /** Gives back everything but the tags until `reclaim`. Lent already: nothing becomes free. */
  lend(attempt: SlotHolder): SlotClaim {
    if (attempt.exempt || this.#slots.hasLent(attempt.holder)) return NOTHING;
    this.#slots.lend(attempt.holder);
    return { bucket: attempt.bucket, tags: [] };
  }

  /** Takes back what was lent; false: something is in the way. */
  reclaim(attempt: SlotHolder): boolean {
    return attempt.exempt || !this.#slots.hasLent(attempt.holder) || this.#slots.reclaim(attempt.holder) === null;
  }

  /**
   * The tags of the task's oldest abandoned body.
   * @throws InternalError when there is none
   */
  releaseTags(taskId: string): SlotClaim {
    const attempts = this.#abandoned.get(taskId);
    const attempt = attempts?.shift();
    if (attempt === undefined)
      throw new InternalError(`task ${taskId} has no tags to release: no abandoned body of it is known, or they were released before.`);
    if (attempts?.length === 0) this.#abandoned.delete(taskId);
    return this.release(attempt);
  }

  #useOf(blocker: Blocker): Pick<UsedLimit, "limit" | "held"> {
    const { maxParallel, limits, perBucket } = this.#limits;
    const { total, byTag, byBucket } = this.#slots;
    if (blocker.kind === "global") return { limit: maxParallel, held: total };
    if (blocker.kind === "tag") return { limit: limits.get(blocker.tag) ?? Infinity, held: byTag.get(blocker.tag) ?? 0 };
    return { limit: perBucket ?? Infinity, held: byBucket.get(blocker.bucket) ?? 0 };
  }

  #holdersOf(blocker: Blocker): readonly SlotOwner[] {
    const abandoned = new Set([...this.#abandoned.values()].flat().map(({ holder }) => holder));
    return this.#slots.holdersOf(blocker).map((holder) => ({ taskId: taskOf(holder), abandoned: abandoned.has(holder) }));
  }
}

const NOTHING: SlotClaim = Object.freeze({ bucket: null, tags: [] });

/** The task's id is the first part of the name its slots are held under. */
function taskOf(holder: string): string {
  return holder.split("/", 1)[0] ?? holder;
}
