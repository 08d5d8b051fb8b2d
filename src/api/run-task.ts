import { checkOptions } from "../core/options.ts";
import { resolveConcurrencyPolicy } from "../core/policies/concurrency.ts";
import type { RetryPolicy } from "../core/policies/retry.ts";
import type { TimeoutPolicy } from "../core/policies/timeout.ts";
import type { Clock } from "../core/ports/clock.ts";
import { quietLogger } from "../core/ports/logger.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskStore } from "../core/ports/store.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { isTerminal } from "../core/transitions.ts";
import type { Cell } from "../runtime/cell.ts";
import { until } from "../runtime/control.ts";
import { Engine } from "../runtime/engine.ts";
import { systemClock } from "../runtime/system-clock.ts";
import { memoryStore } from "../stores/memory/store.ts";
import { readCarrierOptions } from "./carrier-options.ts";
import { checkInput } from "./check-input.ts";
import { checkPorts } from "./check-ports.ts";
import { readFolder, readLoopWatch, refuseWhileLoading } from "./options.ts";
import { ownArgs } from "./own-args.ts";
import { POLICY_KEYS, resolveTask } from "./task.ts";
import type { ArgsThen, Task } from "./task.ts";
import { TaskControls } from "./task-controls.ts";
import { TaskHandle } from "./task-handle.ts";

/** Options of `runTask`. */
export interface RunTaskOptions {
  /** In place of the task's own. */
  readonly retry?: RetryPolicy;
  /** In place of the task's own. */
  readonly timeout?: TimeoutPolicy;
  /** The folder for the attempt's files; default: a temporary one that goes with the task. */
  readonly artifacts?: string;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** A number in [0, 1) for jitter; default `Math.random`. */
  readonly random?: () => number;
}

/** The arguments and options of `runTask`: the arguments may be left out only where none is required. */
export type RunTaskRest<Args extends readonly unknown[]> = ArgsThen<Args, RunTaskOptions>;

/**
 * Runs one task under full control without a controller: retries, timeouts, verbs through the handle.
 * It keeps its record in memory, and lets go of everything when the task has ended. Source §5.7.
 * @throws InvalidArguments, ConfigurationError
 */
export async function runTask<Args extends readonly unknown[], Result>(
  task: Task<string, Args, Result>,
  ...rest: RunTaskRest<NoInfer<Args>>
): Promise<TaskHandle<Result>> {
  refuseWhileLoading("runTask");
  const [args = [], options = {}] = rest;
  const { retry, timeout, artifacts, ...ports } = checkOptions(options, ["retry", "timeout", "clock", "logger", "random", "artifacts"], "runTask", POLICY_KEYS);
  checkPorts(ports);
  const definition = resolveTask(task, { retry, timeout });
  const checked = await checkInput(task.name, task.options.input, ownArgs(args, task.name));
  const store = outliving(memoryStore());
  await store.open();
  const { clock = systemClock, logger = quietLogger, random = Math.random } = options;
  const engine = new Engine({
    store,
    concurrency: resolveConcurrencyPolicy({ maxParallel: 1 }),
    clock,
    logger,
    random,
    carriers: readCarrierOptions({ processes: { standby: 0 } }),
    artifacts: readFolder(artifacts, "runTask: artifacts"),
    loopWatch: readLoopWatch(options.clock === undefined),
  });
  try {
    const cell = await engine.submit({ definition, args: checked, priority: 0 });
    const handle = new TaskHandle<Result>(new TaskControls(engine, () => definition), cell);
    void closeAfter(engine, cell);
    return handle;
  } catch (error) {
    await engine.close(0);
    throw error;
  }
}

async function closeAfter(engine: Engine, cell: Cell): Promise<void> {
  // However the waiting ends, nobody hears of it here: whoever asks the handle does.
  await Promise.allSettled([until(cell, isOver(cell))]);
  await engine.close(0);
}

/** Has it ended for good? A lost task may run again by itself once its old body has ended. */
function isOver({ definition }: Cell): (stored: TaskSnapshot) => boolean {
  return ({ status, attempt, maxAttempts }) => isTerminal(status) && !(status === "lost" && definition.retry.retryLost && attempt < maxAttempts);
}

/** The handle may be asked for the result long after the engine has closed. */
function outliving(store: TaskStore): TaskStore {
  return { supports: store.supports, tasks: store.tasks, audit: store.audit, runs: store.runs, open: async () => await store.open(), close: async () => {} };
}
