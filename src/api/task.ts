import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkName } from "../core/graph-names.ts";
import { checkOneOf, checkOptions, isList } from "../core/options.ts";
import type { RetryPolicy } from "../core/policies/retry.ts";
import { resolveRetryPolicy, RETRY_KEYS } from "../core/policies/retry.ts";
import type { TimeoutPolicy } from "../core/policies/timeout.ts";
import { resolveTimeoutPolicy, TIMEOUT_KEYS } from "../core/policies/timeout.ts";
import type { TaskHooks } from "../core/ports/hooks.ts";
import type { TaskContext } from "../core/ports/task-context.ts";
import type { TaskDefinition } from "../runtime/task-definition.ts";
import { checkSchema } from "./check-input.ts";
import { readHooks } from "./hooks.ts";
import type { StandardSchema, TupleSchema } from "./standard-schema.ts";

/** Options of a task. Source §3.3. */
export type TaskOptions<Name extends string = string> = TaskSettings<Name> & CarrierChoice;

/**
 * Where the code of a task runs. `async` (default): on this process's event loop. `inline`: in the dispatch turn
 * itself, without pause. Neither may call `process.exit`: it would take the whole process down. `thread` and
 * `process`: outside this thread, where it blocks nobody and can be ended for certain; they load the task from its
 * module, so it must say which: `module: import.meta.url`. Any other kind is one given to the controller. Source §13.2.
 */
export type CarrierChoice =
  | { readonly executor: "thread" | "process"; readonly module: string }
  | { readonly executor?: "inline" | "async" | OtherKind; readonly module?: string };

/** The kind of an executor that is not ours; the types cannot know which there are. */
export type OtherKind = `custom:${string}`;

/** What every task can say of itself. */
export interface TaskSettings<Name extends string = string> {
  /** Unique in a controller; what people and other processes call it by. */
  readonly name: Name;
  /** Default: one attempt. */
  readonly retry?: RetryPolicy;
  /** Default: none. */
  readonly timeout?: TimeoutPolicy;
  /** For named limits (`concurrency.limits`) and for finding it again. */
  readonly tags?: readonly string[];
  /** Describes the tuple of arguments: what comes from outside is checked by it, and the parsed value is stored. */
  readonly input?: StandardSchema;
}

/** A task as defined: what to run and how. It holds no execution state and may be called directly in tests. Source §3.3, §13.3. */
export interface Task<Name extends string, Args extends readonly unknown[], Result> {
  readonly name: Name;
  readonly options: TaskOptions<Name>;
  readonly run: (ctx: TaskContext, ...args: Args) => Result | PromiseLike<Result>;
  /** What is called at its steps, wherever it runs; what `onSuccess` takes is a `Result`. */
  readonly hooks?: TaskHooks<never> | undefined;
}

/** Any task, whatever its arguments and result. */
export type AnyTask = Task<string, never, unknown>;

/** What a task's code returns in the end. */
export type TaskResult<T> = T extends Task<string, never, infer Result> ? Result : never;

/** What the schema gives out, or where there is none what the function takes. */
export type ArgsOf<Schema, Args extends readonly unknown[]> = Schema extends StandardSchema<unknown, infer Parsed extends readonly unknown[]> ? Parsed : Args;

/**
 * Hooks of a task with such a result. `never` is also what the result is while the function has not been looked at: hooks are
 * judged when it has, so that a mistake in them is not told of as one of the function.
 */
export type HooksOf<Result> = TaskHooks<Result> | ([Result] extends [never] ? object : never);

/** The tuple of arguments, which may be left out only where none is required, then the options. */
export type ArgsThen<Args extends readonly unknown[], Options> = [] extends Args
  ? [args?: Readonly<Args>, options?: Options]
  : [args: Readonly<Args>, options?: Options];

const KEYS = ["name", "executor", "module", "retry", "timeout", "tags", "input"] as const;

/** The options of the policies of a task, wherever they can be given. */
export const POLICY_KEYS = { retry: RETRY_KEYS, timeout: TIMEOUT_KEYS } as const;

/**
 * Defines a task. The context comes first, the arguments after it; their types flow on to `submit`, `add`
 * and `result`. With an `input` schema they have the types that the schema gives out. `hooks` stand behind the function,
 * where its result type is known.
 * @throws ConfigurationError for a name, option or policy that makes no sense. Source §3.3.
 */
