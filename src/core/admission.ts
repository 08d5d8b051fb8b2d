import { InternalError } from "./errors.ts";
import type { ResolvedConcurrencyPolicy } from "./policies/concurrency.ts";
import { unreachable } from "./unreachable.ts";

/** What decides which limits a task is under. Source §5.3. */
export interface SlotClaim {
  readonly bucket: number | null;
  /** In any order; a tag given twice counts once. */
  readonly tags: readonly string[];
}

/**
 * The key of an admission class: tasks of one bucket and set of tags that are under the same holds can start or
 * not, all of them. Different classes never share a key.
 * @param holds ids of what they are under, in a fixed order
 */
export function admissionKey({ bucket, tags }: SlotClaim, holds: readonly string[]): string {
  return JSON.stringify([bucket, [...new Set(tags)].toSorted(), holds]);
}

/** What decides the order of two queued tasks. */
export interface QueuedKey {
  /** Higher first. */
  readonly priority: number;
  /** The order of arrival, lower first; no two tasks have the same. */
  readonly sequence: number;
}

/** Orders queued tasks: the higher priority first, then the one that came first. A comparator. Source §5.3. */
export function compareQueued(a: QueuedKey, b: QueuedKey): number {
  return a.priority === b.priority ? a.sequence - b.sequence : b.priority - a.priority;
}

/** What aging needs to know beside it. */
export interface AgedKey extends QueuedKey {
  /** Epoch milliseconds. */
  readonly queuedAt: number;
}

/**
 * Orders queued tasks where aging is on: waiting `agingMs` milliseconds is worth one step of priority. The
 * key does not change with time, so a heap stays in order.
 */
export function compareAged(a: AgedKey, b: AgedKey, agingMs: number): number {
  const difference = a.queuedAt - a.priority * agingMs - (b.queuedAt - b.priority * agingMs);
  return difference === 0 ? compareQueued(a, b) : difference;
}

/** The limits that slots are held under. Tags without a limit limit nothing. Source §5.3. */
export type AdmissionLimits = Pick<ResolvedConcurrencyPolicy, "maxParallel" | "limits" | "perBucket">;

/** How many slots are held, in all, by tag and by bucket. */
export interface HeldSlots {
  readonly total: number;
  readonly byTag: ReadonlyMap<string, number>;
  readonly byBucket: ReadonlyMap<number, number>;
}

/** The limit that keeps a task from starting. */
export type Blocker = { readonly kind: "global" } | { readonly kind: "tag"; readonly tag: string } | { readonly kind: "bucket"; readonly bucket: number };

/** The first limit that is used up (global, then tags in their order, then the bucket); `null`: it may start. */
export function blockedBy(limits: AdmissionLimits, held: HeldSlots, claim: SlotClaim): Blocker | null {
  if (held.total >= limits.maxParallel) return GLOBAL;
  const tag = claim.tags.find((name) => isTagFull(limits, held, name));
  if (tag !== undefined) return { kind: "tag", tag };
  return isBucketFull(limits, held, claim.bucket) ? { kind: "bucket", bucket: claim.bucket } : null;
}

/** Every limit that is used up, in the same order. */
export function blockersOf(limits: AdmissionLimits, held: HeldSlots, { bucket, tags }: SlotClaim): readonly Blocker[] {
  const full = [...new Set(tags)].filter((name) => isTagFull(limits, held, name));
  const blockers: Blocker[] = full.map((tag) => ({ kind: "tag", tag }));
  if (held.total >= limits.maxParallel) blockers.unshift(GLOBAL);
  if (isBucketFull(limits, held, bucket)) blockers.push({ kind: "bucket", bucket });
  return blockers;
}

const GLOBAL: Blocker = Object.freeze({ kind: "global" });

function isTagFull(limits: AdmissionLimits, held: HeldSlots, tag: string): boolean {
  return (held.byTag.get(tag) ?? 0) >= (limits.limits.get(tag) ?? Infinity);
}

function isBucketFull(limits: AdmissionLimits, held: HeldSlots, bucket: number | null): bucket is number {
  return bucket !== null && limits.perBucket !== null && (held.byBucket.get(bucket) ?? 0) >= limits.perBucket;
}

