import type { Failure } from "./failure.ts";
import type { RunStatus, TaskStatus } from "./status.ts";

interface ErrorFact {
  /** The class that carries the code. */
  readonly name: string;
  /** The command line's exit code. */
  readonly exitCode: number;
  /** May the same call work later without anything being changed by the caller? */
  readonly retryable: boolean;
  /** What it means and what to do, in one line. */
  readonly meaning: string;
}

/**
 * Every error that reaches a user: code, class, exit code, meaning. A test compares this table with the
 * classes, the types and the reference page. Match `code`, not class or text. Source §6.
 */
export const ERRORS = {
  INVALID_TRANSITION: { name: "InvalidTransition", exitCode: 4, retryable: false, meaning: "The verb or transition is not legal in the task's present status; `allowed` lists what is." },
  ATTEMPTS_EXHAUSTED: { name: "AttemptsExhausted", exitCode: 4, retryable: false, meaning: "The attempts are used up; a person's `retry` grants one more." },
  CARRIER_ABANDONED: { name: "CarrierAbandoned", exitCode: 4, retryable: true, meaning: "An abandoned body of an earlier attempt still runs; wait for it to end, or pass `force`." },
  CIRCULAR_DEPENDENCY: { name: "CircularDependency", exitCode: 2, retryable: false, meaning: "The dependencies form a cycle; `path` shows it." },
  TASK_CANCELLED: { name: "TaskCancelled", exitCode: 6, retryable: false, meaning: "The task was stopped or cancelled. Inside a task: let it through, clean up, do not swallow it." },
  TASK_SKIPPED: { name: "TaskSkipped", exitCode: 0, retryable: false, meaning: "The task was skipped, so there is no result to give." },
  TASK_TIMEOUT: { name: "TaskTimeout", exitCode: 1, retryable: true, meaning: "A start, attempt or idle timeout fired; `scope` says which." },
  TASK_EXECUTION: { name: "TaskExecutionError", exitCode: 1, retryable: true, meaning: "The task's own code failed; `cause` and `failure` say how." },
  TASK_LOST: { name: "TaskLost", exitCode: 7, retryable: false, meaning: "The task's carrier is out of contact; the outcome is unknown." },
  WAIT_TIMEOUT: { name: "WaitTimeout", exitCode: 5, retryable: true, meaning: "Time ran out while waiting; the task itself is untouched." },
  WAIT_IMPOSSIBLE: { name: "WaitImpossible", exitCode: 4, retryable: false, meaning: "The task ended in a status from which the awaited one cannot follow." },
  DEADLOCK: { name: "Deadlock", exitCode: 2, retryable: false, meaning: "The call would wait for itself, directly or through others: `path` shows the ring where there is one." },
  CONCURRENCY_CONFLICT: { name: "ConcurrencyConflict", exitCode: 8, retryable: true, meaning: "Somebody else changed the task first; read it again." },
  STORE: { name: "StoreError", exitCode: 8, retryable: true, meaning: "The store could not read or write; the message says why." },
  CONFIGURATION: { name: "ConfigurationError", exitCode: 2, retryable: false, meaning: "A definition, option or argument is wrong; the message names it." },
  INVALID_ARGUMENTS: { name: "InvalidArguments", exitCode: 2, retryable: false, meaning: "The `input` schema refused the arguments; `issues` says where." },
  UNKNOWN_NAME: { name: "UnknownName", exitCode: 3, retryable: false, meaning: "No task or pipeline of that name is registered; the nearest names are shown." },
  UNKNOWN_ID: { name: "UnknownId", exitCode: 3, retryable: false, meaning: "No task or run has that id, or its history was pruned." },
  OUTCOME_MISSING: { name: "OutcomeMissing", exitCode: 1, retryable: false, meaning: "The upstream task was skipped or forced without an outcome, so there is no value to read." },
  CONTROLLER_CLOSED: { name: "ControllerClosed", exitCode: 2, retryable: false, meaning: "The controller is closed; open another." },
  INTERNAL: { name: "InternalError", exitCode: 70, retryable: false, meaning: "A bug of ours. Please report it with the message and the stack." },
} as const satisfies Record<string, ErrorFact>;

/** A stable name for each error: match on it. */
export type ErrorCode = keyof typeof ERRORS;

interface ErrorOptionsWithCause {
  readonly cause?: unknown;
}

