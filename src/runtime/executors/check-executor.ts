import { ConfigurationError } from "../../core/errors.ts";
import type { Executor } from "../../core/ports/executor.ts";
import { uncloneable } from "../clone.ts";
import type { TaskDefinition } from "../task-definition.ts";

/**
 * Can the task run here at all? Asked before anything is stored.
 * @param args those that are known already; `undefined`: none yet
 * @throws ConfigurationError for a kind that is not there, a task that cannot reach its carrier, or arguments that cannot
 */
export function checkExecutor(
  { executor, name, module }: Pick<TaskDefinition, "executor" | "name" | "module">,
  executors: ReadonlyMap<string, Executor>,
  args: readonly unknown[] | undefined,
): void {
  const found = executors.get(executor);
  if (found === undefined) throw noExecutor(executor, executors);
  if (found.supports.closures) return;
  if (module !== null) return checkCarried(args);
  throw new ConfigurationError(
    `task "${name}" is to run in a ${found.kind} and does not say from which module it can be loaded there. Export it, and give it module: import.meta.url.`,
  );
}

/** What can be stored can be carried, but for a few kinds of objects, such as a `URL`. */
function checkCarried(args: readonly unknown[] | undefined): void {
  if (args === undefined || args.length === 0) return;
  try {
    structuredClone(args);
  } catch (error) {
    throw uncloneable(args, "args", error);
  }
}

/** There is no executor of that kind. */
export function noExecutor(kind: string, executors: ReadonlyMap<string, Executor>): ConfigurationError {
  const kinds = [...new Set([...executors.values()].map((executor) => executor.kind))];
  return new ConfigurationError(`there is no executor "${kind}". There are: ${kinds.join(", ")}.`);
}
