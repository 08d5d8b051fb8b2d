import { checkInteger, checkOptions } from "../core/options.ts";
import type { AttemptRecord } from "../core/attempt.ts";
import type { TaskEvent, TaskStatusChanged } from "../core/events.ts";
import { parseDuration } from "../core/duration.ts";
import type { Duration } from "../core/duration.ts";
import { CONCURRENCY_KEYS, resolveConcurrencyPolicy } from "../core/policies/concurrency.ts";
import type { FeedEntry, Page, RunQuery, StatusCounts, TaskQuery } from "../core/ports/store.ts";
import { quietLogger } from "../core/ports/logger.ts";
import type { RunSnapshot } from "../core/run.ts";
import { DEFAULTS } from "../core/policies/timeout.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { Explanation } from "../core/explanation.ts";
import type { Hold, HoldTarget } from "../core/holds.ts";
import { changeLimits, limitsOf } from "../core/limits.ts";
import type { Limits, LimitsChange } from "../core/limits.ts";
import type { Buckets } from "../runtime/buckets.ts";
import type { TaskStatus } from "../core/status.ts";
import type { Verb, VerbAnswer } from "../core/verbs.ts";
import { Engine } from "../runtime/engine.ts";
import type { Health, Orphan } from "../runtime/health.ts";
import { harmlessLogger } from "../runtime/harmless-logger.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { memoryStore } from "../stores/memory/store.ts";
import { CARRIER_KEYS, readCarrierOptions } from "./carrier-options.ts";
import { checkInput } from "./check-input.ts";
import { checkPorts } from "./check-ports.ts";
import { readHooks } from "./hooks.ts";
import { LOOP_WATCH_KEYS, OPEN_KEYS, readEventOptions, readFolder, readLoopWatch, refuseWhileLoading, readPriority, readVerbOptions } from "./options.ts";
import type {
  Asking,
  ControllerOptions,
  EventOptions,
  FeedOptions,
  ForceOptions,
  PauseOptions,
  ResetOptions,
  RetryOptions,
  RunOptions,
  SkipOptions,
  StopOptions,
  SubmitOptions,
  TaskSelector,
  WaitOptions,
  WatchOptions,
} from "./options.ts";
import { stream, watch } from "./observe.ts";
import { ownArgs } from "./own-args.ts";
import type { Pipeline } from "./pipeline.ts";
import { planRun } from "./plan-run.ts";
import { readQuery, readRunQuery } from "./query.ts";
import { Registry } from "./registry.ts";
import { RunHandle } from "./run-handle.ts";
import { BUCKET_KEYS, checkPerBucket, readBucketChoice, readBuckets, readHoldTarget, readStartTime } from "./scheduling.ts";
import { storableOverrides } from "./storable-overrides.ts";
import { POLICY_KEYS, resolveTask } from "./task.ts";
import type { ArgsThen, Task } from "./task.ts";
import { TagCheck } from "./tag-check.ts";
import { TaskControls } from "./task-controls.ts";
import { TaskHandle } from "./task-handle.ts";

const SUBMIT_KEYS = ["priority", "retry", "timeout", "tags", "delay", "runAt", "bucketKey"] as const;

/**
 * The control plane: submits tasks, starts runs, passes verbs on, answers questions. Opened with `open`,
 * closed with `close` or `await using`. A facade: the work is done by the parts of the runtime. Source §3, §5.1.
 */
export class Controller {
  readonly #engine: Engine;
  readonly #registry: Registry;
  readonly #controls: TaskControls;
  readonly #buckets: Buckets | null;
  readonly #tags: TagCheck;

  private constructor(engine: Engine, registry: Registry, { buckets, tags }: { readonly buckets: Buckets | null; readonly tags: TagCheck }) {
    this.#engine = engine;
    this.#registry = registry;
    this.#controls = new TaskControls(engine, (name, overrides) => registry.definition(name, overrides));
    this.#buckets = buckets;
    this.#tags = tags;
  }

