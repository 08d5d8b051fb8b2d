import { UnknownId } from "../core/errors.ts";
import type { RunSnapshot } from "../core/run.ts";
import { PipelineDriver } from "./pipeline-driver.ts";
import type { DriverParts } from "./pipeline-driver.ts";
import type { RunPlan } from "./run-plan.ts";

/** What the runs of a controller work with. */
export interface RunTableParts extends Omit<DriverParts, "forget" | "takeUp"> {
  readonly refuseWhenClosed: () => void;
}

/** The last runs that have ended are kept: so many, each with its nodes and items, in all. */
const KEPT = 10_000;

/**
 * The runs that this controller has in memory: those that it drives, and of those that have ended the last, and each that
 * somebody still has a handle of. So there is never more than one memory of a run.
 */
export class RunTable {
  readonly #driven = new Map<string, PipelineDriver>();
  readonly #ended = new Map<string, WeakRef<PipelineDriver>>();
  /** With what each weighed when it ended; oldest first. */
  readonly #kept = new Map<PipelineDriver, number>();
  readonly #collected = new FinalizationRegistry<string>((runId) => {
    if (this.#ended.get(runId)?.deref() === undefined) this.#ended.delete(runId);
  });
  readonly #parts: DriverParts;
  #size = 0;

  constructor(parts: RunTableParts) {
    this.#parts = {
      ...parts,
      forget: (driver) => this.#end(driver),
      takeUp: (driver) => {
        parts.refuseWhenClosed();
        this.drive(driver);
      },
    };
  }

  /** Those that have not ended. */
  get driven(): Iterable<PipelineDriver> {
    return this.#driven.values();
  }

  /** The run while it is driven. */
  get(runId: string): PipelineDriver | undefined {
    return this.#driven.get(runId);
  }

  /** The run, be it that it has ended. */
  find(runId: string): PipelineDriver | undefined {
    return this.#driven.get(runId) ?? this.#ended.get(runId)?.deref();
  }

  /** The same, from whoever may have asked for one that is not here. */
  async load(runId: string): Promise<PipelineDriver> {
    const found = this.find(runId);
    if (found !== undefined) return found;
    const row = await this.#parts.store.runs.get(runId);
    if (row === undefined) throw new UnknownId(`no run ${JSON.stringify(runId)}: the id is wrong, or its history was pruned.`);
    throw new UnknownId(`run ${runId} ("${row.name}", ${row.status}) is not in this controller's memory: ask runs for its row and list for its tasks.`);
  }

  /** One that is to be driven from now on. */
  create(plan: RunPlan, run: RunSnapshot): PipelineDriver {
    return new PipelineDriver(this.#parts, plan, run);
  }

  drive(driver: PipelineDriver): void {
    const { runId } = driver.run;
    this.#driven.set(runId, driver);
    this.#ended.delete(runId);
    this.#letGo(driver);
  }

  /** It was never stored. */
  drop(driver: PipelineDriver): void {
    this.#driven.delete(driver.run.runId);
  }

  /** The controller has closed: nobody asks for one any more. */
  clear(): void {
    for (const table of [this.#driven, this.#ended, this.#kept]) table.clear();
  }

  #end(driver: PipelineDriver): void {
    const { runId } = driver.run;
    if (!this.#driven.delete(runId)) return;
    this.#ended.set(runId, new WeakRef(driver));
    this.#collected.register(driver, runId);
    this.#kept.set(driver, sizeOf(driver));
    this.#size += sizeOf(driver);
    for (const oldest of this.#kept.keys()) {
      if (this.#size <= KEPT) return;
      this.#letGo(oldest);
    }
  }

  #letGo(driver: PipelineDriver): void {
    this.#size -= this.#kept.get(driver) ?? 0;
    this.#kept.delete(driver);
  }
}

function sizeOf({ taskCount }: PipelineDriver): number {
  return 1 + taskCount;
}
