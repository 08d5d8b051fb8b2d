import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkName } from "../core/graph-names.ts";
import { UPSTREAM_FAILURE_RULES } from "../core/graph.ts";
import type { UpstreamFailureRule } from "../core/graph.ts";
import type { Failure } from "../core/failure.ts";
import type { Join } from "../core/join.ts";
import type { FailedItems } from "../core/map-rules.ts";
import { checkOneOf, checkOptions } from "../core/options.ts";
import type { AggregationPolicy } from "../core/policies/aggregation.ts";
import { resolveAggregationPolicy } from "../core/policies/aggregation.ts";
import type { RetryPolicy } from "../core/policies/retry.ts";
import type { TimeoutPolicy } from "../core/policies/timeout.ts";
import { checkSchema } from "./check-input.ts";
import type { StandardSchema, TupleSchema } from "./standard-schema.ts";
import type { ArgsOf, Task } from "./task.ts";

/** Only in the type: what a node gives to those that read it. */
export const value: unique symbol = Symbol("value");

/**
 * A node of one pipeline under construction. Its name is part of its type: that is what tells two nodes of
 * one result type apart.
 */
export interface PipelineNode<Name extends string = string, Result = unknown> {
  readonly name: Name;
  readonly [value]: () => Result;
}

/** Any node. */
export type AnyNode = PipelineNode;

/** What a node's task returns. */
export type NodeResult<Node> = Node extends PipelineNode<string, infer Result> ? Result : never;

/** Reads an upstream's value. With the default join each has succeeded; with any other one may have no value. */
export type Upstream<Deps extends readonly AnyNode[], J extends Join> = <Node extends Deps[number]>(
  node: Node,
) => J extends "all_succeeded" ? NodeResult<Node> : NodeResult<Node> | undefined;

/** A value, or a function that makes it from the upstreams' values. */
export type Computed<Value, Deps extends readonly AnyNode[], J extends Join> = Value | ((up: Upstream<Deps, J>) => Value);

/** Options of a node. Source §3.3. */
export interface NodeOptions<Name extends string, Deps extends readonly AnyNode[], J extends Join> {
  /** Unique in the pipeline; default: the task's name. */
  readonly name?: Name;
  /** The direct upstreams. */
  readonly deps?: Deps;
  /** What the upstreams' ends must be for it to run; default `all_succeeded`. */
  readonly join?: J;
  /** Asked once the join is met; false: it is skipped. Must answer at once. */
  readonly when?: (up: Upstream<Deps, J>) => boolean;
  /** How it ends when its join can no longer be met; default: the pipeline's. */
  readonly onUpstreamFailure?: UpstreamFailureRule;
  /** In place of the task's own. */
  readonly retry?: RetryPolicy;
  /** In place of the task's own. */
  readonly timeout?: TimeoutPolicy;
}

/** The one argument that a mapped task is called with. */
export type ItemOf<Args extends readonly unknown[]> = Args extends readonly [item?: infer Item, ...rest: infer _Rest] ? Item : never;

/** A mapped task is called with the item alone: whatever follows must be optional. */
export type TakesOneItem<Args extends readonly unknown[]> = Args extends readonly [item?: infer _Item, ...rest: infer Rest]
  ? [] extends Rest
    ? unknown
    : { readonly "a mapped task takes one required argument": never }
  : unknown;

/** What a map makes of its items, beside the options of a node; `retry` and `timeout` there are those of each item. Source §3.3. */
export interface MapOptions<Item, Deps extends readonly AnyNode[], J extends Join, F extends FailedItems> {
  /** One task for each, in this order. Worked out once, when the join is met; must answer at once. Each must be a value that can be stored. */
  readonly items: Computed<readonly Item[], Deps, J>;
  /** At most so many items at once; default: as many as the controller has room for. */
  readonly maxParallel?: number;
  /**
   * What an item that has not succeeded makes of the map: `fail` (default) fails it, once its other items have ended; with
   * `keep` the map succeeds, and the item's place in the result holds its failure.
   */
  readonly failedItems?: F;
}

/** The results in the order of the items. With `keep` the place of an item that has not succeeded holds its failure. */
export type MapResult<Result, F extends FailedItems> = readonly (F extends "keep" ? Result | Failure : Result)[];

