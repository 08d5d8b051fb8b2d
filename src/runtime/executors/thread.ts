import type { ResourceLimits } from "node:worker_threads";
import type { Clock } from "../../core/ports/clock.ts";
import { CarrierPool } from "./carrier-pool.ts";
import type { StrayListener } from "./protocol.ts";
import { RemoteExecutor } from "./remote-executor.ts";
import { ThreadLink } from "./thread-link.ts";

/** How worker threads are kept. */
export interface ThreadSettings {
  /** How many idle workers are kept warm. */
  readonly keep: number;
  /** After so many tasks a worker is retired. */
  readonly maxTasks: number;
  readonly resourceLimits: ResourceLimits;
}

/** Runs tasks in worker threads: CPU-bound code blocks nobody, and a body that does not listen is ended. Source §13.2. */
export class ThreadExecutor extends RemoteExecutor<ThreadLink> {
  readonly kind = "thread";
  readonly supports = { pause: true, kill: true, closures: false, syncCheckpoint: true, beats: false } as const;
  protected readonly word = "worker thread";
  protected readonly pool: CarrierPool<ThreadLink>;
  readonly #resourceLimits: ResourceLimits;

  constructor(clock: Clock, { keep, maxTasks, resourceLimits }: ThreadSettings, strays?: StrayListener) {
    super(clock, strays);
    this.#resourceLimits = resourceLimits;
    this.pool = new CarrierPool({ make: () => this.make(), keep, maxUses: maxTasks });
  }

  protected make(): ThreadLink {
    return new ThreadLink(this.clock, this.#resourceLimits);
  }
}
