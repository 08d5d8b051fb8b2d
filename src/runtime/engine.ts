import type { HeldSlots } from "../core/admission.ts";
import { ControllerClosed, UnknownId } from "../core/errors.ts";
import type { StoredEvent, TaskEvent } from "../core/events.ts";
import type { Explanation } from "../core/explanation.ts";
import { createId } from "../core/ids.ts";
import type { ResolvedConcurrencyPolicy } from "../core/policies/concurrency.ts";
import { DEFAULTS } from "../core/policies/timeout.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Executor } from "../core/ports/executor.ts";
import type { TaskHooks } from "../core/ports/hooks.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskStore } from "../core/ports/store.ts";
import type { RunSnapshot } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { TaskStatus } from "../core/status.ts";
import { isTerminal } from "../core/transitions.ts";
import { ArtifactsRoot } from "./artifacts-root.ts";
import { Awaiting } from "./awaiting.ts";
import type { Asked } from "./awaiting.ts";
import type { BucketChoice } from "./buckets.ts";
import { Cell } from "./cell.ts";
import { Closing } from "./closing.ts";
import { Control } from "./control.ts";
import { EventBus } from "./event-bus.ts";
import { createExecutors } from "./executors/create-executors.ts";
import type { CarrierSettings } from "./executors/create-executors.ts";
import { explain } from "./explain.ts";
import { harmlessLogger } from "./harmless-logger.ts";
import { Hooks } from "./hooks.ts";
import type { Health, Orphan } from "./health.ts";
import { Holds } from "./holds.ts";
import { Journal } from "./journal.ts";
import { checkExecutor, noExecutor } from "./executors/check-executor.ts";
import { ENDED_RUN } from "./ended-run.ts";
import { Lending } from "./lending.ts";
import { Lifecycle } from "./lifecycle.ts";
import { LoopWatch } from "./loop-watch.ts";
import type { LoopWatchOptions } from "./loop-watch.ts";
import { mapDefinition } from "./map-definition.ts";
import type { PipelineDriver } from "./pipeline-driver.ts";
import { plannedRun } from "./run-plan.ts";
import type { RunPlan } from "./run-plan.ts";
import { runEvent } from "./run-record.ts";
import { RunTable } from "./run-table.ts";
import { randomBytes } from "./random-source.ts";
import { Scheduler } from "./scheduler.ts";
import { storeReads } from "./store-reads.ts";
import type { StoreReads } from "./store-reads.ts";
import { watchStrays } from "./strays.ts";
import { Supervisor } from "./supervisor.ts";
import type { TaskDefinition } from "./task-definition.ts";
import { creationOf, makeCell, storeCells } from "./task-maker.ts";

/** What an engine is made of. */
export interface EngineOptions {
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly concurrency: ResolvedConcurrencyPolicy;
  readonly random: () => number;
  readonly carriers: CarrierSettings;
  /** Called for each task, after the task's own. */
  readonly hooks?: TaskHooks<never> | null;
  /** Where attempts keep their files; `null`: in a temporary folder that goes with the engine. */
  readonly artifacts: string | null;
  /** `null`: the event loop is not watched. */
  readonly loopWatch: Pick<LoopWatchOptions, "afterMs" | "announce"> | null;
}

/** A task to be submitted, checked. */
export interface Submission {
  readonly definition: TaskDefinition;
  readonly args: readonly unknown[];
  readonly priority: number;
  /** Default: none. */
  readonly bucket?: BucketChoice | undefined;
  /** Not before this instant, epoch milliseconds. Default `null`: at once. */
  readonly availableAt?: number | null;
  /** What the submit put in place of the task's own options, as plain data: kept with the task. */
  readonly overrides?: unknown;
}

