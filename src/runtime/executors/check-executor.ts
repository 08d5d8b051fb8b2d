import { ConfigurationError } from "../../core/errors.ts";
import type { Executor } from "../../core/ports/executor.ts";
import type { TaskDefinition } from "../task-definition.ts";

/**
 * Can the task run here at all? Asked before anything is stored.
 * @throws ConfigurationError for a kind that is not there, or a task that cannot reach its carrier
 */
export function checkExecutor(
  { executor, name, module }: Pick<TaskDefinition, "executor" | "name" | "module">,
  executors: ReadonlyMap<string, Executor>,
): void {
  const found = executors.get(executor);
  if (found === undefined) throw noExecutor(executor, executors);
  if (found.supports.closures || module !== null) return;
  throw new ConfigurationError(
    `task "${name}" is to run in a ${found.kind} and does not say from which module it can be loaded there. Export it, and give it module: import.meta.url.`,
  );
}

/** There is no executor of that kind. */
export function noExecutor(kind: string, executors: ReadonlyMap<string, Executor>): ConfigurationError {
  const kinds = [...new Set([...executors.values()].map((executor) => executor.kind))];
  return new ConfigurationError(`there is no executor "${kind}". There are: ${kinds.join(", ")}.`);
}
