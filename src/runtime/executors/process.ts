import type { Clock, Timer } from "../../core/ports/clock.ts";
import type { CarriedTask, ExecutionHandle, LaunchRequest } from "../../core/ports/executor.ts";
import { CarrierPool } from "./carrier-pool.ts";
import { ProcessLink } from "./process-link.ts";
import type { StrayListener, TaskAddress } from "./protocol.ts";
import { RemoteExecutor } from "./remote-executor.ts";

/**
 * The next child is started a moment after a task has begun: starting one stops this thread for some milliseconds and
 * takes a processor for more than a hundred, just when the task begins and may first be paused or stopped.
 */
const STANDS_BY_AFTER_MS = 100;

/** How child processes are kept. */
export interface ProcessSettings {
  /** How many are started ahead, with the modules loaded. */
  readonly standby: number;
  /** Off: each child runs one task, so that nothing of one task can reach the next. */
  readonly reuse: boolean;
  /** With `reuse`: after so many tasks a child is retired. */
  readonly maxTasks: number;
  /** Options for Node in the child; default: this process's own, less those that debug it. */
  readonly execArgv: readonly string[];
}

/** Runs tasks in child processes: a real kill, real isolation, also from native crashes. Source §13.2, §13.10. */
export class ProcessExecutor extends RemoteExecutor<ProcessLink> {
  readonly kind = "process";
  readonly supports = { pause: true, kill: true, closures: false, syncCheckpoint: true, beats: true } as const;
  protected readonly word = "child process";
  protected readonly pool: CarrierPool<ProcessLink>;
  readonly #settings: ProcessSettings;
  #known: readonly TaskAddress[] = [];
  #closed = false;
  #standByTimer: Timer | null = null;

  constructor(clock: Clock, settings: ProcessSettings, strays?: StrayListener) {
    super(clock, strays);
    this.#settings = settings;
    const { reuse, maxTasks, standby } = settings;
    this.pool = new CarrierPool({ make: () => this.make(), keep: reuse ? Math.max(1, standby) : 0, maxUses: reuse ? maxTasks : 1 });
  }

  override async prepare(tasks: readonly CarriedTask[]): Promise<void> {
    await super.prepare(tasks);
    this.#known = tasks.flatMap(({ module, name }) => (module === null ? [] : [{ module, name }]));
    if (tasks.length > 0) this.#standBy();
  }

  override launch(request: LaunchRequest): ExecutionHandle {
    const handle = super.launch(request);
    // A child that is reused comes back by itself.
    if (!this.#settings.reuse) this.#standBySoon();
    return handle;
  }

  override async close(): Promise<void> {
    this.#closed = true;
    this.#standByTimer?.cancel();
    await super.close();
  }

  protected make(): ProcessLink {
    return new ProcessLink(this.clock, { execArgv: this.#settings.execArgv });
  }

  #standBySoon(): void {
    this.#standByTimer ??= this.clock.setTimer(STANDS_BY_AFTER_MS, () => {
      this.#standByTimer = null;
      this.#standBy();
    });
  }

  /**
   * Children are started before they are needed, and load the modules while they wait. At best: what goes wrong here is
   * no task's affair, least of all one that has just begun. It will be said when a child is needed.
   */
  #standBy(): void {
    if (this.#known.length === 0) return;
    try {
      while (!this.#closed && this.pool.idleCount < this.#settings.standby) {
        const link = this.make();
        link.post({ type: "load", tasks: this.#known });
        this.pool.add(link);
      }
    } catch {
      // The next launch starts its own.
    }
  }
}
