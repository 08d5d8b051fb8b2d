import { describeValue } from "./describe-value.ts";
import { ConfigurationError, TaskCancelled } from "./errors.ts";
import type { Failure, FailureCause, FailureKind } from "./failure.ts";
import { hasPrintable, toPrintable } from "./printable.ts";
import { revivedClasses } from "./revived-classes.ts";

/** How many causes a failure keeps. */
export const MAX_CAUSES = 10;
/** Longer messages are cut, in characters. */
export const MAX_MESSAGE_LENGTH = 10_000;
/** Longer stacks are cut, in characters; any ordinary one is kept whole. */
export const MAX_STACK_LENGTH = 100_000;
const MAX_NAME_LENGTH = 200;

/** What the one who caught it knows beside the thrown value. */
export type FailureBase = Partial<Pick<Failure, "kind" | "retryable" | "exitCode" | "signal" | "forced" | "abandoned">>;

/**
 * Any thrown value as a failure record: never throws, whatever was thrown; the message is always printable
 * and never empty; the stack is kept whole up to `MAX_STACK_LENGTH`. The causes are the chain of `cause`,
 * nearest first, then what an `AggregateError` or a `SuppressedError` holds: at most 10, each once. Source §6.
 * @param base what else is known; by default kind `exception`, nothing forced or abandoned, and `retryable`
 * unless the kind says otherwise. `TaskCancelled` and `ConfigurationError` are never retryable.
 */
export function failureOf(thrown: unknown, base: FailureBase = {}): Failure {
  const kind = base.kind ?? "exception";
  const { name, message, stack } = describeThrown(thrown, " was thrown");
  return Object.freeze({
    kind,
    message,
    name,
    stack,
    causes: Object.freeze(causesOf(thrown)),
    retryable: (base.retryable ?? !NEVER_RETRIED_KINDS.has(kind)) && !isNeverRetried(thrown),
    exitCode: base.exitCode ?? null,
    signal: base.signal ?? null,
    forced: base.forced ?? false,
    abandoned: base.abandoned ?? false,
  });
}

const NEVER_RETRIED_KINDS: ReadonlySet<FailureKind> = new Set<FailureKind>(["cancelled", "lost", "dependency_failed", "condition_false"]);

/** Errors that no retry can mend, here or thrown elsewhere: a cancellation is a wish, a wrong configuration stays wrong. */
export function isNeverRetried(thrown: unknown): boolean {
  if (isSafely(thrown, TaskCancelled) || isSafely(thrown, ConfigurationError)) return true;
  const classes = revivedClasses(thrown);
  // `TaskError` beside it: a class of the user's may well have such a name.
  return classes.includes("TaskError") && (classes.includes("TaskCancelled") || classes.includes("ConfigurationError"));
}

/** The thrown value as an `Error`: itself where it is one, else wrapped once with the original as `cause`. */
export function toError(thrown: unknown): Error {
  if (isSafely(thrown, Error)) return thrown;
  return new Error(describeThrown(thrown, " was thrown").message, { cause: thrown });
}

function causesOf(thrown: unknown): readonly FailureCause[] {
  const causes: FailureCause[] = [];
  const seen = new Set<unknown>([thrown]);
  const waiting: unknown[] = nestedIn(thrown).toReversed();
  while (waiting.length > 0 && causes.length < MAX_CAUSES) {
    const cause = waiting.pop();
    if (isObject(cause) && seen.has(cause)) continue;
    seen.add(cause);
    causes.push(Object.freeze(describeThrown(cause, "")));
    waiting.push(...nestedIn(cause).toReversed());
  }
  return causes;
}

/** What a value holds that led to it: its `cause`, then its gathered errors. */
function nestedIn(value: unknown): readonly unknown[] {
  if (!isObject(value)) return [];
  const nested = [read(value, "cause"), ...listOf(read(value, "errors"))];
  if (read(value, "name") === "SuppressedError") nested.push(read(value, "error"), read(value, "suppressed"));
  return nested.filter((entry) => entry !== undefined && entry !== null);
}

