import { ConfigurationError } from "../errors.ts";
import type { Failure } from "../failure.ts";
import { checkBoolean, checkInteger, checkOptions } from "../options.ts";
import { failureOf, isNeverRetried, MAX_CAUSES } from "../thrown.ts";
import { unreachable } from "../unreachable.ts";
import { backoffDelayMs, exponential, resolveBackoff } from "./backoff.ts";
import type { Backoff, BackoffFunction } from "./backoff.ts";
import { matchesFailure, resolveFailureMatchers } from "./failure-matcher.ts";
import type { FailureMatcher, ResolvedFailureMatcher } from "./failure-matcher.ts";

export { backoffDelayMs, constant, exponential, linear } from "./backoff.ts";

/** When a failed attempt is followed by another, and how soon. Source §5.5. */
export interface RetryPolicy {
  /** How many attempts there may be, the first included; an integer ≥ 1, default 1: no retry. */
  readonly maxAttempts?: number;
  /** How long to wait between them; default `exponential({ base: "1s" })`. */
  readonly backoff?: Backoff | BackoffFunction;
  /** Only these failures are retried; default: all that can be. */
  readonly retryOn?: readonly FailureMatcher[];
  /** These failures are never retried, whatever `retryOn` says. */
  readonly giveUpOn?: readonly FailureMatcher[];
  /** Also retry a task whose carrier was lost, so that its outcome is unknown; default false. */
  readonly retryLost?: boolean;
}

/** A checked retry policy. */
export interface ResolvedRetryPolicy {
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  /** `null`: every failure that can be retried. */
  readonly retryOn: readonly ResolvedFailureMatcher[] | null;
  readonly giveUpOn: readonly ResolvedFailureMatcher[];
  readonly retryLost: boolean;
}

/** The options of a retry policy. */
export const RETRY_KEYS = ["maxAttempts", "backoff", "retryOn", "giveUpOn", "retryLost"] as const satisfies readonly (keyof RetryPolicy)[];

const DEFAULT_BACKOFF = exponential({ base: "1s" });

/**
 * Checks a retry policy.
 * @param value `undefined` means one attempt, no retry
 * @param name how it is called in messages
 * @throws ConfigurationError that names the option
 */
export function resolveRetryPolicy(value: unknown, name = "retry"): ResolvedRetryPolicy {
  const options = checkOptions(value, RETRY_KEYS, name);
  const { maxAttempts = 1, backoff = DEFAULT_BACKOFF, retryOn, giveUpOn = [], retryLost = false } = options;
  return Object.freeze({
    maxAttempts: checkInteger(maxAttempts, `${name}.maxAttempts`, 1),
    backoff: resolveBackoff(backoff, `${name}.backoff`),
    retryOn: retryOn === undefined ? null : resolveFailureMatchers(retryOn, `${name}.retryOn`),
    giveUpOn: resolveFailureMatchers(giveUpOn, `${name}.giveUpOn`),
    retryLost: checkBoolean(retryLost, `${name}.retryLost`),
  });
}

/** What is known when an attempt has failed. */
export interface RetryQuestion {
  readonly policy: ResolvedRetryPolicy;
  /** Attempts begun so far, the failed one included. */
  readonly attempt: number;
  /** The task's own budget: a person's retry may have raised it above the policy's. */
  readonly maxAttempts: number;
  readonly failure: Failure;
  /** What was thrown, where it is still in memory. */
  readonly error?: unknown;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/**
 * Why there is no other attempt: `not-retryable`: no policy can ask for it (cancelled, lost without
 * `retryLost`, a configuration error, …) · `exhausted`: the attempts are used up · `given-up`: `giveUpOn` ·
 * `not-matched`: not in `retryOn` · `invalid-policy`: the policy's own function threw or answered nonsense.
 */
export type RetryRefusal = "not-retryable" | "exhausted" | "given-up" | "not-matched" | "invalid-policy";

/** Whether there is another attempt. */
export type RetryDecision =
  | { readonly retry: true; readonly delayMs: number }
  | { readonly retry: false; readonly reason: Exclude<RetryRefusal, "invalid-policy"> }
  | {
      readonly retry: false;
      readonly reason: "invalid-policy";
      readonly error: ConfigurationError;
      /** What the task fails with: the policy's error, with the task's own failure at the end of its causes. */
      readonly failure: Failure;
    };

/**
 * Decides on another attempt. Never throws: a policy whose function misbehaves fails the task, since
 * guessing a delay could make a hot loop. That function is asked only where its answer counts, so not
 * after the last attempt. Source §5.5.
 */
export function decideRetry(question: RetryQuestion): RetryDecision {
  if (!isRetryable(question)) return { retry: false, reason: "not-retryable" };
  if (question.attempt >= question.maxAttempts) return { retry: false, reason: "exhausted" };
  try {
    return askPolicy(question);
  } catch (thrown) {
    const error = thrown instanceof ConfigurationError ? thrown : new ConfigurationError("the retry policy could not be applied.", { cause: thrown });
    return { retry: false, reason: "invalid-policy", error, failure: withOriginal(error, question.failure) };
  }
}

function isRetryable({ policy, failure, error }: RetryQuestion): boolean {
  switch (failure.kind) {
    case "lost":
      return policy.retryLost;
    case "cancelled":
    case "dependency_failed":
    case "condition_false":
      return false;
    case "exception":
    case "nonzero_exit":
    case "timeout_start":
    case "timeout_attempt":
    case "timeout_idle":
      return failure.retryable && !isNeverRetried(error);
    default:
      return unreachable(failure.kind);
  }
}

function askPolicy({ policy, attempt, failure, error, random }: RetryQuestion): RetryDecision {
  if (matchesFailure(policy.giveUpOn, failure, error)) return { retry: false, reason: "given-up" };
  if (policy.retryOn !== null && !matchesFailure(policy.retryOn, failure, error)) return { retry: false, reason: "not-matched" };
  return { retry: true, delayMs: backoffDelayMs(policy.backoff, attempt, random, failure) };
}

function withOriginal(error: ConfigurationError, original: Failure): Failure {
  const { name, message, stack, causes, ...facts } = original;
  const failure = failureOf(error, { ...facts, retryable: false });
  const own = failure.causes.slice(0, MAX_CAUSES - 1);
  return Object.freeze({ ...failure, causes: Object.freeze([...own, { name, message, stack }, ...causes].slice(0, MAX_CAUSES)) });
}
