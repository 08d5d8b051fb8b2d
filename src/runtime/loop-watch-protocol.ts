/** What the watched thread and its watcher share. */
export const BEAT = 0;
/** 1 while there is something to watch. */
export const ACTIVE = 1;

/** Under this name on `globalThis` the watcher finds out, in the paused thread, whose code is on the stack. */
export const SCOPE_KEY = "chongming-task.scope";

/** How the watcher is set up. */
export interface WatcherData {
  readonly shared: Int32Array;
  /** So long without a beat is a stall. */
  readonly afterMs: number;
  /** Also write a line to the process's error output, at once: this thread cannot, it is blocked. */
  readonly announce: boolean;
}

/** What was found while the thread was blocked. */
export interface StallReport {
  /** Whose code it was; `null`: no task's. */
  readonly taskId: string | null;
  readonly name: string | null;
  /** The innermost first: `work (file:///…:12)`. */
  readonly frames: readonly string[];
}
