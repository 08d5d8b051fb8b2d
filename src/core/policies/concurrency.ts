import { parsePositiveDuration } from "../duration.ts";
import type { Duration } from "../duration.ts";
import { ConfigurationError } from "../errors.ts";
import { checkInteger, checkOptions, readPlainObject } from "../options.ts";

/** How many attempts a controller runs at once, and in which order tasks get their turn. Source §5.3. */
export interface ConcurrencyPolicy {
  /** How many tasks hold a slot at once; an integer ≥ 1, default 10. */
  readonly maxParallel?: number;
  /** Named semaphores: how many tasks with that tag run at once; each an integer ≥ 1. */
  readonly limits?: Readonly<Record<string, number>>;
  /** How many tasks of one bucket run at once; an integer ≥ 1, no limit unless given. */
  readonly perBucket?: number;
  /** The priority of tasks that name none; an integer, higher first, default 0. */
  readonly defaultPriority?: number;
  /** Waiting this long is worth one step of priority; off unless given. */
  readonly aging?: Duration;
}

/** A checked concurrency policy. */
export interface ResolvedConcurrencyPolicy {
  readonly maxParallel: number;
  /** By tag; a map, so that a tag named `constructor` is a tag like any other. */
  readonly limits: ReadonlyMap<string, number>;
  /** `null`: no limit per bucket. */
  readonly perBucket: number | null;
  readonly defaultPriority: number;
  /** `null`: no aging. */
  readonly agingMs: number | null;
}

/** The default of `maxParallel`. Tasks wait for others more than they compute, so it does not follow the number of CPUs. */
export const DEFAULT_MAX_PARALLEL = 10;

/** The options of a concurrency policy. */
export const CONCURRENCY_KEYS = ["maxParallel", "limits", "perBucket", "defaultPriority", "aging"] as const satisfies readonly (keyof ConcurrencyPolicy)[];

/**
 * Checks a concurrency policy. Nothing is clamped or rounded.
 * @param value `undefined` means the defaults
 * @param name how it is called in messages
 * @param defaultMaxParallel what `maxParallel` is where it is left out
 * @throws ConfigurationError that names the option
 */
export function resolveConcurrencyPolicy(value: unknown, name = "concurrency", defaultMaxParallel = DEFAULT_MAX_PARALLEL): ResolvedConcurrencyPolicy {
  const { maxParallel = defaultMaxParallel, limits, perBucket, defaultPriority = 0, aging } = checkOptions(value, CONCURRENCY_KEYS, name);
  return Object.freeze({
    maxParallel: checkInteger(maxParallel, `${name}.maxParallel`, 1),
    limits: readLimits(limits, `${name}.limits`),
    perBucket: perBucket === undefined ? null : checkInteger(perBucket, `${name}.perBucket`, 1),
    defaultPriority: checkInteger(defaultPriority, `${name}.defaultPriority`, Number.MIN_SAFE_INTEGER),
    agingMs: aging === undefined ? null : parsePositiveDuration(aging, `${name}.aging`),
  });
}

function readLimits(value: unknown, name: string): ReadonlyMap<string, number> {
  const entries = Object.entries(readPlainObject(value, name));
  if (entries.some(([tag]) => tag === "")) throw new ConfigurationError(`${name}: a limit needs the name of a tag; found "".`);
  return new Map(entries.map(([tag, limit]) => [tag, checkInteger(limit, `${name}.${tag}`, 1)]));
}
