import type { Duration } from "../core/duration.ts";
import { parseDuration, parsePositiveDuration } from "../core/duration.ts";
import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { TaskEventType } from "../core/events.ts";
import { EVENT_TYPES } from "../core/events.ts";
import type { By, GivenOutcome } from "../core/lifecycle-events.ts";
import { checkBoolean, checkInteger, checkOneOf, checkOptions, isList } from "../core/options.ts";
import type { Options } from "../core/options.ts";
import type { ConcurrencyPolicy } from "../core/policies/concurrency.ts";
import type { RetryPolicy } from "../core/policies/retry.ts";
import type { TimeoutPolicy } from "../core/policies/timeout.ts";
import type { Clock } from "../core/ports/clock.ts";
import { HOOK_NAMES } from "../core/ports/hooks.ts";
import type { TaskHooks } from "../core/ports/hooks.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskQuery, TaskStore } from "../core/ports/store.ts";
import { STALL_MS } from "../core/stall-line.ts";
import type { TaskStatus } from "../core/status.ts";
import { parseTaskStatus, STATUS_ALIASES, TASK_STATUSES } from "../core/status.ts";
import type { Verb } from "../core/verbs.ts";
import type { VerbOptions } from "../runtime/control.ts";
import type { RetryRequest } from "../runtime/run-retry.ts";
import { inCarrier } from "../runtime/executors/carrier-flag.ts";
import type { CarrierOptions } from "./carrier-options.ts";
import type { AnyPipeline } from "./pipeline.ts";
import type { BucketOptions, StartOptions } from "./scheduling.ts";
import { isLoadingTasks, refuseLoading } from "./task-loading.ts";
import type { AnyTask } from "./task.ts";

/** Options of `Controller.open`, its hooks among them: they are called for every task. Source §3.2, §5.3. */
export interface ControllerOptions extends CarrierOptions, TaskHooks {
  /** Where tasks are kept; default: in memory, gone with the process. The controller opens and closes it. */
  readonly store?: TaskStore;
  /** The tasks that may be submitted: the whitelist. */
  readonly tasks?: readonly AnyTask[];
  /** The pipelines that may be run. */
  readonly pipelines?: readonly AnyPipeline[];
  readonly concurrency?: ConcurrencyPolicy;
  /** Spreads tasks over buckets, for `concurrency.perBucket` and `hold`; default: none. */
  readonly buckets?: BucketOptions;
  /** The folder for the files of attempts (`ctx.artifacts`); default: a temporary one that goes with the controller. */
  readonly artifacts?: string;
  /**
   * A helper thread names the task that blocks the event loop, while it still blocks (`TaskWarning`, `loop_stalled`).
   * `after`: so long is a stall, default 1 s; `announce`: also write a line to stderr at once, default false. Default: on,
   * but off with a clock of your own.
   */
  readonly watchLoop?: boolean | { readonly after?: Duration; readonly announce?: boolean };
  /** Default: the system's. */
  readonly clock?: Clock;
  /** Where the library says what went wrong beside a task; default: quiet. */
  readonly logger?: Logger;
  /** A number in [0, 1) for jitter; default `Math.random`. */
  readonly random?: () => number;
}

/** The options of `Controller.open`. */
export const OPEN_KEYS = [
  "store",
  "tasks",
  "pipelines",
  "concurrency",
  "buckets",
  "clock",
  "logger",
  "random",
  "artifacts",
  "executor",
  "threads",
  "processes",
  "executors",
  "watchLoop",
  ...HOOK_NAMES,
] as const;

/** Options of `submit`. */
export interface SubmitOptions extends StartOptions {
  /** Higher first; default `concurrency.defaultPriority`. An integer. */
  readonly priority?: number;
  /** In place of the task's own. */
  readonly retry?: RetryPolicy;
  /** In place of the task's own. */
  readonly timeout?: TimeoutPolicy;
  /** In place of the task's own. */
  readonly tags?: readonly string[];
}

/** Options of `startRun`. */
export interface RunOptions extends Pick<StartOptions, "bucketKey"> {
  /** Of all its nodes; default `concurrency.defaultPriority`. An integer. */
  readonly priority?: number;
}

/** Who asks and why: both land in the audit. */
export interface Asking {
  /** Default `user`. */
  readonly actor?: string;
  readonly reason?: string;
}

/** Options of `stop` and `cancel`. */
export interface StopOptions extends Asking {
  /** How long the task may take to end by itself; default 10 s, 0: at once. */
  readonly grace?: Duration;
}

/** Options of `pause`. */
export interface PauseOptions extends Asking {
  /** How long it may take to reach a checkpoint before the pause is taken back; default 30 s. */
  readonly timeout?: Duration;
}

/** Options of `retry`. */
export interface RetryOptions extends Asking {
  /** Also while an abandoned body of an earlier attempt still runs. */
  readonly force?: boolean;
}