/** The base of every error this library throws. Source §6. */
export abstract class TaskError extends Error {
  /** Stable; match on it rather than on class or text. */
  abstract readonly code: ErrorCode;

  constructor(message: string, options?: ErrorOptionsWithCause) {
    super(message, options !== undefined && "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
  }

  /** The command line's exit code for this error. */
  get exitCode(): number {
    return ERRORS[this.code].exitCode;
  }
}

/** A verb or transition that the present status does not allow. Source §2.3. */
export class InvalidTransition extends TaskError {
  readonly code = "INVALID_TRANSITION";
  /** The status the task or run has. */
  readonly current: TaskStatus | RunStatus;
  /** What was asked for: a verb or a status. */
  readonly requested: string;
  /** Verbs where a verb was refused, statuses where a transition was. */
  readonly allowed: readonly string[];

  constructor(detail: {
    /** Of the task, or of the run. */
    readonly taskId: string;
    /** Default `task`. */
    readonly what?: "task" | "run";
    readonly current: TaskStatus | RunStatus;
    readonly requested: string;
    readonly allowed: readonly string[];
    readonly hint?: string;
  }) {
    const allowed = detail.allowed.length === 0 ? "nothing" : detail.allowed.join(", ");
    super(`${detail.what ?? "task"} ${detail.taskId} is ${detail.current}: "${detail.requested}" is not possible now${detail.hint === undefined ? "" : ` (${detail.hint})`}. Possible: ${allowed}.`);
    this.current = detail.current;
    this.requested = detail.requested;
    this.allowed = detail.allowed;
  }
}

/** No attempt is left for what happens by itself (backoff, requeue, retryLost). Source §2.3. */
export class AttemptsExhausted extends TaskError {
  readonly code = "ATTEMPTS_EXHAUSTED";
  readonly attempt: number;
  readonly maxAttempts: number;

  constructor(taskId: string, attempt: number, maxAttempts: number) {
    super(`task ${taskId} has used ${attempt} of ${maxAttempts} attempts. Retry it by hand to grant one more, or raise maxAttempts.`);
    this.attempt = attempt;
    this.maxAttempts = maxAttempts;
  }
}

/** A new attempt is refused while an abandoned body of an earlier one still runs. */
export class CarrierAbandoned extends TaskError {
  readonly code = "CARRIER_ABANDONED";

  constructor(taskId: string, requested: string) {
    super(`task ${taskId}: the body of an earlier attempt was abandoned and still runs, so "${requested}" would run it twice. Wait for it to end, or pass force.`);
  }
}

/** The dependencies of a pipeline form a cycle. Source §6. */
export class CircularDependency extends TaskError {
  readonly code = "CIRCULAR_DEPENDENCY";
  /** The nodes of the cycle, the first repeated at the end. */
  readonly path: readonly string[];

  constructor(path: readonly string[]) {
    // A ring of thousands is not for reading: `path` has all of it.
    const shown = path.length <= 12 ? path : [...path.slice(0, 6), `… ${path.length - 11} more …`, ...path.slice(-5)];
    super(`the dependencies form a cycle: ${shown.join(" → ")}. Remove one of these edges.`);
    this.path = path;
  }
}

/**
 * Thrown at a checkpoint once a stop or cancel was asked for, and by `result()` of a task that was
 * stopped or cancelled. Inside a task: clean up and let it through. Source §5.4.
 */
export class TaskCancelled extends TaskError {
  readonly code = "TASK_CANCELLED";
}

/** The task was skipped: there is no result. */
export class TaskSkipped extends TaskError {
  readonly code = "TASK_SKIPPED";
}

/** A timeout fired; `cause` is what the body threw when it was asked to end, if anything. Source §6. */
export class TaskTimeout extends TaskError {
  readonly code = "TASK_TIMEOUT";
  readonly scope: "start" | "attempt" | "idle";
  readonly failure: Failure | null;

  constructor(scope: "start" | "attempt" | "idle", message: string, options: ErrorOptionsWithCause & { readonly failure?: Failure | null } = {}) {
    super(message, options);
    this.scope = scope;
    this.failure = options.failure ?? null;
  }
}

/** The task's own code failed; the original is in `cause` where it is still in memory, and told in `failure`. Source §6. */
export class TaskExecutionError extends TaskError {
  readonly code = "TASK_EXECUTION";
  readonly failure: Failure | null;

