import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";

/** Beyond this `setTimeout` fires at once instead of late. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** The machine's own time. A delay of less than 0 counts as 0; one that is no finite number is a `ConfigurationError`. */
export const systemClock: Clock = Object.freeze({
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer,
  turn: () =>
    new Promise<void>((resolve) => {
      setImmediate(resolve);
    }),
});

function setTimer(delayMs: number, fire: () => void): Timer {
  if (!Number.isFinite(delayMs)) throw new ConfigurationError(`delayMs must be a finite number of milliseconds; found ${describeValue(delayMs)}.`);
  const dueMs = performance.now() + delayMs;
  let timeout = setTimeout(look, waitMs(delayMs));
  /** Late is possible, early is not: long delays come in parts, and `setTimeout` itself may be a millisecond early. */
  function look(): void {
    const leftMs = dueMs - performance.now();
    if (leftMs > 0) timeout = setTimeout(look, waitMs(leftMs));
    else fire();
  }
  return { cancel: () => clearTimeout(timeout) };
}

function waitMs(leftMs: number): number {
  return Math.min(Math.max(0, Math.ceil(leftMs)), LONGEST_TIMEOUT_MS);
}
