import { parsePositiveDuration } from "../duration.ts";
import type { Duration } from "../duration.ts";
import { checkOptions } from "../options.ts";

/** The three timeouts of a task; they combine freely and each is off unless given. Source §5.5. */
export interface TimeoutPolicy {
  /** How long a launch may take (`starting`). */
  readonly start?: Duration;
  /** How long one attempt may run; pauses do not count. */
  readonly attempt?: Duration;
  /** How long a running task may show no sign of life (checkpoint, progress, log, emit). */
  readonly idle?: Duration;
}

/** A checked timeout policy; `null` means no such timeout. */
export interface ResolvedTimeoutPolicy {
  readonly startMs: number | null;
  readonly attemptMs: number | null;
  readonly idleMs: number | null;
}

/** The options of a timeout policy. */
export const TIMEOUT_KEYS = ["start", "attempt", "idle"] as const satisfies readonly (keyof TimeoutPolicy)[];

/** How long the control plane waits for a task to react, unless told otherwise. Source §5.4, §11. */
export const DEFAULTS = {
  /** From asking a task to stop to the last resort; 0 is legal and means at once. */
  stopGraceMs: 10_000,
  /** From asking a task to pause to rolling back. */
  pauseTimeoutMs: 30_000,
  /** From an attempt or idle timeout to the last resort. */
  timeoutGraceMs: 5_000,
} as const;

/**
 * Checks a timeout policy.
 * @param value `undefined` means no timeouts
 * @param name how it is called in messages
 * @throws ConfigurationError that names the option; zero is refused, since no task could ever meet it
 */
export function resolveTimeoutPolicy(value: unknown, name = "timeout"): ResolvedTimeoutPolicy {
  const options = checkOptions(value, TIMEOUT_KEYS, name);
  return Object.freeze({
    startMs: readTimeout(options.start, `${name}.start`),
    attemptMs: readTimeout(options.attempt, `${name}.attempt`),
    idleMs: readTimeout(options.idle, `${name}.idle`),
  });
}

function readTimeout(value: unknown, name: string): number | null {
  return value === undefined ? null : parsePositiveDuration(value, name);
}