interface Holding {
  readonly bucket: number | null;
  readonly tags: ReadonlySet<string>;
  /** Its global and its bucket slot were given back; the tags are still held. */
  lent: boolean;
}

/**
 * Who holds which slots. A holder takes all it needs or nothing, and gives each back exactly once.
 * Everything is O(tags of the claim).
 */
export class Slots implements HeldSlots {
  readonly #limits: AdmissionLimits;
  readonly #holders = new Map<string, Holding>();
  readonly #byTag = new Map<string, number>();
  readonly #byBucket = new Map<number, number>();
  #total = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  get byTag(): ReadonlyMap<string, number> {
    return this.#byTag;
  }

  get byBucket(): ReadonlyMap<number, number> {
    return this.#byBucket;
  }

  /**
   * Takes every slot of the claim, or none and answers what is in the way.
   * @param holder the task's id
   * @throws InternalError when that holder has slots already
   */
  acquire(holder: string, claim: SlotClaim): Blocker | null {
    if (this.#holders.has(holder)) throw new InternalError(`${holder} holds its slots already.`);
    const blocker = blockedBy(this.#limits, this, claim);
    if (blocker !== null) return blocker;
    const holding = { bucket: claim.bucket, tags: claim.tags.length === 0 ? NO_TAGS : new Set(claim.tags), lent: false };
    this.#holders.set(holder, holding);
    this.#count(holding, 1);
    for (const tag of holding.tags) add(this.#byTag, tag, 1);
    return null;
  }

  /**
   * Gives back everything the holder still has.
   * @throws InternalError when it has nothing: a slot is released exactly once
   */
  release(holder: string): void {
    const holding = this.#holding(holder);
    this.#holders.delete(holder);
    if (!holding.lent) this.#count(holding, -1);
    for (const tag of holding.tags) add(this.#byTag, tag, -1);
  }

  /**
   * Gives back the global and the bucket slot and keeps the tags: for a task that waits for another, and
   * for a body that was abandoned and still runs.
   * @throws InternalError when they were given back before
   */
  lend(holder: string): void {
    const holding = this.#holding(holder);
    if (holding.lent) throw new InternalError(`${holder} has lent its slots already.`);
    holding.lent = true;
    this.#count(holding, -1);
  }

  /** Were its global and its bucket slot given back, and not taken again? */
  hasLent(holder: string): boolean {
    return this.#holders.get(holder)?.lent ?? false;
  }

  /**
   * Takes back what was lent, or nothing and answers what is in the way.
   * @throws InternalError when nothing was lent
   */
  reclaim(holder: string): Blocker | null {
    const holding = this.#holding(holder);
    if (!holding.lent) throw new InternalError(`${holder} has lent no slots.`);
    const claim = { bucket: holding.bucket, tags: [] };
    const blocker = blockedBy(this.#limits, this, claim);
    if (blocker !== null) return blocker;
    holding.lent = false;
    this.#count(holding, 1);
    return null;
  }

  /** Who holds slots of that limit. O(holders). */
  holdersOf(blocker: Blocker): readonly string[] {
    return [...this.#holders].filter(([, holding]) => isHolderOf(holding, blocker)).map(([holder]) => holder);
  }

  #holding(holder: string): Holding {
    const holding = this.#holders.get(holder);
    if (holding === undefined) throw new InternalError(`${holder} holds no slots: they were released before, or never taken.`);
    return holding;
  }

  #count(holding: Holding, change: 1 | -1): void {
    this.#total += change;
    if (holding.bucket !== null) add(this.#byBucket, holding.bucket, change);
  }
}

function isHolderOf({ lent, bucket, tags }: Holding, blocker: Blocker): boolean {
  switch (blocker.kind) {
    case "global":
      return !lent;
    case "tag":
      return tags.has(blocker.tag);
    case "bucket":
      return !lent && bucket === blocker.bucket;
    default:
      return unreachable(blocker);
  }
}

const NO_TAGS: ReadonlySet<string> = new Set();

/** A count of zero is dropped, so that the map never holds more than what is in use. */
function add<Key>(counts: Map<Key, number>, key: Key, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}