  /**
   * Opens the store and makes the controller ready.
   * @throws ConfigurationError for options, names or policies that make no sense, StoreError
   */
  static async open(options: ControllerOptions = {}): Promise<Controller> {
    refuseWhileLoading("Controller.open");
    const given = checkOptions(options, OPEN_KEYS, "Controller.open", {
      concurrency: CONCURRENCY_KEYS,
      buckets: BUCKET_KEYS,
      watchLoop: LOOP_WATCH_KEYS,
      ...CARRIER_KEYS,
    });
    checkPorts(given);
    const { artifacts, executor, threads, processes, executors, onStart, onSuccess, onFailure, onRetry, onCancel } = given;
    const hooks = readHooks({ onStart, onSuccess, onFailure, onRetry, onCancel }, "Controller.open");
    const registry = new Registry(options.tasks, options.pipelines);
    const concurrency = resolveConcurrencyPolicy(options.concurrency);
    const buckets = readBuckets(options.buckets, concurrency);
    const carriers = readCarrierOptions({ executor, threads, processes, executors });
    const logger = harmlessLogger(options.logger ?? quietLogger);
    const store = options.store ?? memoryStore();
    await store.open();
    const engine = new Engine({
      carriers,
      hooks,
      artifacts: readFolder(artifacts, "artifacts"),
      loopWatch: readLoopWatch(options.watchLoop ?? options.clock === undefined),
      store,
      concurrency,
      clock: options.clock ?? systemClock,
      logger,
      random: options.random ?? Math.random,
    });
    try {
      await engine.prepare(registry.definitions);
    } catch (error) {
      await engine.close(0);
      throw error;
    }
    const tags = new TagCheck(registry, logger);
    tags.check(concurrency.limits.keys(), "concurrency.limits");
    return new Controller(engine, registry, { buckets, tags });
  }