/** Options of a run's `retry`. */
export interface RunRetryOptions extends RetryOptions {
  /**
   * The name of the node to begin from, however it has ended; it and all below it run again. Of an item of a map (`enrich[3]`):
   * that item alone and all below the map. Default: all that did not succeed.
   */
  readonly from?: string;
}

/** Options of `skip`. */
export interface SkipOptions extends Asking {
  /** The value for those below, in place of the one that the task would have returned; without it `up(node)` throws there. */
  readonly outcome?: unknown;
}

/** Options of `reset`. */
export interface ResetOptions extends Asking {
  /** It begins anew, with no attempt counted: say that you mean it. */
  readonly confirm: true;
  /** Also while an abandoned body of an earlier attempt still runs. */
  readonly force?: boolean;
}

/** Options of `forceTransition`: who and why are required. */
export interface ForceOptions {
  readonly actor: string;
  readonly reason: string;
  /** The value of a task that is forced to `succeeded` or `skipped`. */
  readonly outcome?: unknown;
  /** To `queued` or `pending` also while an abandoned body still runs. */
  readonly force?: boolean;
}

/** Options of `wait`. */
export interface WaitOptions {
  /** The status to wait for; default: any terminal one. */
  readonly for?: TaskStatus;
  /** Required, so that nobody waits for ever by accident: a length, or `"none"`. */
  readonly timeout: Duration | "none";
  /** Ends the waiting, not the task. */
  readonly signal?: AbortSignal;
}

/** Options of `events`. */
export interface EventOptions {
  /** Default: all. */
  readonly types?: readonly TaskEventType[];
  readonly signal?: AbortSignal;
}

/** Options of `controller.stream`. */
export interface FeedOptions extends EventOptions {
  /** The cursor of the last entry that was seen; `null`: from the start of the record. Default: from now on. */
  readonly from?: string | null;
  /** Of one task alone. */
  readonly taskId?: string;
  /** Of one run and its nodes alone. */
  readonly pipelineRunId?: string;
}

/** Which tasks `controller.watch` is about. */
export type TaskSelector = Omit<TaskQuery, "limit" | "cursor">;

/** Options of `controller.watch`. */
export interface WatchOptions {
  readonly signal?: AbortSignal;
}

/** What each verb takes beside who asks and why. */
const VERB_KEYS = {
  start: [],
  stop: ["grace"],
  cancel: ["grace"],
  pause: ["timeout"],
  resume: [],
  retry: ["force"],
  hold: [],
} as const satisfies Partial<Record<Verb | "hold", readonly ("grace" | "timeout" | "force")[]>>;

/** Reads the options of a verb. */
export function readVerbOptions(options: unknown, verb: keyof typeof VERB_KEYS): VerbOptions {
  const keys = ["actor", "reason", ...VERB_KEYS[verb]] as const;
  const { actor = "user", reason, grace, timeout, force }: Options<"actor" | "reason" | "grace" | "timeout" | "force"> = checkOptions(options, keys, verb);
  return {
    by: { actor: checkText(actor, `${verb}: actor`), reason: reason === undefined ? null : checkText(reason, `${verb}: reason`) },
    ...(grace === undefined ? {} : { graceMs: parseDuration(grace, `${verb}: grace`) }),
    ...(timeout === undefined ? {} : { pauseTimeoutMs: parseDuration(timeout, `${verb}: timeout`) }),
    ...(force === undefined ? {} : { force: checkBoolean(force, `${verb}: force`) }),
  };
}

/** Who asks, for verbs on a run. */
export function readAsking(options: unknown, verb: "stop" | "cancel"): { readonly by: By; readonly graceMs?: number } {
  const { by, graceMs } = readVerbOptions(options, verb);
  return graceMs === undefined ? { by } : { by, graceMs };
}

/** Reads the options of a run's `retry`. */
export function readRunRetry(options: unknown): RetryRequest {
  const { from, ...rest } = checkOptions(options, ["actor", "reason", "force", "from"], "retry");
  const { by, force = false } = readVerbOptions(rest, "retry");
  return { by, force, ...(from === undefined ? {} : { from: checkText(from, "retry: from") }) };
}

/** Reads the options of `skip`. */
export function readSkipOptions(options: unknown): VerbOptions & { readonly outcome: GivenOutcome | undefined } {
  const { outcome, ...asking } = checkOptions(options, ["actor", "reason", "outcome"], "skip");
  return { ...readVerbOptions(asking, "start"), outcome: outcomeOf(options, outcome) };
}

/** Reads the options of `reset`. */
export function readResetOptions(options: unknown): VerbOptions {
  const { confirm, ...rest } = checkOptions(options, ["actor", "reason", "confirm", "force"], "reset");
  if (confirm !== true) throw new ConfigurationError("reset begins the task anew, with no attempt counted: pass confirm: true to say that you mean it.");
  return readVerbOptions(rest, "retry");
}

