import { ConfigurationError } from "../../core/errors.ts";
import { reviveError } from "../../core/error-record.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CarriedTask, ExecutionHandle, Executor, ExecutorSupports, LaunchRequest } from "../../core/ports/executor.ts";
import { formatDuration } from "../../core/duration.ts";
import { uncloneable } from "../clone.ts";
import type { CarrierPool, PooledLink } from "./carrier-pool.ts";
import type { Job, StrayListener, TaskAddress } from "./protocol.ts";
import { RemoteHandle } from "./remote-handle.ts";

/** A module that takes longer than this to load on opening is reported, not waited for. */
const LOAD_TAKES_AT_MOST_MS = 30_000;

/** What threads and processes share: finding the task by module and name, a pool, a handle. */
export abstract class RemoteExecutor<Link extends PooledLink> implements Executor {
  abstract readonly kind: string;
  abstract readonly supports: ExecutorSupports;
  /** How its carrier is called in messages. */
  protected abstract readonly word: string;
  protected abstract readonly pool: CarrierPool<Link>;
  protected readonly clock: Clock;
  readonly #strays: StrayListener;
  /** The task that a carrier was given last. */
  readonly #last = new WeakMap<Link, { readonly taskId: string; readonly name: string }>();

  constructor(clock: Clock, strays: StrayListener = () => {}) {
    this.clock = clock;
    this.#strays = strays;
  }

  /** Made ahead of its first task. */
  protected abstract make(): Link;

  /** Loads each module once where it will run, and sees that the tasks are there. */
  async prepare(tasks: readonly CarriedTask[]): Promise<void> {
    const addresses = tasks.map((task) => this.#address(task));
    if (addresses.length === 0) return;
    const link = this.make();
    try {
      await this.#load(link, addresses);
    } catch (error) {
      this.pool.drop(link);
      throw error;
    }
    this.pool.add(link);
  }

  launch(request: LaunchRequest): ExecutionHandle {
    const { module } = this.#address(request);
    const link = this.pool.take();
    const earlier = this.#last.get(link) ?? null;
    this.#last.set(link, { taskId: request.taskId, name: request.name });
    const handle = new RemoteHandle(this.clock, request, {
      link,
      job: jobOf(request, module),
      word: this.word,
      giveBack: () => this.#giveBack(link),
      // The handle goes on listening: it is told when an abandoned body ends after all.
      discard: () => this.pool.drop(link),
      refusal: (error) => uncloneable(request.args, "args", error, link.copies?.bind(link)),
      earlier,
      earlierStray: this.#strays,
    });
    handle.begin();
    return handle;
  }

  async close(): Promise<void> {
    await this.pool.close();
  }

  /** A task has ended; what it left behind may still go wrong. */
  #giveBack(link: Link): void {
    this.pool.giveBack(link);
    link.listener = {
      message: (message) => {
        if (message.type === "stray") this.#strays(message.taskId, message.attempt, reviveError(message.error));
      },
      exited: () => {},
    };
  }

  #address({ name, module }: CarriedTask): TaskAddress {
    if (module !== null) return { module, name };
    throw new ConfigurationError(
      `task "${name}" is to run in a ${this.word} and does not say from which module it can be loaded there. Export it, and give it module: import.meta.url.`,
    );
  }

  async #load(link: Link, tasks: readonly TaskAddress[]): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const modules = [...new Set(tasks.map((task) => task.module))].join(", ");
    link.listener = {
      message: (message) => {
        if (message.type !== "loaded") return;
        if (message.error === null) resolve();
        else reject(new ConfigurationError(message.error.failure.message, { cause: reviveError(message.error) }));
      },
      exited: ({ exitCode, signal, reason }) =>
        reject(new ConfigurationError(`a ${this.word} that loaded ${modules} ${reason ?? `ended with ${signal ?? `code ${exitCode ?? "unknown"}`}`}.`)),
    };
    const timer = this.clock.setTimer(LOAD_TAKES_AT_MOST_MS, () =>
      reject(new ConfigurationError(`${modules} did not finish loading in a ${this.word} within ${formatDuration(LOAD_TAKES_AT_MOST_MS)}.`)),
    );
    link.hold();
    link.post({ type: "load", tasks });
    try {
      await promise;
    } finally {
      timer.cancel();
      link.listener = null;
    }
  }
}

function jobOf(request: LaunchRequest, module: string): Job {
  const { taskId, pipelineRunId, name, attempt, fencingToken, args, saved, artifacts, startMs, idleMs } = request;
  const activeGapMs = idleMs === null ? null : Math.min(250, idleMs / 20);
  const job = {
    taskId,
    pipelineRunId,
    name,
    attempt,
    fencingToken,
    module,
    args,
    deadlineAt: request.deadlineAt(),
    asksToBegin: startMs !== null,
    activeGapMs,
    artifacts,
  };
  // What is not there is left out, not said: only then it is JSON.
  return saved === undefined ? job : { ...job, saved };
}
