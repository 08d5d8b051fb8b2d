import { WaitImpossible, WaitTimeout } from "../core/errors.ts";
import { formatDuration } from "../core/duration.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";

/** The reason of an end that nobody sees: without one each wait would make a DOMException, with a stack. */
const OVER = Symbol("over");

/** How long somebody waits. */
export interface Patience {
  readonly clock: Clock;
  /** `null`: for ever. */
  readonly timeoutMs: number | null;
  readonly signal?: AbortSignal | undefined;
  /** For the message. */
  readonly what: string;
}

/** Waits for `arrival`, at most so long; the waited-for never notices. Its signal says that nobody waits any more. */
export async function waitWith<Value>(arrival: (over?: AbortSignal) => Promise<Value>, patience: Patience): Promise<Value> {
  const { clock, timeoutMs, signal, what } = patience;
  // The usual way, and the one that is measured: nothing can end the waiting but the arrival.
  if (timeoutMs === null && signal === undefined) return await arrival();
  signal?.throwIfAborted();
  const over = new AbortController();
  const { promise, reject } = Promise.withResolvers<never>();
  const timer: Timer | null =
    timeoutMs === null
      ? null
      : clock.setTimer(timeoutMs, () =>
          reject(new WaitTimeout(`${what} was not reached within ${formatDuration(timeoutMs)}. It goes on; wait again or look at its status.`)),
        );
  const onAbort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([arrival(over.signal), promise]);
  } finally {
    timer?.cancel();
    signal?.removeEventListener("abort", onAbort);
    over.abort(OVER);
  }
}

/** The awaited status can no longer come. */
export function impossible(taskId: string, wanted: string, status: string): WaitImpossible {
  return new WaitImpossible(`task ${taskId} ended ${status}, so "${wanted}" cannot come any more.`);
}
