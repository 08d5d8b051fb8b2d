import { resolveBucketPolicy } from "../core/bucket.ts";
import { describeValue } from "../core/describe-value.ts";
import { parseDuration } from "../core/duration.ts";
import type { Duration } from "../core/duration.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkName } from "../core/graph-names.ts";
import type { HoldTarget } from "../core/holds.ts";
import { checkInteger, checkOptions } from "../core/options.ts";
import type { Options } from "../core/options.ts";
import type { ResolvedConcurrencyPolicy } from "../core/policies/concurrency.ts";
import { Buckets, NO_BUCKET } from "../runtime/buckets.ts";
import type { BucketChoice } from "../runtime/buckets.ts";

/** How tasks are spread over buckets. Source §15. */
export interface BucketOptions {
  /** How many buckets there are, an integer ≥ 1: a constant of the deployment. */
  readonly count: number;
  /** The buckets this controller takes work from: all of them, which is the only choice where nobody shares the store. */
  readonly own?: "all";
}

/** When a task may start, and in which bucket it is: part of what `submit` takes. */
export interface StartOptions {
  /** Not before so long from now. Not together with `runAt`. */
  readonly delay?: Duration;
  /** Not before this instant: a `Date`, or epoch milliseconds; one that has passed means at once. */
  readonly runAt?: Date | number;
  /** What decides on its bucket: tasks of one key are in one bucket. Default: the task's id. Needs `buckets`. */
  readonly bucketKey?: string;
}

/** The last instant that a `Date` can tell. */
const LAST_INSTANT_MS = 8.64e15;

/** The options of `buckets`. */
export const BUCKET_KEYS = ["count", "own"] as const;

/** Reads `buckets`; `null`: there are none. */
export function readBuckets(value: unknown, { perBucket }: ResolvedConcurrencyPolicy): Buckets | null {
  if (value === undefined) {
    if (perBucket !== null) checkPerBucket(null, "concurrency.perBucket");
    return null;
  }
  const { count, own } = checkOptions(value, BUCKET_KEYS, "buckets");
  resolveBucketPolicy({ count, own }, "buckets");
  if (own !== undefined && own !== "all")
    throw new ConfigurationError(`buckets.own can only be "all" here: nobody else would take the work of the other buckets; found ${describeValue(own)}.`);
  return new Buckets(checkInteger(count, "buckets.count", 1));
}

/** A limit per bucket makes no sense without buckets. */
export function checkPerBucket(buckets: Buckets | null, name: string): void {
  if (buckets === null)
    throw new ConfigurationError(`${name} limits the tasks of a bucket, and there are none: open the controller with buckets: { count: 64 }.`);
}

/** Reads `delay` and `runAt`: not before this instant, epoch milliseconds; `null`: at once. */
export function readStartTime({ delay, runAt }: Options<"delay" | "runAt">, now: number, name: string): number | null {
  if (delay !== undefined && runAt !== undefined) throw new ConfigurationError(`${name}: give delay, a length of time, or runAt, an instant; not both.`);
  if (delay === undefined) return runAt === undefined ? null : notBefore(readInstant(runAt, `${name}: runAt`), now);
  const at = now + Math.ceil(parseDuration(delay, `${name}: delay`));
  if (at > LAST_INSTANT_MS) throw new ConfigurationError(`${name}: delay is too long: no clock can tell the instant; found ${describeValue(delay)}.`);
  return notBefore(at, now);
}

function notBefore(at: number, now: number): number | null {
  return at > now ? at : null;
}

function readInstant(value: unknown, name: string): number {
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === "number" && Number.isSafeInteger(ms) && Math.abs(ms) <= LAST_INSTANT_MS) return ms;
  const hint = typeof value === "string" && !Number.isNaN(Date.parse(value)) ? ` Did you mean new Date(${describeValue(value)})?` : "";
  throw new ConfigurationError(`${name} must be an instant: a Date, or epoch milliseconds as an integer; found ${describeValue(value)}.${hint}`);
}

/** Reads `bucketKey`. */
export function readBucketChoice(key: unknown, buckets: Buckets | null, name: string): BucketChoice {
  if (key === undefined) return buckets?.choice(null) ?? NO_BUCKET;
  if (buckets === null) throw new ConfigurationError(`${name}: bucketKey needs buckets, and this controller has none: open it with buckets: { count: 64 }.`);
  checkName(key, `${name}: bucketKey`);
  return buckets.choice(key);
}

/**
 * Reads what is to be held or released.
 * @param checkTaskName refuses a name that is not registered
 */
export function readHoldTarget(
  value: unknown,
  what: "hold" | "release",
  { buckets, checkTaskName }: { readonly buckets: Buckets | null; readonly checkTaskName: (name: string) => void },
): HoldTarget {
  const { name, tag, bucket } = checkOptions(value, ["name", "tag", "bucket"], what);
  if ([name, tag, bucket].filter((part) => part !== undefined).length !== 1)
    throw new ConfigurationError(`${what} takes one of { name }, { tag } and { bucket }; found ${describeValue(value)}.`);
  if (name !== undefined) {
    checkName(name, `${what}: name`);
    checkTaskName(name);
    return { name };
  }
  if (tag !== undefined) {
    checkName(tag, `${what}: tag`);
    return { tag };
  }
  if (buckets === null) throw new ConfigurationError(`${what}: this controller has no buckets: open it with buckets: { count: 64 }.`);
  const number = checkInteger(bucket, `${what}: bucket`, 0);
  if (number >= buckets.count)
    throw new ConfigurationError(`${what}: there is no bucket ${number}; with count ${buckets.count} they are 0 to ${buckets.count - 1}.`);
  return { bucket: number };
}
