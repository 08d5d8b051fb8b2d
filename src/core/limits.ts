import { describeValue } from "./describe-value.ts";
import { ConfigurationError } from "./errors.ts";
import { checkInteger, checkOptions, readPlainObject } from "./options.ts";
import type { ResolvedConcurrencyPolicy } from "./policies/concurrency.ts";

/** The limits that hold now. Source §5.3. */
export interface Limits {
  readonly maxParallel: number;
  /** By tag. */
  readonly limits: Readonly<Record<string, number>>;
  /** `null`: none. */
  readonly perBucket: number | null;
}

/** What is to be changed of the limits; what is left out stays. */
export interface LimitsChange {
  /** An integer ≥ 1. */
  readonly maxParallel?: number;
  /** By tag: an integer ≥ 1, or `null` to lift the limit. Tags that are not named keep theirs. */
  readonly limits?: Readonly<Record<string, number | null>>;
  /** An integer ≥ 1, or `null` to lift the limit. */
  readonly perBucket?: number | null;
}

/** The limits of a policy, for people to read. */
export function limitsOf({ maxParallel, limits, perBucket }: ResolvedConcurrencyPolicy): Limits {
  return Object.freeze({ maxParallel, limits: Object.freeze(Object.fromEntries(limits)), perBucket });
}

/**
 * The policy with other limits. Nothing is clamped or rounded.
 * @param name how the change is called in messages
 * @throws ConfigurationError that names the option
 */
export function changeLimits(policy: ResolvedConcurrencyPolicy, change: unknown, name: string): ResolvedConcurrencyPolicy {
  const { maxParallel, limits, perBucket } = checkOptions(change, ["maxParallel", "limits", "perBucket"], name);
  return Object.freeze({
    ...policy,
    maxParallel: maxParallel === undefined ? policy.maxParallel : checkInteger(maxParallel, `${name}: maxParallel`, 1),
    limits: withLimits(policy.limits, limits, `${name}: limits`),
    perBucket: perBucket === undefined ? policy.perBucket : readLimit(perBucket, `${name}: perBucket`),
  });
}

function withLimits(before: ReadonlyMap<string, number>, given: unknown, name: string): ReadonlyMap<string, number> {
  const after = new Map(before);
  for (const [tag, value] of Object.entries(readPlainObject(given, name))) {
    if (tag === "") throw new ConfigurationError(`${name}: a limit needs the name of a tag; found "".`);
    if (value === undefined) continue;
    const limit = readLimit(value, `${name}.${tag}`);
    if (limit === null) after.delete(tag);
    else after.set(tag, limit);
  }
  return after;
}

function readLimit(value: unknown, name: string): number | null {
  if (value === null) return null;
  if (typeof value !== "number") throw new ConfigurationError(`${name} must be an integer of at least 1, or null for no limit; found ${describeValue(value)}.`);
  return checkInteger(value, name, 1);
}
