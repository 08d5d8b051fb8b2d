/** Every reason a task can have failed for. A timeout is a reason, never a status. Source §2.4. */
export const FAILURE_KINDS = [
  "exception",
  "nonzero_exit",
  "timeout_start",
  "timeout_attempt",
  "timeout_idle",
  "cancelled",
  "lost",
  "dependency_failed",
  "condition_false",
] as const;

/** Why a task failed. Source §2.4. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** One link of an error's chain of causes. */
export interface FailureCause {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
}

/** A failure as a plain record: it survives threads, processes and the store. Source §2.4, §6. */
export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
  /** The thrown error's class, or what was thrown where it was no error. */
  readonly name: string;
  readonly stack: string | null;
  /** The chain of `cause`, nearest first, at most 10. Of a map whose items failed: why, each reason once, with how many items it is of. */
  readonly causes: readonly FailureCause[];
  readonly retryable: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The carrier was ended by force. */
  readonly forced: boolean;
  /** The body was given up on and may still run. */
  readonly abandoned: boolean;
}

/** What each field of a failure holds. */
const FIELDS: { readonly [Field in keyof Failure]-?: (value: unknown) => boolean } = {
  kind: (value) => FAILURE_KINDS.some((kind) => kind === value),
  message: isText,
  name: isText,
  stack: isTextOrNull,
  causes: (value) => Array.isArray(value) && value.every(isCause),
  retryable: isFlag,
  exitCode: (value) => value === null || typeof value === "number",
  signal: isTextOrNull,
  forced: isFlag,
  abandoned: isFlag,
};

/**
 * Is this a failure's record, such as those among the results of a map that keeps them? It is told by its form: exactly the
 * fields of a `Failure`, each with such a value. So it can be asked of one that has been stored or has come from another
 * process; of the results of tasks only one that is such a record itself is taken for a failure.
 */
export function isFailure(value: unknown): value is Failure {
  if (typeof value !== "object" || value === null) return false;
  const fields = Object.entries(FIELDS);
  return Object.keys(value).length === fields.length && fields.every(([field, fits]) => Object.hasOwn(value, field) && fits(Reflect.get(value, field)));
}

function isCause(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return "name" in value && isText(value.name) && "message" in value && isText(value.message) && "stack" in value && isTextOrNull(value.stack);
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}

function isTextOrNull(value: unknown): boolean {
  return value === null || typeof value === "string";
}

function isFlag(value: unknown): boolean {
  return typeof value === "boolean";
}

/** A failure that did not come from a thrown value: the parts left out have their usual value. */
export function createFailure(parts: Pick<Failure, "kind" | "message"> & Partial<Omit<Failure, "kind" | "message">>): Failure {
  return {
    kind: parts.kind,
    message: parts.message,
    name: parts.name ?? parts.kind,
    stack: parts.stack ?? null,
    causes: parts.causes ?? [],
    retryable: parts.retryable ?? false,
    exitCode: parts.exitCode ?? null,
    signal: parts.signal ?? null,
    forced: parts.forced ?? false,
    abandoned: parts.abandoned ?? false,
  };
}
