import type { Clock } from "../../core/ports/clock.ts";
import type { ExecutionHandle, Executor, LaunchRequest } from "../../core/ports/executor.ts";
import { LocalHandle } from "./local-handle.ts";

/** Runs tasks in the dispatch turn itself: for short, plain steps. It cannot be paused, and says so. Source §13.2. */
export class InlineExecutor implements Executor {
  readonly kind = "inline";
  readonly supports = { pause: false, kill: false, closures: true, syncCheckpoint: false, beats: false } as const;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  launch(request: LaunchRequest): ExecutionHandle {
    const handle = new LocalHandle(this.#clock, request, this.supports);
    handle.begin();
    return handle;
  }

  async close(): Promise<void> {}
}
