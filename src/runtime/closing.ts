import { ControllerClosed, Deadlock } from "../core/errors.ts";
import type { By } from "../core/lifecycle-events.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Executor } from "../core/ports/executor.ts";
import type { TaskStore } from "../core/ports/store.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { isTerminal } from "../core/transitions.ts";
import type { ArtifactsRoot } from "./artifacts-root.ts";
import type { Cell } from "./cell.ts";
import { ClosingTime } from "./closing-time.ts";
import { until } from "./control.ts";
import type { Control } from "./control.ts";
import type { EventBus } from "./event-bus.ts";
import type { Hooks } from "./hooks.ts";
import type { Journal } from "./journal.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { RunTable } from "./run-table.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Supervisor } from "./supervisor.ts";
import { taskScope } from "./task-scope.ts";

/** What closing has to let go of. */
export interface ClosingParts {
  readonly clock: Clock;
  readonly store: TaskStore;
  readonly lifecycle: Lifecycle;
  readonly scheduler: Scheduler;
  readonly supervisor: Supervisor;
  readonly journal: Journal;
  readonly control: Control;
  readonly hooks: Hooks;
  readonly runs: RunTable;
  readonly loopWatch: LoopWatch | null;
  readonly executors: ReadonlyMap<string, Executor>;
  readonly artifacts: ArtifactsRoot;
  readonly bus: EventBus;
}

const CLOSING: By = { trigger: "controller:close", actor: "system", reason: "the controller closes" };

/** The end of a controller: what runs is stopped, what is decided is stored, and everything is let go of. Source §5.1. */
export class Closing {
  readonly #parts: ClosingParts;
  #patience: ClosingTime | null = null;
  #closed: Promise<void> | null = null;

  constructor(parts: ClosingParts) {
    this.#parts = parts;
  }

  get begun(): boolean {
    return this.#closed !== null;
  }

  /** Called again it waits for the same end; a shorter grace brings that nearer. */
  async close(graceMs: number): Promise<void> {
    this.#refuseInside();
    this.#parts.hooks.excuse();
    if (this.#patience?.shorten(graceMs) === true) this.#hasten(graceMs);
    this.#patience ??= new ClosingTime(this.#parts.clock, graceMs);
    this.#closed ??= this.#close(this.#patience);
    await this.#closed;
  }

  /** A task that closes its own controller would wait for its own end. What it has left behind when it ended may. */
  #refuseInside(): void {
    const scope = taskScope.getStore();
    if (scope?.body?.running !== true || this.#parts.lifecycle.get(scope.taskId)?.attempt !== scope.body.reports) return;
    throw new Deadlock(
      `task ${scope.taskId} ("${scope.name}") asked its own controller to close and would wait for its own end. Return or throw, and let whoever opened the controller close it.`,
    );
  }

  async #close(patience: ClosingTime): Promise<void> {
    const { store, scheduler, runs, control, supervisor, journal, loopWatch, executors, artifacts, bus } = this.#parts;
    const { durability } = store.supports;
    // What the watch has found while the loop was blocked is still on its way.
    if (loopWatch !== null) await loopWatch.heard();
    const { graceMs } = patience;
    scheduler.close();
    for (const driver of runs.driven) if (driver.run.endedAt === null && !durability) driver.halt("stop", { by: CLOSING, graceMs });
    const ending = this.#open().filter((cell) => holdsSlot(cell.snapshot) || !durability);
    // With one that ends others may: the items of a map.
    for (const cell of ending)
      if (!isTerminal(cell.snapshot.status)) control.haltNow(cell, holdsSlot(cell.snapshot) ? "stop" : "cancel", { by: CLOSING, graceMs });
    await this.#written(ending, supervisor.dismiss(graceMs), patience);
    journal.close();
    this.#dismiss(new ControllerClosed("the controller has closed: this has not ended, and nobody drives it here any more."));
    supervisor.close();
    await loopWatch?.close();
    for (const executor of new Set(executors.values())) await executor.close();
    await artifacts.close();
    bus.close();
    await store.close();
  }

  #open(): readonly Cell[] {
    return [...this.#parts.lifecycle.cells.values()].filter((cell) => !isTerminal(cell.snapshot.status));
  }

  #hasten(graceMs: number): void {
    const { control, supervisor } = this.#parts;
    for (const cell of this.#open()) if (holdsSlot(cell.snapshot)) control.haltNow(cell, "stop", { by: CLOSING, graceMs });
    supervisor.hasten(graceMs);
  }

  /** Waits until these have ended, what was forced away has left, and all is stored; not for ever, since the store may be gone. */
  async #written(ending: readonly Cell[], dismissed: Promise<void>, patience: ClosingTime): Promise<void> {
    const ended = Promise.allSettled(ending.map(async (cell) => await until(cell, (stored) => isTerminal(stored.status))));
    await Promise.race([Promise.all([ended, dismissed]).then(async () => await this.#allTold()), patience.begin()]);
    patience.end();
  }

  /** What is decided is stored, who is to hear of it has heard, and what came of that is stored, too. */
  async #allTold(): Promise<void> {
    const { journal, hooks } = this.#parts;
    await journal.drained();
    await hooks.settled();
    await journal.drained();
  }

  /** Nobody is to wait for what nobody drives: left in a durable store, or not stored in time. */
  #dismiss(problem: ControllerClosed): void {
    const { lifecycle, runs } = this.#parts;
    for (const cell of lifecycle.cells.values()) {
      cell.fail(problem);
      lifecycle.forget(cell);
    }
    for (const driver of runs.driven) driver.dismiss(problem);
    runs.clear();
  }
}
