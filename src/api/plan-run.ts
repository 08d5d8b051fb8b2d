import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, InternalError } from "../core/errors.ts";
import { buildGraph, UPSTREAM_FAILURE_RULES } from "../core/graph.ts";
import type { NodeSpec, UpstreamFailureRule } from "../core/graph.ts";
import { JOINS } from "../core/join.ts";
import { FAILED_ITEMS } from "../core/map-rules.ts";
import type { FailedItems } from "../core/map-rules.ts";
import { checkInteger, checkOneOf, checkOptions, isList } from "../core/options.ts";
import type { Options } from "../core/options.ts";
import { checkAggregation } from "../core/aggregation.ts";
import { resolveAggregationPolicy } from "../core/policies/aggregation.ts";
import type { BucketChoice } from "../runtime/buckets.ts";
import type { MapPlan, NodePlan, RunPlan, UpstreamReader } from "../runtime/run-plan.ts";
import { ownArgs } from "./own-args.ts";
import { value } from "./pipeline.ts";
import type { MapResult, Pipeline, PipelineBuilder, PipelineNode } from "./pipeline.ts";
import { POLICY_KEYS, resolveTask } from "./task.ts";
import type { AnyTask, Task } from "./task.ts";

const COMMON_KEYS = ["name", "deps", "join", "when", "onUpstreamFailure", "retry", "timeout"] as const;
const NODE_KEYS = [...COMMON_KEYS, "args"] as const;
const MAP_KEYS = [...COMMON_KEYS, "items", "maxParallel", "failedItems"] as const;

/** What is particular to one kind of node. */
interface Particulars {
  readonly args: NodePlan["args"];
  readonly map?: MapPlan;
}

/** Collects the nodes of one run. What users pass is read as unknown here, and checked once. */
class Builder implements PipelineBuilder {
  readonly specs: NodeSpec[] = [];
  readonly plans: NodePlan[] = [];
  /** Each task that a node uses, once. */
  readonly tasks = new Set<AnyTask>();
  readonly #made = new WeakSet<object>();
  readonly #onUpstreamFailure: UpstreamFailureRule;
  readonly #priority: number;
  readonly #bucket: BucketChoice | undefined;
  #open = true;

  constructor(parts: { readonly onUpstreamFailure: UpstreamFailureRule; readonly priority: number; readonly bucket: BucketChoice | undefined }) {
    this.#onUpstreamFailure = parts.onUpstreamFailure;
    this.#priority = parts.priority;
    this.#bucket = parts.bucket;
  }

  add<Args extends readonly unknown[], Result, Name extends string>(task: Task<string, Args, Result>, ...rest: readonly unknown[]): PipelineNode<Name, Result> {
    this.#checkCall(task, "p.add");
    const options = checkOptions(rest[0], NODE_KEYS, `node of task "${task.name}"`, POLICY_KEYS);
    return this.#declare(task, options, (label) => ({ args: readArgs(options.args, label) }));
  }

  map<Args extends readonly unknown[], Result, Name extends string, F extends FailedItems>(
    task: Task<string, Args, Result>,
    ...rest: readonly unknown[]
  ): PipelineNode<Name, MapResult<Result, F>> {
    this.#checkCall(task, "p.map");
    const options = checkOptions(rest[0], MAP_KEYS, `map of task "${task.name}"`, POLICY_KEYS);
    return this.#declare(task, options, (label) => ({
      args: readItems(options.items, label),
      map: {
        maxParallel: options.maxParallel === undefined ? null : checkInteger(options.maxParallel, `${label}: maxParallel`, 1),
        failedItems: checkOneOf(options.failedItems ?? "fail", FAILED_ITEMS, `${label}: failedItems`),
      },
    }));
  }

  #checkCall(task: unknown, method: string): void {
    if (!this.#open)
      throw new ConfigurationError(`${method} was called after the pipeline was built. Add all nodes before build returns; it must not be async.`);
    checkTask(task, method);
  }

  #declare<Name extends string, Value>(
    task: AnyTask,
    options: Options<(typeof COMMON_KEYS)[number]>,
    particulars: (label: string) => Particulars,
  ): PipelineNode<Name, Value> {
    const name = options.name === undefined ? task.name : options.name;
    const label = `node ${describeValue(name)}`;
    const definition = resolveTask(task, { retry: options.retry, timeout: options.timeout });
    this.tasks.add(task);
    const node = this.#node<Name, Value>(name);
    const particular = particulars(label);
    this.specs.push({
      name: node.name,
      deps: this.#depNames(options.deps, label),
      join: checkOneOf(options.join ?? "all_succeeded", JOINS, `${label}: join`),
      onUpstreamFailure: checkOneOf(options.onUpstreamFailure ?? this.#onUpstreamFailure, UPSTREAM_FAILURE_RULES, `${label}: onUpstreamFailure`),
      hasCondition: options.when !== undefined,
      kind: particular.map === undefined ? "task" : "map",
    });
    this.plans.push({ name: node.name, definition, priority: this.#priority, bucket: this.#bucket, ...particular, when: readWhen(options.when, label) });
    return node;
  }

  close(): void {
    this.#open = false;
  }

  #node<Name extends string, Result>(name: unknown): PipelineNode<Name, Result> {
    const node = Object.freeze({
      // The graph refuses a name that is no printable text; the type says which one it is.
      name: name as Name,
      [value]: (): never => {
        throw new InternalError("a node carries its result's type only; read its value with up(node).");
      },
    });
    this.#made.add(node);
    return node;
  }

  #depNames(deps: unknown, label: string): readonly string[] {
    if (deps === undefined) return [];
    if (!isList(deps)) throw new ConfigurationError(`${label}: deps must be a list of nodes; found ${describeValue(deps)}.`);
    return deps.map((dep) => {
      if (typeof dep !== "object" || dep === null || !this.#made.has(dep) || !("name" in dep) || typeof dep.name !== "string") {
        throw new ConfigurationError(`${label}: each of deps must be a node that p.add or p.map gave in this very build; found ${describeValue(dep)}.`);
      }
      return dep.name;
    });
  }
}