function listOf(value: unknown): readonly unknown[] {
  try {
    return Array.isArray(value) ? value.slice(0, MAX_CAUSES) : [];
  } catch {
    return []; // a revoked proxy
  }
}

function describeThrown(thrown: unknown, suffix: string): FailureCause {
  if (isErrorLike(thrown)) return describeError(thrown);
  const name = toPrintable(kindOfValue(thrown), MAX_NAME_LENGTH);
  const text = isObject(thrown) ? read(thrown, "message") : thrown;
  if (typeof text === "string" && hasPrintable(text)) return { name, message: toPrintable(text, MAX_MESSAGE_LENGTH), stack: null };
  return { name, message: `${toPrintable(describeValue(thrown), MAX_MESSAGE_LENGTH)}${suffix}`, stack: null };
}

function describeError(error: object): FailureCause {
  const name = toPrintable(nameOfError(error), MAX_NAME_LENGTH);
  const text = read(error, "message");
  return { name, message: messageOfError(error, name, text), stack: stackOf(error, text) };
}

function messageOfError(error: object, name: string, text: unknown): string {
  if (typeof text === "string" && hasPrintable(text)) return toPrintable(text, MAX_MESSAGE_LENGTH);
  const gathered = listOf(read(error, "errors")).map((entry) => describeGathered(entry));
  if (gathered.length > 0) return toPrintable(`${name}: ${gathered.join("; ")}`, MAX_MESSAGE_LENGTH);
  if (text === undefined || typeof text === "string") return `${name} without a message`;
  return toPrintable(`${name} with the message ${describeValue(text)}`, MAX_MESSAGE_LENGTH);
}

function describeGathered(entry: unknown): string {
  const text = isObject(entry) ? read(entry, "message") : entry;
  return typeof text === "string" && hasPrintable(text) ? text.slice(0, MAX_MESSAGE_LENGTH) : describeValue(entry);
}

/** An enormous message is cut inside the stack too: it stands in front of the frames and would push them out. */
function stackOf(error: object, message: unknown): string | null {
  const stack = read(error, "stack");
  if (typeof stack !== "string" || !hasPrintable(stack)) return null;
  if (typeof message !== "string" || message.length <= MAX_MESSAGE_LENGTH) return toPrintable(stack, MAX_STACK_LENGTH);
  const at = stack.indexOf(message);
  if (at < 0) return toPrintable(stack, MAX_STACK_LENGTH);
  const head = `${stack.slice(0, at)}${toPrintable(message, MAX_MESSAGE_LENGTH)}`;
  return toPrintable(`${head}${stack.slice(at + message.length)}`, MAX_STACK_LENGTH);
}

/** A subclass that sets no `name` inherits "Error": its class says more. */
function nameOfError(error: object): string {
  const name = read(error, "name");
  if (typeof name === "string" && hasPrintable(name) && name !== "Error") return name;
  return classNameOf(error) ?? "Error";
}

function kindOfValue(value: unknown): string {
  if (value === null) return "null";
  return (typeof value === "object" ? classNameOf(value) : undefined) ?? typeof value;
}

function classNameOf(value: object): string | undefined {
  const constructor = read(value, "constructor");
  const name = typeof constructor === "function" ? read(constructor, "name") : undefined;
  return typeof name === "string" && hasPrintable(name) ? name : undefined;
}

/** Errors of other realms are no instance of our `Error`, but have its tag. */
function isErrorLike(value: unknown): value is object {
  if (isSafely(value, Error)) return true;
  try {
    return isObject(value) && Object.prototype.toString.call(value) === "[object Error]";
  } catch {
    return false;
  }
}

/** `instanceof` that stands a revoked proxy. */
function isSafely<Instance>(value: unknown, errorClass: abstract new (...args: never[]) => Instance): value is Instance {
  try {
    return value instanceof errorClass;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return undefined;
  }
}