/** The parts of the runtime, wired: what a controller drives. Holds no rule of its own. Source §5.1. */
export class Engine {
  readonly bus: EventBus;
  readonly control: Control;
  readonly awaiting: Awaiting;
  /** For reading: writes go through the lifecycle alone. */
  readonly store: StoreReads;
  readonly clock: Clock;
  readonly holds: Holds;
  readonly executors: ReadonlyMap<string, Executor>;
  readonly nodeId: string;
  readonly #artifacts: ArtifactsRoot;
  readonly #loopWatch: LoopWatch | null;
  readonly #journal: Journal;
  readonly #hooks: Hooks;
  readonly #lifecycle: Lifecycle;
  readonly #scheduler: Scheduler;
  readonly #supervisor: Supervisor;
  readonly #runs: RunTable;
  readonly #lending: Lending;
  #concurrency: ResolvedConcurrencyPolicy;
  readonly #closing: Closing;

  constructor(options: EngineOptions) {
    const { store, clock, concurrency, random } = options;
    const logger = harmlessLogger(options.logger);
    this.store = storeReads(store, () => this.#closing.begun);
    this.clock = clock;
    this.nodeId = createId(randomBytes);
    this.executors = createExecutors(clock, options.carriers, (taskId, attempt, error) => this.#supervisor.stray(taskId, attempt, error));
    this.#artifacts = new ArtifactsRoot(options.artifacts, this.nodeId);
    this.bus = new EventBus({ logger });
    const publish = (events: readonly (StoredEvent | TaskEvent)[]): void => this.bus.publish(events);
    this.#journal = new Journal({ store, clock, logger, publish });
    this.#scheduler = new Scheduler({
      clock,
      concurrency,
      dispatch: (taskId) => this.#supervisor.dispatch(taskId),
      backoffEnded: (taskId) => this.#supervisor.backoffEnded(taskId),
    });
    this.holds = new Holds(this.#scheduler, clock);
    this.#concurrency = concurrency;
    this.#lending = new Lending({
      scheduler: this.#scheduler,
      cell: (taskId) => this.cell(taskId),
      run: (runId) => this.run(runId),
      limitOf: (tag) => this.#concurrency.limits.get(tag),
    });
    const stepped = (cell: Cell): void => this.#lending.stepped(cell);
    this.#hooks = new Hooks({
      logger,
      common: options.hooks ?? null,
      failed: (taskId, message, failure) => this.#supervisor.hookFailed(taskId, message, failure),
    });
    this.#lifecycle = new Lifecycle({ store, journal: this.#journal, scheduler: this.#scheduler, clock, logger, publish, hooks: this.#hooks, stepped });
    this.control = new Control(this.#lifecycle);
    this.awaiting = new Awaiting({
      clock,
      store: this.store,
      lifecycle: this.#lifecycle,
      lending: this.#lending,
      stored: async (taskId) => await this.get(taskId),
    });
    const parts = { journal: this.#journal, lifecycle: this.#lifecycle, control: this.control, scheduler: this.#scheduler };
    this.#runs = new RunTable({ ...parts, clock, store: this.store, owner: this.#owner, refuseWhenClosed: () => this.refuseWhenClosed() });
    this.#loopWatch = options.loopWatch === null ? null : new LoopWatch({ ...options.loopWatch, onStall: (report) => this.#supervisor.stalled(report) });
    this.#supervisor = new Supervisor({
      clock,
      logger,
      store,
      random,
      lifecycle: this.#lifecycle,
      scheduler: this.#scheduler,
      executors: this.executors,
      owner: this.#owner,
      artifacts: this.#artifacts,
      loopWatch: this.#loopWatch,
    });
    this.#closing = this.#newClosing(store);
    watchStrays();
  }

  /** Each executor sees the tasks that are registered for it: what can never run is refused now. */
  async prepare(definitions: readonly TaskDefinition[]): Promise<void> {
    this.#artifacts.open();
    const byExecutor = Map.groupBy(definitions, (definition) => this.executors.get(definition.executor));
    for (const [executor, tasks] of byExecutor) {
      if (executor === undefined) throw noExecutor(tasks[0]?.executor ?? "", this.executors);
      await executor.prepare?.(tasks);
    }
  }

  /** Makes the task and puts it into the queue; resolves once it is stored. */
  async submit({ definition, args, priority, bucket, availableAt = null, overrides = null }: Submission): Promise<Cell> {
    this.refuseWhenClosed();
    checkExecutor(definition, this.executors, args);
    const now = this.clock.now();
    const cell = makeCell({ definition, args, priority, createdAt: now, bucket, availableAt, node: null });
    const creation = creationOf(cell, "enqueue", now, overrides);
    await storeCells(this.#lifecycle, [cell], (stored) => this.#journal.create(creation, stored));
    // A close that came meanwhile has ended it already.
    if (cell.snapshot === creation.snapshot) this.#lifecycle.queue(cell);
    return cell;
  }

  /** Makes the run with all its nodes and lets the roots go; resolves once it is stored. */
  async startRun(plan: RunPlan): Promise<PipelineDriver> {
    this.refuseWhenClosed();
    for (const { definition, args } of plan.nodes) checkExecutor(definition, this.executors, typeof args === "function" ? undefined : args);
    const now = this.clock.now();
    const pending = plannedRun(plan, createId(randomBytes), now);
    const run: RunSnapshot = { ...pending, status: "running", version: 1, startedAt: now };
    const driver = this.#runs.create(plan, run);
    const creations = plan.nodes.map((node, index) => {
      const cell = makeCell({
        definition: node.map === undefined ? node.definition : mapDefinition(node.definition),
        args: Array.isArray(node.args) ? node.args : undefined,
        priority: node.priority,
        createdAt: now,
        bucket: node.bucket,
        node: { name: node.name, runId: run.runId, place: driver.place(index) },
      });
      driver.add(cell);
      // A root waits for nothing: it stays pending until it is let go, right after this write.
      return creationOf(cell, plan.graph.upstream[index]?.length === 0 ? null : "block", now);
    });
    const events = [runEvent(pending, run, { at: now, by: { trigger: "user:start" } })];
    this.#runs.drive(driver);
    try {
      await storeCells(this.#lifecycle, driver.cells, (stored) => this.#journal.createRun({ run, params: plan.params, creations, events }, stored));
    } catch (error) {
      this.#runs.drop(driver);
      throw error;
    }
    if (!this.#closing.begun) driver.begin();
    return driver;
  }

  run(runId: string): PipelineDriver | undefined {
    return this.#runs.get(runId);
  }

  /** The run, be it that it has ended; throws where it is not in memory. */
  async findRun(runId: string): Promise<PipelineDriver> {
    return await this.#runs.load(runId);
  }

  cell(taskId: string): Cell | undefined {
    return this.#lifecycle.get(taskId);
  }

  /** The task where its value may be in memory alone. */
  withValue(taskId: string): Cell | undefined {
    return this.#lifecycle.get(taskId) ?? this.#lifecycle.withValue(taskId);
  }

  /** The task as memory, for a verb: an ended one is read back from the store. */
  async cellOf(taskId: string, definitionOf: (name: string, overrides: unknown) => TaskDefinition): Promise<Cell> {
    const held = this.#lifecycle.get(taskId);
    if (held !== undefined) return held;
    const [row, payload] = await Promise.all([this.store.tasks.get(taskId), this.store.tasks.payload(taskId)]);
    // Somebody else, or its retry policy, may have revived it meanwhile.
    const revived = this.#lifecycle.get(taskId);
    if (revived !== undefined) return revived;
    if (row === undefined) throw unknownTask(taskId);
    const node = row.pipelineRunId === null ? undefined : this.#runs.find(row.pipelineRunId)?.cell(taskId);
    const kept = node ?? this.#supervisor.orphaned(taskId);
    if (kept !== undefined) {
      // That an abandoned body has ended after all is noted on the row alone.
      kept.snapshot = { ...kept.snapshot, abandonedBy: row.abandonedBy };
      return kept;
    }
    const place = row.pipelineRunId === null ? null : ENDED_RUN;
    const cell = new Cell({ definition: definitionOf(row.name, payload?.overrides ?? null), snapshot: row, args: payload?.args, place });
    cell.stored = row;
    cell.restore(payload?.saved);
    return cell;
  }

  /** From now on the task is driven here; answers with what is held of it: somebody else may have been first. */
  hold(cell: Cell): Cell {
    this.refuseWhenClosed();
    const held = this.#lifecycle.get(cell.taskId);
    if (held === undefined) this.#lifecycle.hold(cell);
    return held ?? cell;
  }

  /** Nothing came of it: a task that has ended is not kept. */
  letGo(cell: Cell): void {
    if (cell.unstored === 0 && isTerminal(cell.snapshot.status)) this.#lifecycle.forget(cell);
  }

  /** The task as stored. */
  async get(taskId: string): Promise<TaskSnapshot> {
    const row = await this.store.tasks.get(taskId);
    if (row === undefined) throw unknownTask(taskId);
    return row;
  }

  /** Waits until the task has a status (`null`: any terminal one), and answers with its row. */
  async wait(taskId: string, wanted: TaskStatus | null, asked: Asked): Promise<TaskSnapshot> {
    return await this.awaiting.task(taskId, wanted, asked);
  }

  /** The limits and the order in force. */
  get concurrency(): ResolvedConcurrencyPolicy {
    return this.#concurrency;
  }

  /** Other limits from now on. What is over a lowered one ends in its own time, and nothing takes its place. */
  setConcurrency(concurrency: ResolvedConcurrencyPolicy): void {
    this.refuseWhenClosed();
    this.#concurrency = concurrency;
    this.#scheduler.setLimits(concurrency);
    this.#lending.limitsChanged();
  }

  /** Why the task is where it is. Changes nothing. */
  async explain(taskId: string): Promise<Explanation> {
    const cell = this.#lifecycle.get(taskId);
    const snapshot = cell?.snapshot ?? (await this.get(taskId));
    return await explain(snapshot, cell, {
      scheduler: this.#scheduler,
      holds: this.holds,
      lending: this.#lending,
      run: (runId) => this.run(runId)?.run,
      task: (id) => (this.#lifecycle.get(id) ?? this.#supervisor.orphaned(id))?.snapshot,
      history: async (id) => await this.store.audit.history(id),
      now: this.clock.now(),
    });
  }

  /** What is not in order: a store that does not write, bodies that were given up on. */
  get health(): Health {
    const { degraded, persistFailures } = this.#journal.health;
    return { degraded, persistFailures, orphans: this.#supervisor.orphans.size };
  }

  /** What this engine has in hand: slots taken, and tasks kept in memory. */
  get load(): { readonly slots: HeldSlots; readonly tasks: number } {
    return { slots: this.#scheduler.held, tasks: this.#lifecycle.cells.size };
  }

  get orphans(): readonly Orphan[] {
    return [...this.#supervisor.orphans].map(({ cell, number, executor, orphanedAt }) => ({
      taskId: cell.taskId,
      name: cell.snapshot.name,
      attempt: number,
      executor,
      since: orphanedAt ?? this.clock.now(),
    }));
  }

  /**
   * Stops what runs within the grace; leaves what has not begun in a durable store, else cancels it. Asked again, a shorter
   * grace brings the end nearer.
   * @throws Deadlock inside a task that runs here
   */
  async close(graceMs: number = DEFAULTS.stopGraceMs): Promise<void> {
    await this.#closing.close(graceMs);
  }

  #newClosing(store: TaskStore): Closing {
    const { clock, control, executors, bus } = this;
    return new Closing({
      clock,
      store,
      control,
      executors,
      bus,
      lifecycle: this.#lifecycle,
      scheduler: this.#scheduler,
      supervisor: this.#supervisor,
      journal: this.#journal,
      hooks: this.#hooks,
      runs: this.#runs,
      loopWatch: this.#loopWatch,
      artifacts: this.#artifacts,
    });
  }

  get #owner(): string {
    return `${this.nodeId}:1`;
  }

  /** @throws ControllerClosed */
  refuseWhenClosed(): void {
    if (this.#closing.begun) throw new ControllerClosed("the controller is closed: open another.");
  }
}

function unknownTask(taskId: string): UnknownId {
  return new UnknownId(`no task ${JSON.stringify(taskId)}: the id is wrong, or its history was pruned.`);
}
