import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, UnknownName } from "../core/errors.ts";
import { checkOptions, isList } from "../core/options.ts";
import { nearestNames } from "../core/nearest.ts";
import type { TaskDefinition } from "../runtime/task-definition.ts";
import type { AnyPipeline } from "./pipeline.ts";
import { resolveTask } from "./task.ts";
import type { AnyTask } from "./task.ts";

interface Entry {
  readonly task: object;
  readonly definition: TaskDefinition;
}

/** What may be run here, by name: a control plane takes names, never code. Source §14.3. */
export class Registry {
  readonly #tasks = new Map<string, Entry & { readonly given: AnyTask }>();
  /** Tasks that only nodes of pipelines use. */
  readonly #nodeTasks = new Map<string, Entry>();
  readonly #pipelines = new Map<string, AnyPipeline>();
  /** Those that no run has built yet. */
  readonly #unbuilt = new Set<AnyPipeline>();

  constructor(tasks: unknown, pipelines: unknown) {
    for (const given of checkList<AnyTask>(tasks, "tasks", ["run", "options"], "task(...)")) {
      if (this.#tasks.has(given.name)) throw new ConfigurationError(`two tasks are named ${describeValue(given.name)}. Give one of them another name.`);
      this.#tasks.set(given.name, { task: given, given, definition: resolveTask(given, {}) });
    }
    for (const pipeline of checkList<AnyPipeline>(pipelines, "pipelines", ["build", "options"], "definePipeline(...)")) {
      if (this.#pipelines.has(pipeline.name))
        throw new ConfigurationError(`two pipelines are named ${describeValue(pipeline.name)}. Give one of them another name.`);
      this.#pipelines.set(pipeline.name, pipeline);
      this.#unbuilt.add(pipeline);
    }
  }

  /** Of the registered tasks. */
  get definitions(): readonly TaskDefinition[] {
    return [...this.#tasks.values()].map((entry) => entry.definition);
  }

  get taskNames(): readonly string[] {
    return [...this.#tasks.keys()];
  }

  get pipelineNames(): readonly string[] {
    return [...this.#pipelines.keys()];
  }

  /** @throws UnknownName, or ConfigurationError where another task of that name is registered. */
  task(asked: string | AnyTask): AnyTask {
    const name = typeof asked === "string" ? asked : nameOf(asked, "a task or its name");
    const entry = this.#tasks.get(name);
    if (entry === undefined) throw new UnknownName("task", name, nearestNames(name, this.#tasks.keys()));
    if (typeof asked !== "string" && entry.task !== asked)
      throw new ConfigurationError(`another task named ${describeValue(name)} is registered here. Submit that one, or give this one a name of its own.`);
    return entry.given;
  }

  /** @throws UnknownName, or ConfigurationError where another pipeline of that name is registered. */
  pipeline(asked: string | AnyPipeline): AnyPipeline {
    const name = typeof asked === "string" ? asked : nameOf(asked, "a pipeline or its name");
    const pipeline = this.#pipelines.get(name);
    if (pipeline === undefined) throw new UnknownName("pipeline", name, nearestNames(name, this.#pipelines.keys()));
    if (typeof asked !== "string" && pipeline !== asked) throw new ConfigurationError(`another pipeline named ${describeValue(name)} is registered here.`);
    return pipeline;
  }

  /**
   * The definition of a task by its name, with what its submit put in place of its own options.
   * @param overrides as stored; `null`: nothing
   */
  definition(name: string, overrides: unknown): TaskDefinition {
    const registered = this.#tasks.get(name);
    const entry = registered ?? this.#nodeTasks.get(name);
    if (entry === undefined) throw new UnknownName("task", name, nearestNames(name, this.#tasks.keys()));
    if (overrides === null || registered === undefined) return entry.definition;
    const { retry, timeout, tags } = checkOptions(overrides, ["retry", "timeout", "tags"], `task "${name}": stored overrides`);
    return resolveTask(registered.given, { retry, timeout, tags });
  }

  /** @throws UnknownName where no task of that name is known, registered or used by a node. */
  checkTaskName(name: string): void {
    if (!this.#tasks.has(name) && !this.#nodeTasks.has(name))
      throw new UnknownName("task", name, nearestNames(name, [...this.#tasks.keys(), ...this.#nodeTasks.keys()]));
  }

  /** Of every task that is registered, or that a node has used. */
  get tags(): ReadonlySet<string> {
    return new Set([...this.#tasks.values(), ...this.#nodeTasks.values()].flatMap(({ definition }) => definition.tags));
  }

  /** There are pipelines whose nodes nobody knows yet. */
  get hasUnbuilt(): boolean {
    return this.#unbuilt.size > 0;
  }

  /** A run has built it: its nodes have been told of. */
  built(pipeline: AnyPipeline): void {
    this.#unbuilt.delete(pipeline);
  }

  /** A node of a pipeline uses this task: two different ones must not share a name. */
  use(task: AnyTask): void {
    const known = this.#tasks.get(task.name) ?? this.#nodeTasks.get(task.name);
    if (known === undefined) this.#nodeTasks.set(task.name, { task, definition: resolveTask(task, {}) });
    else if (known.task !== task) throw new ConfigurationError(`two different tasks are named ${describeValue(task.name)}. Give one of them another name.`);
  }
}

function nameOf(value: unknown, what: string): string {
  if (typeof value === "object" && value !== null && "name" in value && typeof value.name === "string") return value.name;
  throw new ConfigurationError(`expected ${what}; found ${describeValue(value)}.`);
}

function checkList<Item extends { readonly name: string }>(value: unknown, name: string, members: readonly string[], maker: string): readonly Item[] {
  if (value === undefined) return [];
  if (!isList(value)) throw new ConfigurationError(`${name} must be a list; found ${describeValue(value)}.`);
  for (const item of value) {
    const made = typeof item === "object" && item !== null && "name" in item && typeof item.name === "string" && members.every((member) => member in item);
    if (!made) throw new ConfigurationError(`${name}: each must be made by ${maker}; found ${describeValue(item)}.`);
  }
  return value as readonly Item[];
}