export function task<const Name extends string, Args extends readonly unknown[], Result = never, Schema extends TupleSchema | undefined = undefined>(
  options: TaskOptions<Name> & { readonly input?: Schema },
  run: (ctx: TaskContext, ...args: ArgsOf<Schema, Args>) => Result | PromiseLike<Result>,
  hooks?: HooksOf<NoInfer<Result>>,
): Task<Name, ArgsOf<Schema, Args>, Result> {
  if (typeof options !== "object" || options === null) {
    throw new ConfigurationError(`the first argument of task() must be its options, such as { name: "extract" }; found ${describeValue(options)}.`);
  }
  const { name, input } = checkOptions(options, KEYS, typeof options.name === "string" ? `task ${describeValue(options.name)}` : "task", POLICY_KEYS);
  checkName(name, "a task's name");
  checkSchema(input, `task "${options.name}": input`);
  if (typeof run !== "function")
    throw new ConfigurationError(`task "${options.name}" needs a function (ctx, ...args) => result as its second argument; found ${describeValue(run)}.`);
  const read = readHooks(hooks, `task "${options.name}": hooks`);
  const defined = Object.freeze({ name: options.name, options: Object.freeze({ ...options }), run, ...(read === null ? {} : { hooks: read }) });
  // Checked now, so that a bad option is found where it stands.
  resolveTask(defined, {});
  return defined;
}

/** What a submit or a node puts in place of a task's own options; unchecked. */
export interface TaskOverrides {
  readonly retry?: unknown;
  readonly timeout?: unknown;
  readonly tags?: unknown;
}

/** The task with its options checked, overrides on top, defaults filled in. */
export function resolveTask<Name extends string, Args extends readonly unknown[], Result>(
  task: Task<Name, Args, Result>,
  overrides: TaskOverrides,
): TaskDefinition {
  if (overrides.retry !== undefined || overrides.timeout !== undefined || overrides.tags !== undefined) return checkedTask(task, overrides);
  const known = RESOLVED.get(task);
  if (known !== undefined) return known;
  const definition = checkedTask(task, overrides);
  // One made by hand may change; what `task` makes cannot.
  if (Object.isFrozen(task)) RESOLVED.set(task, definition);
  return definition;
}

/** Tasks as they are, without overrides: checked once, and shared by all that is submitted. */
const RESOLVED = new WeakMap<object, TaskDefinition>();

function checkedTask<Name extends string, Args extends readonly unknown[], Result>(
  { name, options, run, hooks }: Task<Name, Args, Result>,
  overrides: TaskOverrides,
): TaskDefinition {
  const label = `task "${name}"`;
  return Object.freeze({
    name,
    // The arguments were typed where they were given; the runtime hands them through untouched.
    run: (ctx: TaskContext, ...args: readonly unknown[]): unknown => Reflect.apply(run, undefined, [ctx, ...args]),
    executor: checkExecutor(options.executor, label),
    module: checkModule(options, label),
    retry: resolveRetryPolicy(givenOr(overrides.retry, options.retry), `${label}: retry`),
    timeout: resolveTimeoutPolicy(givenOr(overrides.timeout, options.timeout), `${label}: timeout`),
    tags: checkTags(givenOr(overrides.tags, options.tags ?? []), `${label}: tags`),
    hooks: readHooks(hooks, `${label}: hooks`),
  });
}

/** `undefined` alone leaves the task's own: `null` is a mistake, and is said to be one. */
function givenOr(given: unknown, own: unknown): unknown {
  return given === undefined ? own : given;
}

const OWN_KINDS = ["async", "inline", "thread", "process"] as const;

/** `default`: the controller's. */
function checkExecutor(executor: unknown, label: string): string {
  if (executor === undefined) return "default";
  if (typeof executor === "string" && executor.startsWith("custom:")) return executor;
  return checkOneOf(executor, OWN_KINDS, `${label}: executor`);
}

function checkModule({ executor, module }: { readonly executor?: unknown; readonly module?: unknown }, label: string): string | null {
  if (module === undefined) {
    if (executor !== "thread" && executor !== "process") return null;
    throw new ConfigurationError(
      `${label} runs in a ${executor} and must say from which module it can be loaded there: add module: import.meta.url, and export the task.`,
    );
  }
  if (typeof module === "string" && URL.canParse(module)) return module;
  throw new ConfigurationError(`${label}: module must be the URL of the module that exports it, import.meta.url; found ${describeValue(module)}.`);
}

function checkTags(tags: unknown, name: string): readonly string[] {
  if (!isList(tags)) throw new ConfigurationError(`${name} must be a list of strings; found ${describeValue(tags)}.`);
  const known = new Set<string>();
  for (const tag of tags) {
    if (typeof tag !== "string" || tag.trim() === "")
      throw new ConfigurationError(`${name}: each tag must be a non-empty string; found ${describeValue(tag)}.`);
    known.add(tag);
  }
  return Object.freeze([...known]);
}
