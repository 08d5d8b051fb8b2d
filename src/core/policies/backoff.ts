import { describeValue } from "../describe-value.ts";
import { formatDuration, parseDuration } from "../duration.ts";
import type { Duration } from "../duration.ts";
import { ConfigurationError } from "../errors.ts";
import type { Failure } from "../failure.ts";
import { checkOneOf, checkOptions, readPlainObject } from "../options.ts";
import { failureOf } from "../thrown.ts";
import { unreachable } from "../unreachable.ts";

/** `full`: anything from nothing to the whole delay; `equal`: at least half of it; `none`: exactly it. */
export type Jitter = "full" | "equal" | "none";

/** The delay grows by `factor` with each attempt. */
export interface ExponentialBackoff {
  readonly kind: "exponential";
  readonly baseMs: number;
  readonly factor: number;
  readonly maxMs: number;
  readonly jitter: Jitter;
}

/** The delay grows by the same amount with each attempt. */
export interface LinearBackoff {
  readonly kind: "linear";
  readonly baseMs: number;
  readonly stepMs: number;
  readonly maxMs: number;
  readonly jitter: Jitter;
}

/** The same delay each time. */
export interface ConstantBackoff {
  readonly kind: "constant";
  readonly delayMs: number;
  readonly jitter: Jitter;
}

/**
 * The delay before the next attempt, asked after each failure.
 * @param attempt the number of the attempt that failed, from 1
 */
export type BackoffFunction = (attempt: number, failure: Failure) => Duration;

/** The caller's own function; its answers are checked, and no jitter is added. */
export interface CustomBackoff {
  readonly kind: "custom";
  readonly delay: BackoffFunction;
}

/** How long to wait before the next attempt: a frozen plain record, serialisable but for `custom`. Source §5.5. */
export type Backoff = ExponentialBackoff | LinearBackoff | ConstantBackoff | CustomBackoff;

const JITTERS = ["full", "equal", "none"] as const satisfies readonly Jitter[];
const DEFAULT_MAX: Duration = "5m";

/**
 * `base`, `base × factor`, `base × factor²`, … up to `max`. Source §5.5.
 * @param options `base` ≥ 0; `factor` > 0, default 2; `max` ≥ `base`, default 5 minutes; `jitter` default `full`
 * @throws ConfigurationError that names the option
 */
export function exponential(options: {
  readonly base: Duration;
  readonly factor?: number;
  readonly max?: Duration;
  readonly jitter?: Jitter;
}): ExponentialBackoff {
  const { base, factor = 2, max = DEFAULT_MAX, jitter = "full" } = checkOptions(options, ["base", "factor", "max", "jitter"], "exponential()");
  const baseMs = parseDuration(base, "exponential().base");
  return Object.freeze({
    kind: "exponential",
    baseMs,
    factor: checkFactor(factor, "exponential().factor"),
    maxMs: checkMax(max, baseMs, "exponential().max"),
    jitter: checkOneOf(jitter, JITTERS, "exponential().jitter"),
  });
}

/**
 * `base`, `base + step`, `base + 2 × step`, … up to `max`. Source §5.5.
 * @param options `base` ≥ 0; `step` ≥ 0, default `base`; `max` ≥ `base`, default 5 minutes; `jitter` default `full`
 * @throws ConfigurationError that names the option
 */
export function linear(options: { readonly base: Duration; readonly step?: Duration; readonly max?: Duration; readonly jitter?: Jitter }): LinearBackoff {
  const { base, step = base, max = DEFAULT_MAX, jitter = "full" } = checkOptions(options, ["base", "step", "max", "jitter"], "linear()");
  const baseMs = parseDuration(base, "linear().base");
  return Object.freeze({
    kind: "linear",
    baseMs,
    stepMs: parseDuration(step, "linear().step"),
    maxMs: checkMax(max, baseMs, "linear().max"),
    jitter: checkOneOf(jitter, JITTERS, "linear().jitter"),
  });
}

/**
 * The same `delay` each time; with the default jitter (`full`) anything from nothing to `delay`. Source §5.5.
 * @param options `delay` ≥ 0; `jitter` default `full`
 * @throws ConfigurationError that names the option
 */
export function constant(options: { readonly delay: Duration; readonly jitter?: Jitter }): ConstantBackoff {
  const { delay, jitter = "full" } = checkOptions(options, ["delay", "jitter"], "constant()");
  return Object.freeze({
    kind: "constant",
    delayMs: parseDuration(delay, "constant().delay"),
    jitter: checkOneOf(jitter, JITTERS, "constant().jitter"),
  });
}

/**
 * Checks a backoff, also one that comes from storage; a bare function becomes a `custom` one.
 * @throws ConfigurationError that names the option
 */