  constructor(message: string, failure: Failure | null, options?: ErrorOptionsWithCause) {
    super(message, options);
    this.failure = failure;
  }
}

/** The task's carrier is out of contact: the outcome is unknown. */
export class TaskLost extends TaskError {
  readonly code = "TASK_LOST";
  readonly failure: Failure | null;

  constructor(message: string, failure: Failure | null) {
    super(message);
    this.failure = failure;
  }
}

/** Time ran out while waiting. The task goes on. Source §3.1. */
export class WaitTimeout extends TaskError {
  readonly code = "WAIT_TIMEOUT";
}

/** The awaited status can no longer be reached. */
export class WaitImpossible extends TaskError {
  readonly code = "WAIT_IMPOSSIBLE";
}

/** A task would have to wait for itself, directly or through others. */
export class Deadlock extends TaskError {
  readonly code = "DEADLOCK";
  /** The ids of the tasks and runs that wait for each other, from the one that is told back to itself; empty: it alone. */
  readonly path: readonly string[];

  constructor(message: string, { path = [] }: { readonly path?: readonly string[] } = {}) {
    super(message);
    this.path = path;
  }
}

/** Somebody else changed the task first. Source §6. */
export class ConcurrencyConflict extends TaskError {
  readonly code = "CONCURRENCY_CONFLICT";
  readonly expected: number;
  /** `null`: there is no such task. */
  readonly actual: number | null;

  constructor(taskId: string, expected: number, actual: number | null) {
    super(`task ${taskId}: expected version ${expected}, found ${actual === null ? "no such task" : `version ${actual}`}. Somebody else changed it; read it again.`);
    this.expected = expected;
    this.actual = actual;
  }
}

/** The store could not read or write. Source §6. */
export class StoreError extends TaskError {
  readonly code = "STORE";
  /** The same write may well succeed later: the store is busy, full or out of reach. Else it never will. */
  readonly transient: boolean;

  constructor(message: string, options: ErrorOptionsWithCause & { readonly transient?: boolean } = {}) {
    super(message, options);
    this.transient = options.transient ?? false;
  }
}

/** A definition, option or argument is wrong. Source §6. */
export class ConfigurationError extends TaskError {
  readonly code: "CONFIGURATION" | "UNKNOWN_NAME" | "INVALID_ARGUMENTS" = "CONFIGURATION";
}

/** One thing that an `input` schema found wrong. */
export interface ArgumentIssue {
  readonly message: string;
  /** Where, from the tuple of arguments inwards: `args[0].day`. */
  readonly path: string;
}

/** The `input` schema refused the arguments; nothing was stored. */
export class InvalidArguments extends ConfigurationError {
  override readonly code = "INVALID_ARGUMENTS";
  readonly issues: readonly ArgumentIssue[];

  constructor(name: string, issues: readonly ArgumentIssue[], options?: ErrorOptionsWithCause) {
    super(`"${name}" refused its arguments: ${issues.map((issue) => `${issue.path}: ${issue.message}`).join("; ")}.`, options);
    this.issues = issues;
  }
}

/** No task or pipeline of that name is registered. */
export class UnknownName extends ConfigurationError {
  override readonly code = "UNKNOWN_NAME";
  readonly requested: string;
  /** The registered names that look most like it, nearest first. */
  readonly nearest: readonly string[];

  constructor(kind: "task" | "pipeline" | "task or pipeline", requested: string, nearest: readonly string[]) {
    const hint = nearest.length === 0 ? "" : ` Did you mean ${nearest.map((name) => `"${name}"`).join(" or ")}?`;
    super(`no ${kind} named ${JSON.stringify(requested)} is registered.${hint}`);
    this.requested = requested;
    this.nearest = nearest;
  }
}

/** No task or run has that id. */
export class UnknownId extends TaskError {
  readonly code = "UNKNOWN_ID";
}

/** The upstream task has no outcome to read. */
export class OutcomeMissing extends TaskError {
  readonly code = "OUTCOME_MISSING";
}

/** The controller is closed. */
export class ControllerClosed extends TaskError {
  readonly code = "CONTROLLER_CLOSED";
}

/** A bug of ours. */
export class InternalError extends TaskError {
  readonly code = "INTERNAL";
}
