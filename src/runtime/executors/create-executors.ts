import { ConfigurationError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { Executor } from "../../core/ports/executor.ts";
import { AsyncExecutor } from "./async.ts";
import { InlineExecutor } from "./inline.ts";
import { ProcessExecutor } from "./process.ts";
import type { ProcessSettings } from "./process.ts";
import type { StrayListener } from "./protocol.ts";
import { ThreadExecutor } from "./thread.ts";
import type { ThreadSettings } from "./thread.ts";

/** Which carriers a controller has. */
export interface CarrierSettings {
  /** The kind for tasks that name none. */
  readonly default: string;
  readonly thread: ThreadSettings;
  readonly process: ProcessSettings;
  /** Executors that are not ours. */
  readonly custom: readonly Executor[];
}

/** The key under which the executor for tasks that name none is found. */
export const DEFAULT_EXECUTOR = "default";

/** One executor of each kind; none of them holds a thread or process until it is used. */
export function createExecutors(clock: Clock, settings: CarrierSettings, strays: StrayListener): ReadonlyMap<string, Executor> {
  const remote = [new ThreadExecutor(clock, settings.thread, strays), new ProcessExecutor(clock, settings.process, strays)];
  const own = [new AsyncExecutor(clock), new InlineExecutor(clock), ...remote];
  const executors = new Map<string, Executor>();
  for (const executor of [...own, ...settings.custom]) {
    if (executors.has(executor.kind)) throw new ConfigurationError(`two executors are of kind "${executor.kind}". Give one of them another kind.`);
    executors.set(executor.kind, executor);
  }
  const usual = executors.get(settings.default);
  if (usual === undefined)
    throw new ConfigurationError(`executor: there is no executor "${settings.default}". There are: ${[...executors.keys()].join(", ")}.`);
  return executors.set(DEFAULT_EXECUTOR, usual);
}
