/** A timer that has been set; cancelling it twice, or after it fired, is harmless. */
export interface Timer {
  cancel(): void;
}

/** Time as a port: the runtime reads and waits through it alone, so that tests can move it. */
export interface Clock {
  /** Wall time in epoch milliseconds: for people and for the record. */
  now(): number;
  /** Milliseconds on a clock that never jumps: for every length of time. */
  monotonic(): number;
  /** Runs `fire` once after `delayMs` (0 or more) on the monotonic clock. Keeps the process alive. */
  setTimer(delayMs: number, fire: () => void): Timer;
  /** Resolves after the event loop has turned once. */
  turn(): Promise<void>;
}