function checkTask(task: unknown, method: string): void {
  if (
    typeof task === "object" &&
    task !== null &&
    "run" in task &&
    typeof task.run === "function" &&
    "name" in task &&
    typeof task.name === "string" &&
    "options" in task
  )
    return;
  throw new ConfigurationError(`${method} takes a task made by task(...) as its first argument; found ${describeValue(task)}.`);
}

function readArgs(args: unknown, label: string): NodePlan["args"] {
  if (args === undefined) return [];
  if (typeof args === "function") return (up: UpstreamReader): unknown => Reflect.apply(args, undefined, [up]);
  if (isList(args)) return ownArgs(args, label);
  throw new ConfigurationError(`${label}: args must be the tuple of arguments, or a function that returns it; found ${describeValue(args)}.`);
}

/** As a function also where the list is given, so that it is stored when the map begins, like any other. */
function readItems(items: unknown, label: string): NodePlan["args"] {
  if (typeof items === "function") return (up: UpstreamReader): unknown => [checkedItems(Reflect.apply(items, undefined, [up]))];
  if (!isList(items)) throw new ConfigurationError(`${label}: items must be a list, or a function that returns one; found ${describeValue(items)}.`);
  const list = ownArgs(items, label, "items");
  return () => [list];
}

/** A copy: what is done to the list afterwards is not done to the map. */
function checkedItems(items: unknown): readonly unknown[] {
  if (isList(items)) return [...items];
  // An async function is refused where it stands; its own rejection would be nobody's.
  if (items instanceof Promise) items.catch(() => undefined);
  throw new ConfigurationError(`items must return a list, at once; it returned ${describeValue(items)}. Do slow work in a task above the map.`);
}

function readWhen(when: unknown, label: string): NodePlan["when"] {
  if (when === undefined) return null;
  if (typeof when === "function") return (up: UpstreamReader): unknown => Reflect.apply(when, undefined, [up]);
  throw new ConfigurationError(`${label}: when must be a function that returns true or false; found ${describeValue(when)}.`);
}

/** How a run is planned. */
export interface PlanOptions {
  readonly priority: number;
  /** Default: none. */
  readonly bucket?: BucketChoice;
  /** Called with each task that a node uses, once the whole graph is checked. */
  readonly use: (task: AnyTask) => void;
}

/**
 * Builds the pipeline for one run: names, dependencies, cycles and policies are checked before anything is
 * stored.
 * @throws ConfigurationError, CircularDependency. Source §3.3.
 */
export function planRun<Params extends readonly unknown[]>(
  pipeline: Pipeline<string, Params>,
  params: readonly unknown[],
  { priority, bucket, use }: PlanOptions,
): RunPlan {
  const { name, options } = pipeline;
  const onUpstreamFailure = checkOneOf(options.onUpstreamFailure ?? "cancel", UPSTREAM_FAILURE_RULES, `pipeline "${name}": onUpstreamFailure`);
  const builder = new Builder({ onUpstreamFailure, priority, bucket });
  const returned: unknown = Reflect.apply(pipeline.build, undefined, [builder, ...params]);
  builder.close();
  if (returned instanceof Promise) {
    returned.catch(() => undefined);
    throw new ConfigurationError(`pipeline "${name}": build returned a promise. It must add its nodes at once; do slow work in a task.`);
  }
  const aggregation = resolveAggregationPolicy(options.onFailure, `pipeline "${name}": onFailure`);
  checkAggregation(aggregation, builder.specs.length);
  const graph = buildGraph(builder.specs);
  for (const task of builder.tasks) use(task);
  return { pipeline: name, params, graph, nodes: builder.plans, aggregation, priority };
}
