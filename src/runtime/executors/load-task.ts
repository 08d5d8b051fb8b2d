import { ConfigurationError } from "../../core/errors.ts";
import { nearestNames } from "../../core/nearest.ts";
import type { TaskBody } from "../../core/ports/executor.ts";

/** Every task that a value exports, by the look of it: `task()` makes objects with a name, options and a function. */
interface Exported {
  readonly name: string;
  readonly run: TaskBody;
}

/**
 * Loads the module and finds the task in it by its name.
 * @throws ConfigurationError when the module does not load, or does not export the task
 */
export async function loadTask(module: string, name: string): Promise<TaskBody> {
  const tasks = Object.values(await load(module, name)).filter(isTask);
  const found = tasks.find((task) => task.name === name);
  if (found !== undefined) return found.run;
  const names = tasks.map((task) => task.name);
  const near = nearestNames(name, names).map((each) => ` Did you mean "${each}"?`);
  throw new ConfigurationError(
    `module ${module} does not export a task named "${name}"; it exports ${names.length === 0 ? "none" : names.map((each) => `"${each}"`).join(", ")}.${near.join("")} A task for threads or processes must be exported from the module it names.`,
  );
}

async function load(module: string, name: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const namespace: unknown = await import(module);
    return typeof namespace === "object" && namespace !== null ? { ...namespace } : {};
  } catch (error) {
    throw new ConfigurationError(`module ${module} of task "${name}" does not load: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function isTask(value: unknown): value is Exported {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "options" in value &&
    "run" in value &&
    typeof value.run === "function"
  );
}