/** Reads the options of `forceTransition`. */
export function readForceOptions(options: unknown, to: TaskStatus): VerbOptions & { readonly outcome: GivenOutcome | undefined } {
  const { outcome, actor, reason, force } = checkOptions(options, ["actor", "reason", "outcome", "force"], "forceTransition");
  const by = { actor: checkText(actor, "forceTransition: actor"), reason: checkText(reason, "forceTransition: reason") };
  const given = outcomeOf(options, outcome);
  if (given !== undefined && to !== "succeeded" && to !== "skipped")
    throw new ConfigurationError(`forceTransition: outcome goes with "succeeded" or "skipped" only; a task that is ${to} has none. Leave it out.`);
  return { by, outcome: given, ...(force === undefined ? {} : { force: checkBoolean(force, "forceTransition: force") }) };
}

/** Given, be it `undefined`, or left out: that is not the same. */
function outcomeOf(options: unknown, outcome: unknown): GivenOutcome | undefined {
  return typeof options === "object" && options !== null && "outcome" in options ? { value: outcome } : undefined;
}

/** Reads the options of `wait`. */
export function readWaitOptions(options: unknown): {
  readonly wanted: TaskStatus | null;
  readonly timeoutMs: number | null;
  readonly signal: AbortSignal | undefined;
} {
  const read = checkOptions(options, ["for", "timeout", "signal"], "wait");
  if (read.timeout === undefined) throw new ConfigurationError('wait needs a timeout: a length such as "30s", or "none" to wait for ever.');
  return {
    wanted: read.for === undefined ? null : readStatus(read.for, "wait: for"),
    timeoutMs: read.timeout === "none" ? null : parseDuration(read.timeout, "wait: timeout"),
    signal: readSignal(read.signal, "wait: signal"),
  };
}

/** Reads the options of `events`. */
export function readEventOptions(
  options: unknown,
  name = "events",
): { readonly types: readonly TaskEventType[] | undefined; readonly signal: AbortSignal | undefined } {
  const { types, signal } = checkOptions(options, ["types", "signal"], name);
  if (types !== undefined && !isList(types)) throw new ConfigurationError(`${name}: types must be a list of event types; found ${describeValue(types)}.`);
  const names = Object.keys(EVENT_TYPES) as readonly TaskEventType[];
  return { types: types?.map((type) => checkOneOf(type, names, `${name}: types`)), signal: readSignal(signal, `${name}: signal`) };
}

/** Reads a priority. */
export function readPriority(value: unknown, name: string, otherwise: number): number {
  return value === undefined ? otherwise : checkInteger(value, name, Number.MIN_SAFE_INTEGER);
}

/** Reads a status, old names included. */
export function readStatus(value: unknown, name: string): TaskStatus {
  const status = typeof value === "string" ? parseTaskStatus(value) : undefined;
  return status ?? checkOneOf(value, TASK_STATUSES, name, STATUS_ALIASES);
}

/** The options of `watchLoop`. */
export const LOOP_WATCH_KEYS = ["after", "announce"] as const;

/** Reads `watchLoop`; `null`: off. */
export function readLoopWatch(value: unknown): { readonly afterMs: number; readonly announce: boolean } | null {
  if (value === false) return null;
  const { after = STALL_MS, announce = false } = checkOptions(value === true ? {} : value, LOOP_WATCH_KEYS, "watchLoop");
  return { afterMs: parsePositiveDuration(after, "watchLoop.after"), announce: checkBoolean(announce, "watchLoop.announce") };
}

/** Reads the path of a folder; `null` where none is given. */
export function readFolder(value: unknown, name: string): string | null {
  return value === undefined ? null : checkText(value, name);
}

/**
 * A module that is loaded for its tasks must not open a controller: in a thread or child each would open another, without
 * end; under the command line it would run its tasks unasked.
 */
export function refuseWhileLoading(what: string): void {
  if (inCarrier()) throw loadedFor(what, "in a worker thread or child process");
  if (isLoadingTasks()) throw refuseLoading(loadedFor(what, "by the command line"));
}

function loadedFor(what: string, where: string): ConfigurationError {
  return new ConfigurationError(
    `${what} was called while a module was loaded ${where} for its tasks. Keep it out of the modules that define tasks: in a main.ts of its own, or behind "if (import.meta.main)".`,
  );
}

/** Reads an `AbortSignal`. */
export function readSignal(value: unknown, name: string): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new ConfigurationError(`${name} must be an AbortSignal; found ${describeValue(value)}.`);
}

function checkText(value: unknown, name: string): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  throw new ConfigurationError(`${name} must be a non-empty text; found ${describeValue(value)}.`);
}
