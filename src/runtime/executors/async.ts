import type { Clock } from "../../core/ports/clock.ts";
import type { ExecutionHandle, Executor, LaunchRequest } from "../../core/ports/executor.ts";
import { LocalHandle } from "./local-handle.ts";

/** Runs tasks on this process's event loop: the default. Source §13.2. */
export class AsyncExecutor implements Executor {
  readonly kind = "async";
  readonly supports = { pause: true, kill: false, closures: true, syncCheckpoint: false, beats: false } as const;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  launch(request: LaunchRequest): ExecutionHandle {
    const handle = new LocalHandle(this.#clock, request, this.supports);
    // Not on the scheduler's stack: a body that blocks is to block itself, not the dispatch of its neighbours.
    queueMicrotask(() => handle.begin());
    return handle;
  }

  async close(): Promise<void> {}
}
