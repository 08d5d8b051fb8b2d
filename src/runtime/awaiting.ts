import { StoreError } from "../core/errors.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { RunSnapshot } from "../core/run.ts";
import { isRunTerminal } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { TaskStatus } from "../core/status.ts";
import { isTerminal } from "../core/transitions.ts";
import type { Cell } from "./cell.ts";
import { refuseSelf, until } from "./control.ts";
import type { Lending } from "./lending.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { PipelineDriver } from "./pipeline-driver.ts";
import type { StoreReads } from "./store-reads.ts";
import { impossible, waitWith } from "./waits.ts";
import type { Patience } from "./waits.ts";

/** How long somebody waits, as asked. */
export type Asked = Pick<Patience, "timeoutMs" | "signal">;

/** What waiting works with. */
export interface AwaitingParts {
  readonly clock: Clock;
  readonly store: StoreReads;
  readonly lifecycle: Lifecycle;
  readonly lending: Lending;
  /** The task as stored. */
  readonly stored: (taskId: string) => Promise<TaskSnapshot>;
}

/** Waits for tasks and runs; what is waited for never notices. Source §3.1. */
export class Awaiting {
  readonly #parts: AwaitingParts;

  constructor(parts: AwaitingParts) {
    this.#parts = parts;
  }

  /**
   * Waits until the task has a status, and answers with its row.
   * @param wanted `null`: any terminal one
   */
  async task(taskId: string, wanted: TaskStatus | null, asked: Asked): Promise<TaskSnapshot> {
    const { lifecycle, store, stored } = this.#parts;
    refuseSelf(lifecycle.get(taskId) ?? { taskId, attempt: null }, "wait");
    const reached = (snapshot: TaskSnapshot): boolean => snapshot.status === wanted || isTerminal(snapshot.status);
    const cell = lifecycle.get(taskId);
    const found = cell === undefined ? await stored(taskId) : await this.#reach(cell, { reached, wanted, asked });
    if (!reached(found)) throw new StoreError(`task ${taskId} is ${found.status} in the store, and nobody here drives it.`);
    if (wanted !== null && found.status !== wanted) throw impossible(taskId, wanted, found.status);
    const row = await store.tasks.get(taskId);
    return row !== undefined && row.statusVersion === found.statusVersion ? row : found;
  }

  /** Waits until the run has ended. */
  async run(driver: PipelineDriver, asked: Asked): Promise<RunSnapshot> {
    if (isRunTerminal(driver.storedRun.status)) return driver.storedRun;
    const what = `run ${driver.run.runId}: its end`;
    return await this.#parts.lending.wait(driver, null, (over) => this.#within(asked, over, { what, arrival: async (signal) => await driver.ended(signal) }));
  }

  async #reach(
    cell: Cell,
    { reached, wanted, asked }: { readonly reached: (snapshot: TaskSnapshot) => boolean; readonly wanted: TaskStatus | null; readonly asked: Asked },
  ): Promise<TaskSnapshot> {
    if (cell.stored !== null && reached(cell.stored)) return cell.stored;
    const what = `task ${cell.taskId}: ${wanted === null ? "its end" : `"${wanted}"`}`;
    return await this.#parts.lending.wait(cell, wanted, (over) => this.#within(asked, over, { what, arrival: (signal) => until(cell, reached, signal) }));
  }

  /** Without a limit there is nothing to race with: that is what `result` does, once for each task. */
  #within<Value>(
    { timeoutMs, signal }: Asked,
    over: AbortSignal | undefined,
    { what, arrival }: { readonly what: string; readonly arrival: (signal?: AbortSignal) => Promise<Value> },
  ): Promise<Value> {
    if (timeoutMs === null && signal === undefined) return arrival(over);
    const either = signal !== undefined && over !== undefined ? AbortSignal.any([signal, over]) : (signal ?? over);
    return waitWith(arrival, { clock: this.#parts.clock, timeoutMs, signal: either, what });
  }
}
