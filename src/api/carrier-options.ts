import { availableParallelism } from "node:os";
import type { ResourceLimits } from "node:worker_threads";
import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkBoolean, checkInteger, checkOptions, isList, readPlainObject } from "../core/options.ts";
import type { Executor } from "../core/ports/executor.ts";
import type { CarrierSettings } from "../runtime/executors/create-executors.ts";

/** How worker threads are kept. */
export interface ThreadOptions {
  /** How many idle workers are kept warm; default: the number of CPUs, at most 4. An integer ≥ 0. */
  readonly keep?: number;
  /** After so many tasks a worker is retired, whatever it leaked; default 1,000. */
  readonly maxTasks?: number;
  /** Limits of each worker, as `worker_threads` takes them; going over `maxOldGenerationSizeMb` usually fails that task alone, and sometimes ends this whole process. */
  readonly resourceLimits?: ResourceLimits;
}

/** How child processes are kept. */
export interface ProcessOptions {
  /** How many are started ahead with the modules loaded; default 1. An integer ≥ 0. */
  readonly standby?: number;
  /** Let a child run task after task; default false: each is used once, so that nothing of one task reaches the next. */
  readonly reuse?: boolean;
  /** With `reuse`: after so many tasks a child is retired; default 1,000. */
  readonly maxTasks?: number;
  /** Options for Node in the child; default: this process's own, less those that debug or evaluate. */
  readonly execArgv?: readonly string[];
}

/** Options of a controller that concern its carriers. */
export interface CarrierOptions {
  /** Where tasks that name no executor run; default `async`. */
  readonly executor?: string;
  readonly threads?: ThreadOptions;
  readonly processes?: ProcessOptions;
  /** Executors of your own; a task names one by its kind, which begins with `custom:`. */
  readonly executors?: readonly Executor[];
}

/** Where tasks that name no executor run, where the controller names none either. */
export const DEFAULT_KIND = "async";

const DEFAULT_MAX_TASKS = 1_000;
const MOST_KEPT_BY_DEFAULT = 4;

/** Options of Node that belong to this process and not to its children. */
const NOT_INHERITED = /^--?(inspect|debug|test|watch|e$|eval|p$|pe$|print|i$|interactive|c$|check|cpu-prof|heap-prof|prof|run|input-type)/;

/** Their value is the next word, whatever it looks like. */
const WITH_A_VALUE = new Set(["-e", "--eval", "-p", "--print", "-pe"]);

/** What the options that are objects have inside. */
export const CARRIER_KEYS = {
  threads: ["keep", "maxTasks", "resourceLimits"],
  processes: ["standby", "reuse", "maxTasks", "execArgv"],
} as const satisfies { readonly threads: readonly (keyof ThreadOptions)[]; readonly processes: readonly (keyof ProcessOptions)[] };

/** Checks the options; nothing is clamped. */
export function readCarrierOptions({
  executor = DEFAULT_KIND,
  threads,
  processes,
  executors = [],
}: Readonly<Partial<Record<keyof CarrierOptions, unknown>>>): CarrierSettings {
  if (typeof executor !== "string") throw new ConfigurationError(`executor must be the kind of an executor; found ${describeValue(executor)}.`);
  return { default: executor, thread: readThreads(threads), process: readProcesses(processes), custom: readExecutors(executors) };
}

function readThreads(value: unknown): CarrierSettings["thread"] {
  const {
    keep = Math.min(MOST_KEPT_BY_DEFAULT, availableParallelism()),
    maxTasks = DEFAULT_MAX_TASKS,
    resourceLimits,
  } = checkOptions(value, CARRIER_KEYS.threads, "threads", { resourceLimits: LIMITS });
  return {
    keep: checkInteger(keep, "threads.keep", 0),
    maxTasks: checkInteger(maxTasks, "threads.maxTasks", 1),
    resourceLimits: readLimits(resourceLimits),
  };
}

const LIMITS = ["maxOldGenerationSizeMb", "maxYoungGenerationSizeMb", "codeRangeSizeMb", "stackSizeMb"] as const;

function readLimits(value: unknown): ResourceLimits {
  const given = checkOptions(value, LIMITS, "threads.resourceLimits");
  const limits: ResourceLimits = {};
  for (const key of LIMITS) if (given[key] !== undefined) limits[key] = checkInteger(given[key], `threads.resourceLimits.${key}`, 1);
  return limits;
}

function readProcesses(value: unknown): CarrierSettings["process"] {
  const { standby = 1, reuse = false, maxTasks = DEFAULT_MAX_TASKS, execArgv } = checkOptions(value, CARRIER_KEYS.processes, "processes");
  return {
    standby: checkInteger(standby, "processes.standby", 0),
    reuse: checkBoolean(reuse, "processes.reuse"),
    maxTasks: checkInteger(maxTasks, "processes.maxTasks", 1),
    execArgv: execArgv === undefined ? inherited(process.execArgv) : readWords(execArgv),
  };
}

function readWords(value: unknown): readonly string[] {
  if (isList(value)) {
    const words = value.filter((word) => typeof word === "string");
    if (words.length === value.length) return words;
  }
  throw new ConfigurationError(`processes.execArgv must be a list of texts; found ${describeValue(value)}.`);
}

function inherited(execArgv: readonly string[]): readonly string[] {
  return execArgv.filter((word, index) => !NOT_INHERITED.test(word) && !isValueOfDropped(word, execArgv[index - 1] ?? ""));
}

/** Left behind, a value would be taken for the file to run. */
function isValueOfDropped(word: string, before: string): boolean {
  return WITH_A_VALUE.has(before) || (!word.startsWith("-") && NOT_INHERITED.test(before) && !before.includes("="));
}

function readExecutors(value: unknown): readonly Executor[] {
  if (!isList(value)) throw new ConfigurationError(`executors must be a list; found ${describeValue(value)}.`);
  return value.map((executor, index) => {
    if (isExecutor(executor)) return executor;
    throw new ConfigurationError(
      `executors[${index}] must have a kind that begins with "custom:", its supports, launch and close; found ${describeValue(executor)}.`,
    );
  });
}

function isExecutor(value: unknown): value is Executor {
  if (typeof value !== "object" || value === null || !("kind" in value) || !("supports" in value) || !("launch" in value) || !("close" in value)) return false;
  const supports = readPlainObject(value.supports, "supports");
  return (
    typeof value.kind === "string" &&
    value.kind.startsWith("custom:") &&
    typeof supports["pause"] === "boolean" &&
    typeof value.launch === "function" &&
    typeof value.close === "function"
  );
}