export function resolveBackoff(value: unknown, name: string): Backoff {
  if (isBackoffFunction(value)) return Object.freeze({ kind: "custom", delay: value });
  if (typeof value !== "object" || value === null) {
    throw new ConfigurationError(`${name} must be exponential(), linear(), constant() or a function; found ${describeValue(value)}.`);
  }
  const kind = checkOneOf(readPlainObject(value, name)["kind"], ["exponential", "linear", "constant", "custom"], `${name}.kind`);
  switch (kind) {
    case "exponential":
      return resolveExponential(value, name);
    case "linear":
      return resolveLinear(value, name);
    case "constant": {
      const { delayMs, jitter } = checkOptions(value, ["kind", "delayMs", "jitter"], name);
      return Object.freeze({ kind, delayMs: parseDuration(delayMs, `${name}.delayMs`), jitter: checkOneOf(jitter, JITTERS, `${name}.jitter`) });
    }
    case "custom": {
      const { delay } = checkOptions(value, ["kind", "delay"], name);
      if (!isBackoffFunction(delay)) throw new ConfigurationError(`${name}.delay must be a function; found ${describeValue(delay)}.`);
      return Object.freeze({ kind, delay });
    }
    default:
      return unreachable(kind);
  }
}

function resolveExponential(value: object, name: string): ExponentialBackoff {
  const options = checkOptions(value, ["kind", "baseMs", "factor", "maxMs", "jitter"], name);
  const baseMs = parseDuration(options.baseMs, `${name}.baseMs`);
  return Object.freeze({
    kind: "exponential",
    baseMs,
    factor: checkFactor(options.factor, `${name}.factor`),
    maxMs: checkMax(options.maxMs, baseMs, `${name}.maxMs`),
    jitter: checkOneOf(options.jitter, JITTERS, `${name}.jitter`),
  });
}

function resolveLinear(value: object, name: string): LinearBackoff {
  const options = checkOptions(value, ["kind", "baseMs", "stepMs", "maxMs", "jitter"], name);
  const baseMs = parseDuration(options.baseMs, `${name}.baseMs`);
  return Object.freeze({
    kind: "linear",
    baseMs,
    stepMs: parseDuration(options.stepMs, `${name}.stepMs`),
    maxMs: checkMax(options.maxMs, baseMs, `${name}.maxMs`),
    jitter: checkOneOf(options.jitter, JITTERS, `${name}.jitter`),
  });
}

/** Any function: what it answers is checked each time it is asked. */
function isBackoffFunction(value: unknown): value is BackoffFunction {
  return typeof value === "function";
}

function checkFactor(value: unknown, name: string): number {
  if (typeof value === "number" && value > 0 && value < Infinity) return value;
  throw new ConfigurationError(`${name} must be a finite number above 0; found ${describeValue(value)}.`);
}

function checkMax(value: unknown, baseMs: number, name: string): number {
  const maxMs = parseDuration(value, name);
  if (maxMs >= baseMs) return maxMs;
  throw new ConfigurationError(`${name} must be at least the base (${formatDuration(baseMs)}); found ${formatDuration(maxMs)}.`);
}

/**
 * The delay after a failed attempt, in whole milliseconds rounded down; for the built-in kinds within
 * [0, max] for any attempt and any factor, and before jitter never falling where `factor` ≥ 1.
 * @param attempt the number of the attempt that failed, from 1
 * @param random a number in [0, 1)
 * @param failure what a custom function is told
 * @throws ConfigurationError when a custom function throws (its error is the `cause`) or gives no legal duration
 */
export function backoffDelayMs(backoff: Backoff, attempt: number, random: () => number, failure: Failure): number {
  switch (backoff.kind) {
    case "exponential":
    case "linear":
    case "constant":
      return Math.floor(withJitter(plainDelayMs(backoff, attempt), backoff.jitter, random));
    case "custom":
      return Math.floor(customDelayMs(backoff.delay, attempt, failure));
    default:
      return unreachable(backoff);
  }
}

/** Clamped last: the growth may overflow to infinity on the way, but 0 × infinity must not make it NaN. */
function plainDelayMs(backoff: Exclude<Backoff, CustomBackoff>, attempt: number): number {
  const before = Math.max(0, attempt - 1);
  switch (backoff.kind) {
    case "exponential":
      return backoff.baseMs === 0 ? 0 : Math.min(backoff.maxMs, backoff.baseMs * backoff.factor ** before);
    case "linear":
      return Math.min(backoff.maxMs, backoff.baseMs + backoff.stepMs * before);
    case "constant":
      return backoff.delayMs;
    default:
      return unreachable(backoff);
  }
}

function withJitter(delayMs: number, jitter: Jitter, random: () => number): number {
  switch (jitter) {
    case "full":
      return delayMs * share(random);
    case "equal":
      return delayMs / 2 + (delayMs / 2) * share(random);
    case "none":
      return delayMs;
    default:
      return unreachable(jitter);
  }
}

/** A broken source of chance costs the whole delay, never none of it: retries must not run flat out. */
function share(random: () => number): number {
  const value = random();
  return value >= 0 && value <= 1 ? value : 1;
}

function customDelayMs(delay: BackoffFunction, attempt: number, failure: Failure): number {
  let answer: unknown;
  try {
    answer = delay(attempt, failure);
  } catch (error) {
    throw new ConfigurationError(`the backoff function threw after attempt ${attempt}: ${failureOf(error).message}`, { cause: error });
  }
  // An async function is refused below; its rejection would otherwise be nobody's.
  if (answer instanceof Promise) answer.catch(() => undefined);
  return parseDuration(answer, `the answer of the backoff function after attempt ${attempt}`);
}
