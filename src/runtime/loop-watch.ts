import { url as inspectorUrl } from "node:inspector";
import { Worker } from "node:worker_threads";
import { entryUrl } from "./entry-url.ts";
import { ACTIVE, BEAT, SCOPE_KEY } from "./loop-watch-protocol.ts";
import type { StallReport, WatcherData } from "./loop-watch-protocol.ts";
import { taskScope } from "./task-scope.ts";

const BEAT_EVERY_MS = 100;

/** How the loop is watched. */
export interface LoopWatchOptions {
  readonly afterMs: number;
  readonly announce: boolean;
  /** Told when the loop turns again. */
  readonly onStall: (report: StallReport) => void;
}

/**
 * Watches this thread's event loop while tasks run on it: a helper thread that misses its beat looks at it through
 * the inspector and says whose code is on the stack, while it still blocks. Starts with the first such task and
 * costs nothing while there is none. Not while a debugger is attached: a breakpoint is no stall.
 */
class LoopWatcher {
  readonly listeners = new Set<LoopWatchOptions["onStall"]>();
  readonly #options: Omit<LoopWatchOptions, "onStall">;
  readonly #shared = new Int32Array(new SharedArrayBuffer(8));
  #watched = 0;
  #worker: Worker | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: Omit<LoopWatchOptions, "onStall">) {
    this.#options = options;
  }

  /** A task begins to run on this thread. */
  begin(): void {
    this.#watched += 1;
    if (this.#timer !== null) return;
    this.#worker ??= this.#start();
    this.#beat();
    this.#timer = setInterval(() => this.#beat(), BEAT_EVERY_MS).unref();
  }

  /** It has ended. The beat goes on for a moment: short tasks follow one another. */
  end(): void {
    this.#watched -= 1;
  }

  /** Resolves when what the helper thread has said so far is here: its messages come with the next turns of the loop. */
  async heard(): Promise<void> {
    if (this.#worker === null) return;
    for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  }

  async close(): Promise<void> {
    this.#rest();
    await this.#worker?.terminate();
    this.#worker = null;
  }

  #rest(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    this.#signal(0);
  }

  #beat(): void {
    if (this.#watched === 0) this.#rest();
    else this.#signal(inspectorUrl() === undefined ? 1 : 0);
  }

  #signal(active: 0 | 1): void {
    Atomics.store(this.#shared, ACTIVE, active);
    Atomics.add(this.#shared, BEAT, 1);
    Atomics.notify(this.#shared, BEAT);
  }

  #start(): Worker {
    const { afterMs, announce } = this.#options;
    Reflect.set(globalThis, Symbol.for(SCOPE_KEY), scopeAsText);
    const workerData: WatcherData = { shared: this.#shared, afterMs, announce };
    const worker = new Worker(entryUrl(import.meta.url, "loop-watch-entry"), { workerData, stdin: false });
    worker.on("message", (report: StallReport) => {
      for (const listener of this.listeners) listener(report);
    });
    // Without its watcher the loop is merely not watched.
    worker.on("error", () => undefined);
    worker.unref();
    return worker;
  }
}

function scopeAsText(): string {
  const scope = taskScope.getStore();
  return JSON.stringify(scope === undefined ? null : { taskId: scope.taskId, name: scope.name });
}

/** By their options: controllers of one process share a helper thread, since they share the loop. */
const watchers = new Map<string, LoopWatcher>();

/** One controller's share in the watch over this thread's event loop. */
export class LoopWatch {
  readonly #options: LoopWatchOptions;
  readonly #key: string;
  #watcher: LoopWatcher | null = null;
  #watched = 0;

  constructor(options: LoopWatchOptions) {
    this.#options = options;
    this.#key = `${options.afterMs} ${String(options.announce)}`;
  }

  /** A task begins to run on this thread. */
  begin(): void {
    this.#watcher ??= this.#join();
    this.#watched += 1;
    this.#watcher.begin();
  }

  /** It has ended. */
  end(): void {
    if (this.#watcher === null) return;
    this.#watched -= 1;
    this.#watcher.end();
  }

  /** Resolves when what the helper thread has said so far is here. */
  async heard(): Promise<void> {
    await this.#watcher?.heard();
  }

  /** The last controller ends the helper thread. */
  async close(): Promise<void> {
    const watcher = this.#watcher;
    this.#watcher = null;
    if (watcher === null) return;
    for (; this.#watched > 0; this.#watched -= 1) watcher.end();
    watcher.listeners.delete(this.#options.onStall);
    if (watcher.listeners.size > 0) return;
    watchers.delete(this.#key);
    await watcher.close();
  }

  #join(): LoopWatcher {
    const watcher = watchers.get(this.#key) ?? new LoopWatcher(this.#options);
    watchers.set(this.#key, watcher);
    watcher.listeners.add(this.#options.onStall);
    return watcher;
  }
}
