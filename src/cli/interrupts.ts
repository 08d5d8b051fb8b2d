import type { Host } from "./host.ts";

/** What the signals that ask for an end lead to. */
export interface InterruptActions {
  /** Once. */
  readonly first: (signal: string) => void;
  /** For each signal after it. */
  readonly again: (signal: string) => void;
}

/** A wrapper such as npx passes Ctrl-C on although the terminal has sent it to all already: that is no second one. */
export const ECHO_MS = 100;

/** SIGINT, SIGTERM and SIGHUP: the first asks, the next insists. Returns how to end the watching. */
export function watchInterrupts(host: Host, actions: InterruptActions): () => void {
  let firstAtMs: number | null = null;
  return host.onSignal((signal) => {
    const nowMs = performance.now();
    if (firstAtMs === null) {
      firstAtMs = nowMs;
      actions.first(signal);
    } else if (nowMs - firstAtMs >= ECHO_MS) actions.again(signal);
  });
}