  /**
   * Puts a registered task into the queue; resolves once it is stored.
   * @throws UnknownName, InvalidArguments, ConfigurationError (also for arguments that cannot be stored)
   */
  async submit<Args extends readonly unknown[], Result>(
    asked: string | Task<string, Args, Result>,
    ...rest: ArgsThen<NoInfer<Args>, SubmitOptions>
  ): Promise<TaskHandle<Result>> {
    const [args = [], options = {}] = rest;
    const task = this.#registry.task(asked);
    // Now, before anything is waited for: the caller's objects are the caller's again.
    const owned = ownArgs(args, task.name);
    const { priority, retry, timeout, tags, delay, runAt, bucketKey } = checkOptions(options, SUBMIT_KEYS, "submit", POLICY_KEYS);
    // Checked once, when it was registered; again only where something is put in the place of its own options.
    const isAsDefined = retry === undefined && timeout === undefined && tags === undefined;
    const definition = isAsDefined ? this.#registry.definition(task.name, null) : resolveTask(task, { retry, timeout, tags });
    const cell = await this.#engine.submit({
      definition,
      args: await checkInput(task.name, task.options.input, owned),
      priority: readPriority(priority, "submit: priority", this.#engine.concurrency.defaultPriority),
      bucket: readBucketChoice(bucketKey, this.#buckets, "submit"),
      availableAt: readStartTime({ delay, runAt }, this.#engine.clock.now(), "submit"),
      overrides: isAsDefined ? null : storableOverrides({ retry, timeout, tags }),
    });
    if (tags !== undefined) this.#tags.bring(definition.tags);
    return new TaskHandle(this.#controls, cell);
  }

  /**
   * Builds a registered pipeline with these parameters and starts the run; resolves once it is stored.
   * @throws UnknownName, InvalidArguments, CircularDependency, ConfigurationError: before anything is stored
   */
  async startRun<Params extends readonly unknown[]>(
    asked: string | Pipeline<string, Params>,
    ...rest: ArgsThen<NoInfer<Params>, RunOptions>
  ): Promise<RunHandle> {
    const [params = [], options = {}] = rest;
    const pipeline = this.#registry.pipeline(asked);
    const { priority, bucketKey } = checkOptions(options, ["priority", "bucketKey"], "startRun");
    const checked = await checkInput(pipeline.name, pipeline.options.input, ownArgs(params, pipeline.name, "params"));
    const plan = planRun(pipeline, checked, {
      priority: readPriority(priority, "startRun: priority", this.#engine.concurrency.defaultPriority),
      bucket: readBucketChoice(bucketKey, this.#buckets, "startRun"),
      use: (task) => this.#registry.use(task),
    });
    this.#registry.built(pipeline);
    this.#tags.learn();
    return new RunHandle(this.#engine, await this.#engine.startRun(plan));
  }

  /**
   * A run by its id: one that has not ended, or one that has and is still in memory (the last ones are).
   * @throws UnknownId
   */
  async run(runId: string): Promise<RunHandle> {
    return new RunHandle(this.#engine, await this.#engine.findRun(runId));
  }

  /** A page of the runs that fit, in the order in which they were started. */
  async runs(query: RunQuery = {}): Promise<Page<RunSnapshot>> {
    return await this.#engine.store.runs.query(readRunQuery(query));
  }

  /** The task as stored, with its outcome. */
  async get(taskId: string): Promise<TaskSnapshot> {
    return await this.#controls.get(taskId);
  }

  /** A page of the tasks that fit, without their outcomes. */
  async list(query: TaskQuery = {}): Promise<Page<TaskSnapshot>> {
    return await this.#engine.store.tasks.query(readQuery(query));
  }

  /** How many of the tasks that fit are in each status. */
  async stats(query: Omit<TaskQuery, "limit" | "cursor"> = {}): Promise<StatusCounts> {
    return await this.#engine.store.tasks.counts(readQuery(query));
  }

  /** How many of the tasks that fit are in each bucket; those in none, and buckets without any, are left out. Source §15. */
  async bucketCounts(query: Omit<TaskQuery, "limit" | "cursor"> = {}): Promise<ReadonlyMap<number, number>> {
    return await this.#engine.store.tasks.bucketCounts(readQuery(query));
  }

  /** Why the task is where it is: what it waits for and who is in its way, or what it does. Changes nothing. */
  async explain(taskId: string): Promise<Explanation> {
    return await this.#engine.explain(taskId);
  }

  /** The limits in force. */
  get limits(): Limits {
    return limitsOf(this.#engine.concurrency);
  }

  /**
   * Changes limits while tasks run; what is left out stays. A lowered one takes effect as tasks end: none is stopped for it.
   * Answers with those in force from now on.
   * @throws ConfigurationError, and nothing has changed
   */
  async setLimits(change: LimitsChange): Promise<Limits> {
    const before = this.#engine.concurrency;
    const concurrency = changeLimits(before, change, "setLimits");
    if (concurrency.perBucket !== null) checkPerBucket(this.#buckets, "setLimits: perBucket");
    this.#engine.setConcurrency(concurrency);
    // A limit that is lifted again was meant for its tag, whatever that is.
    const named = Object.keys(change.limits ?? {}).filter((tag) => concurrency.limits.has(tag) || !before.limits.has(tag));
    this.#tags.check(named, "setLimits: limits");
    return this.limits;
  }

  /**
   * From now on no task of that name, with that tag or of that bucket is started, also none that is retried or goes on after
   * its backoff; what runs goes on. Held already: the hold stays as it is, and is the answer.
   * @throws UnknownName, ConfigurationError
   */
  async hold(target: HoldTarget, options?: Asking): Promise<Hold> {
    const { by } = readVerbOptions(options, "hold");
    const read = this.#holdTarget(target, "hold");
    this.#engine.refuseWhenClosed();
    if ("tag" in read) this.#tags.check([read.tag], "hold");
    return this.#engine.holds.hold(read, { actor: by.actor ?? "user", reason: by.reason ?? null });
  }

  /** Ends a hold: what waited for nothing else gets its turn. False: it was not held. */
  async release(target: HoldTarget): Promise<boolean> {
    const read = this.#holdTarget(target, "release");
    this.#engine.refuseWhenClosed();
    const wasHeld = this.#engine.holds.release(read);
    if (!wasHeld && "tag" in read) this.#tags.check([read.tag], "release");
    return wasHeld;
  }

  /** What is held, by whom and why, the oldest first. */
  async holds(): Promise<readonly Hold[]> {
    return this.#engine.holds.all;
  }

  #holdTarget(target: unknown, what: "hold" | "release"): HoldTarget {
    return readHoldTarget(target, what, { buckets: this.#buckets, checkTaskName: (name) => this.#registry.checkTaskName(name) });
  }

  /** May the verb be used on the task now? Answers without side effects. */
  async can(taskId: string, verb: Verb): Promise<VerbAnswer> {
    return await this.#controls.can(taskId, verb);
  }

  /** Every attempt of the task, in order. */
  async attempts(taskId: string): Promise<readonly AttemptRecord[]> {
    await this.#controls.get(taskId);
    return await this.#engine.store.audit.attempts(taskId);
  }

  /** Every step of the task: from, to, by whom, why. */
  async history(taskId: string): Promise<readonly TaskStatusChanged[]> {
    await this.#controls.get(taskId);
    return await this.#engine.store.audit.history(taskId);
  }

  async start(taskId: string, options?: Asking): Promise<TaskSnapshot> {
    return await this.#controls.start(taskId, options);
  }

  /** Resolves when the task has ended: `stopped`, or `lost` where it could not be stopped. */
  async stop(taskId: string, options?: StopOptions): Promise<TaskSnapshot> {
    return await this.#controls.halt(taskId, "stop", options);
  }

  /** True once it is paused; false when no checkpoint was reached in time, and it runs on. */
  async pause(taskId: string, options?: PauseOptions): Promise<boolean> {
    return await this.#controls.pause(taskId, options);
  }

  async resume(taskId: string, options?: Asking): Promise<TaskSnapshot> {
    return await this.#controls.resume(taskId, options);
  }

  /** Resolves when the task has ended: `cancelled`, or `lost` where it could not be stopped. */
  async cancel(taskId: string, options?: StopOptions): Promise<TaskSnapshot> {
    return await this.#controls.halt(taskId, "cancel", options);
  }

  /** Runs an ended task again, or a waiting one now. */
  async retry(taskId: string, options?: RetryOptions): Promise<TaskSnapshot> {
    return await this.#controls.retry(taskId, options);
  }

  /** Skips a task that has not begun, or one that failed; those below it go on, with `outcome` where it is given. */
  async skip(taskId: string, options?: SkipOptions): Promise<TaskSnapshot> {
    return await this.#controls.skip(taskId, options);
  }

  /** Begins a task anew: a new epoch with no attempt counted. It is `pending` then, and waits for `start`. */
  async reset(taskId: string, options: ResetOptions): Promise<TaskSnapshot> {
    return await this.#controls.reset(taskId, options);
  }

  /**
   * The escape hatch: sets a status by hand (a terminal one, `pending` or `queued`), on the record with who and why. A live
   * body is told to end, and what it still says is discarded. Source §3.1.
   */
  async forceTransition(taskId: string, to: TaskStatus, options: ForceOptions): Promise<TaskSnapshot> {
    return await this.#controls.force(taskId, to, options);
  }

  /**
   * Waits for a status; the task never notices.
   * @throws WaitTimeout, WaitImpossible, UnknownId
   */
  async wait(taskId: string, options: WaitOptions): Promise<TaskSnapshot> {
    return await this.#controls.wait(taskId, options);
  }

  /**
   * Everything that happens from this call on, until the loop is left or the controller closes. Events wait
   * until they are taken, at most `limit` of them (default 10,000): beyond that the oldest are dropped.
   */
  events({ limit, ...options }: EventOptions & { readonly limit?: number } = {}): AsyncGenerator<TaskEvent, void, undefined> {
    const { types, signal } = readEventOptions(options);
    return this.#engine.bus.stream(types === undefined ? {} : { types }, {
      signal,
      limit: limit === undefined ? undefined : checkInteger(limit, "events: limit", 1),
    });
  }

  /**
   * What is stored of what happens, as a feed that can be gone on with: each entry with the cursor after it. Begins now, or
   * after the cursor `from` (`null`: at the start of the record), and goes on until the loop is left, the signal aborts or
   * the controller closes. A slow reader falls behind and misses nothing.
   * @throws ConfigurationError for a cursor that the store never gave, UnknownId
   */
  stream(options: FeedOptions = {}): AsyncGenerator<FeedEntry, void, undefined> {
    return stream(this.#engine, options);
  }

  /**
   * A task by its id: as it is, then each time it has changed, until it has ended. Or all tasks that fit: as they are, then
   * each that has changed and still fits; those of one run until that has ended, else until the loop is left, the signal
   * aborts or the controller closes. A slow reader gets the newest and not what was between.
   * @throws UnknownId, ConfigurationError
   */
  watch(of: string | TaskSelector, options: WatchOptions = {}): AsyncGenerator<TaskSnapshot, void, undefined> {
    return watch(this.#engine, of, options);
  }

  /** Bodies that were given up on and still run in this process: `lost` tasks whose code may still act. */
  get orphans(): readonly Orphan[] {
    return this.#engine.orphans;
  }

  /** Whether the store takes what is written, how often it did not, and how many bodies were given up on and still run. */
  get health(): Health {
    return this.#engine.health;
  }

  /** The registered names. */
  get names(): { readonly tasks: readonly string[]; readonly pipelines: readonly string[] } {
    return { tasks: this.#registry.taskNames, pipelines: this.#registry.pipelineNames };
  }

  /**
   * Stops what runs within the grace (default 10 s), then lets go of everything. Called again it waits for the same end; a
   * shorter grace brings that nearer.
   * @throws Deadlock inside one of its own tasks
   */
  async close(options: { readonly grace?: Duration } = {}): Promise<void> {
    const { grace } = checkOptions(options, ["grace"], "close");
    await this.#engine.close(grace === undefined ? DEFAULTS.stopGraceMs : parseDuration(grace, "close: grace"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