/** Adds nodes to a pipeline. Source §3.3. */
export interface PipelineBuilder {
  /**
   * Adds a node that runs a task. `args` may be left out only where the task takes none.
   * @throws ConfigurationError for a name that is taken or a dependency of another pipeline
   */
  add<
    TaskName extends string,
    Args extends readonly unknown[],
    Result,
    const Deps extends readonly AnyNode[] = [],
    const J extends Join = "all_succeeded",
    const Name extends string = TaskName,
  >(
    task: Task<TaskName, Args, Result>,
    ...options: [] extends Args
      ? [options?: NodeOptions<Name, Deps, J> & { readonly args?: Computed<Readonly<NoInfer<Args>>, Deps, J> }]
      : [options: NodeOptions<Name, Deps, J> & { readonly args: Computed<Readonly<NoInfer<Args>>, Deps, J> }]
  ): PipelineNode<Name, Result>;

  /**
   * Adds a node that runs a task once for each item: `name[0]`, `name[1]`, …, each a task of its own with its own id, attempts
   * and verbs. The node itself takes no slot and ends when its items have.
   * @throws ConfigurationError for a name that is taken or a dependency of another pipeline
   */
  map<
    TaskName extends string,
    Args extends readonly unknown[],
    Result,
    const Deps extends readonly AnyNode[] = [],
    const J extends Join = "all_succeeded",
    const Name extends string = TaskName,
    const F extends FailedItems = "fail",
  >(
    task: Task<TaskName, Args, Result> & TakesOneItem<Args>,
    options: NodeOptions<Name, Deps, J> & MapOptions<NoInfer<ItemOf<Args>>, Deps, J, F>,
  ): PipelineNode<Name, MapResult<Result, F>>;
}

/** Options of a pipeline. Source §3.3. */
export interface PipelineOptions {
  /** What the ends of the nodes make of the run; default `failFast()`. */
  readonly onFailure?: AggregationPolicy;
  /** How a node ends when its join can no longer be met; default `cancel`. */
  readonly onUpstreamFailure?: UpstreamFailureRule;
  /** Describes the tuple of parameters: what comes from outside is checked by it. */
  readonly input?: StandardSchema;
}

/** A pipeline: a function of its parameters that builds a static graph for each run. */
export interface Pipeline<Name extends string, Params extends readonly unknown[]> {
  readonly name: Name;
  readonly options: PipelineOptions;
  readonly build: (p: PipelineBuilder, ...params: Params) => void;
}

/** Any pipeline, whatever its parameters. */
export type AnyPipeline = Pipeline<string, never>;

/** What a function may return that has to be done when it returns: no promise. It is not looked at. */
export type AtOnce = void | null | boolean | number | bigint | string | symbol | (object & { readonly then?: never });

/**
 * Defines a pipeline. `build` is called once per run, with the run's parameters, and must return at once.
 * @throws ConfigurationError for a name or option that makes no sense. Source §3.3.
 */
export function definePipeline<const Name extends string, Params extends readonly unknown[], Schema extends TupleSchema | undefined = undefined>(
  name: Name,
  options: PipelineOptions & { readonly input?: Schema },
  build: (p: PipelineBuilder, ...params: ArgsOf<Schema, Params>) => AtOnce,
): Pipeline<Name, ArgsOf<Schema, Params>> {
  checkName(name, "a pipeline's name");
  const { onFailure, onUpstreamFailure = "cancel", input } = checkOptions(options, ["onFailure", "onUpstreamFailure", "input"], `pipeline "${name}"`);
  resolveAggregationPolicy(onFailure, `pipeline "${name}": onFailure`);
  checkOneOf(onUpstreamFailure, UPSTREAM_FAILURE_RULES, `pipeline "${name}": onUpstreamFailure`);
  checkSchema(input, `pipeline "${name}": input`);
  if (typeof build !== "function")
    throw new ConfigurationError(`pipeline "${name}" needs a function (p, ...params) => void as its third argument; found ${describeValue(build)}.`);
  return Object.freeze({ name, options: Object.freeze({ ...options }), build });
}
