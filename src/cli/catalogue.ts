import type { AnyPipeline } from "../api/pipeline.ts";
import type { AnyTask } from "../api/task.ts";
import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, UnknownName } from "../core/errors.ts";
import { nearestNames } from "../core/nearest.ts";
import { findModules } from "./config.ts";
import { importModule } from "./import-module.ts";
import type { Namespace } from "./import-module.ts";
import type { Settings } from "./settings.ts";

/** What the modules register, each in the order of its first export. */
export interface Catalogue {
  readonly tasks: readonly AnyTask[];
  readonly pipelines: readonly AnyPipeline[];
}

/** What a name stands for. */
export type Target = { readonly kind: "task"; readonly task: AnyTask } | { readonly kind: "pipeline"; readonly pipeline: AnyPipeline };

/**
 * Loads the modules and collects the tasks and pipelines they export. This runs their code.
 * @throws ConfigurationError for a module that does not load or exports nothing of ours, or two things of one name
 */
export async function loadCatalogue(settings: Settings): Promise<Catalogue> {
  const { paths, source } = await findModules(settings);
  const tasks = new Map<string, Found<AnyTask>>();
  const pipelines = new Map<string, Found<AnyPipeline>>();
  for (const path of paths) {
    // One after another: the order decides which of two is named first in a complaint.
    const values = exportedValues(await importModule(path, settings.host.loadLimitMs));
    const ours = values.filter((value) => isTask(value) || isPipeline(value));
    if (ours.length === 0)
      throw new ConfigurationError(`module ${path} (from ${source}) exports no task and no pipeline. Export what task(...) and definePipeline(...) give.`);
    for (const value of ours) {
      if (isTask(value)) register(tasks, value, path, "tasks");
      else if (isPipeline(value)) register(pipelines, value, path, "pipelines");
    }
  }
  return { tasks: [...tasks.values()].map(({ item }) => item), pipelines: [...pipelines.values()].map(({ item }) => item) };
}

/**
 * The task or pipeline of that name.
 * @throws UnknownName with the nearest names, ConfigurationError where both kinds have the name
 */
export function findTarget({ tasks, pipelines }: Catalogue, name: string): Target {
  const task = tasks.find((each) => each.name === name);
  const pipeline = pipelines.find((each) => each.name === name);
  if (task !== undefined && pipeline !== undefined)
    throw new ConfigurationError(`both a task and a pipeline are named ${describeValue(name)}. Give one of them another name.`);
  if (task !== undefined) return { kind: "task", task };
  if (pipeline !== undefined) return { kind: "pipeline", pipeline };
  throw new UnknownName(
    "task or pipeline",
    name,
    nearestNames(
      name,
      [...pipelines, ...tasks].map((each) => each.name),
    ),
  );
}

interface Found<Item> {
  readonly item: Item;
  readonly path: string;
}

function register<Item extends { readonly name: string }>(known: Map<string, Found<Item>>, item: Item, path: string, what: string): void {
  const first = known.get(item.name);
  if (first === undefined) known.set(item.name, { item, path });
  else if (first.item !== item)
    throw new ConfigurationError(`two ${what} are named ${describeValue(item.name)}: in ${first.path} and in ${path}. Give one of them another name.`);
}

/** CommonJS modules come with the object they export, also where Node cannot tell its keys. */
function exportedValues(namespace: Namespace): readonly unknown[] {
  const commonJs = namespace["module.exports"];
  const more: readonly unknown[] = typeof commonJs === "object" && commonJs !== null ? Object.values(commonJs) : [];
  return [...new Set<unknown>([...Object.values(namespace), ...more])];
}

/** By its shape, not by its class: the user's copy of the package may be another one than this. */
function isTask(value: unknown): value is AnyTask {
  return hasMember(value, "run");
}

function isPipeline(value: unknown): value is AnyPipeline {
  return hasMember(value, "build");
}

function hasMember(value: unknown, member: "run" | "build"): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    const { name, options, [member]: code }: Readonly<Record<string, unknown>> = { ...value };
    return typeof name === "string" && typeof options === "object" && options !== null && typeof code === "function";
  } catch {
    return false;
  }
}
