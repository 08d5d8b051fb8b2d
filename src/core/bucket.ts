import { describeValue } from "./describe-value.ts";
import { ConfigurationError, InternalError } from "./errors.ts";
import { checkInteger, checkOptions } from "./options.ts";

/** How keys are spread over buckets, and which of them are this node's. Source §15. */
export interface BucketPolicy {
  /** How many buckets there are, ≥ 1: a constant of the deployment, kept in the store. Another one means a migration. */
  readonly count: number;
  /** The buckets this node takes work from: `"all"` (default), or numbers and ranges, e.g. `"0-15"` or `"0-3,8"`. */
  readonly own?: string;
}

/** A run of bucket numbers, both ends included. */
export interface BucketRange {
  readonly first: number;
  readonly last: number;
}

/** A checked bucket policy. */
export interface ResolvedBucketPolicy {
  readonly count: number;
  /** This node's buckets: ascending, neither overlapping nor adjacent. */
  readonly own: readonly BucketRange[];
}

const DIGEST_BYTES = 8;

/**
 * The bucket of a key: the first 8 bytes of its digest, big endian, modulo `count`. The same on every
 * machine for ever. Source §15.
 * @param count how many buckets there are, ≥ 1
 * @param digest BLAKE2b-512 of the text as UTF-8; a lone surrogate counts as U+FFFD
 * @throws InternalError when the digest is shorter than 8 bytes
 */
export function bucketOf(key: string, count: number, digest: (text: string) => Uint8Array): number {
  const bytes = digest(key);
  if (bytes.length < DIGEST_BYTES) throw new InternalError(`the digest gave ${bytes.length} bytes; a bucket needs ${DIGEST_BYTES}.`);
  const head = bytes.subarray(0, DIGEST_BYTES).reduce((value, byte) => (value << 8n) | BigInt(byte), 0n);
  return Number(head % BigInt(count));
}

/**
 * Checks a bucket policy.
 * @param name how it is called in messages
 * @throws ConfigurationError that names the option
 */
export function resolveBucketPolicy(value: unknown, name = "buckets"): ResolvedBucketPolicy {
  const options = checkOptions(value, ["count", "own"], name);
  const count = checkInteger(options.count, `${name}.count`, 1);
  const { own = "all" } = options;
  return Object.freeze({ count, own: parseOwn(own, count, `${name}.own`) });
}

/** Does this node take work from that bucket? */
export function ownsBucket(policy: ResolvedBucketPolicy, bucket: number): boolean {
  return policy.own.some(({ first, last }) => first <= bucket && bucket <= last);
}

function parseOwn(value: unknown, count: number, name: string): readonly BucketRange[] {
  if (value === "all") return Object.freeze([Object.freeze({ first: 0, last: count - 1 })]);
  if (typeof value !== "string") throw badOwn(value, name);
  const ranges = value.split(",").map((part) => parseRange(part, value, count, name));
  return Object.freeze(merge(ranges).map((range) => Object.freeze(range)));
}

function parseRange(part: string, whole: string, count: number, name: string): BucketRange {
  const [, firstText, lastText] = /^\s*(\d{1,16})(?:\s*-\s*(\d{1,16}))?\s*$/.exec(part) ?? [];
  if (firstText === undefined) throw badOwn(whole, name);
  const first = Number(firstText);
  const last = lastText === undefined ? first : Number(lastText);
  if (last < first) throw new ConfigurationError(`${name}: the range ${describeValue(part.trim())} runs backwards; write "${last}-${first}".`);
  if (last >= count) throw new ConfigurationError(`${name}: there is no bucket ${last}; with count ${count} they are 0 to ${count - 1}.`);
  return { first, last };
}

function badOwn(value: unknown, name: string): ConfigurationError {
  return new ConfigurationError(`${name} must be "all", or bucket numbers and ranges such as "0-15" or "0-3,8"; found ${describeValue(value)}.`);
}

function merge(ranges: readonly BucketRange[]): readonly BucketRange[] {
  const merged: BucketRange[] = [];
  for (const range of ranges.toSorted((a, b) => a.first - b.first)) {
    const before = merged.at(-1);
    if (before === undefined || range.first > before.last + 1) merged.push(range);
    else merged[merged.length - 1] = { first: before.first, last: Math.max(before.last, range.last) };
  }
  return merged;
}
