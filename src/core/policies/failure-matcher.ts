import { describeValue } from "../describe-value.ts";
import { ConfigurationError } from "../errors.ts";
import type { Failure, FailureKind } from "../failure.ts";
import { revivedClasses } from "../revived-classes.ts";
import { failureOf } from "../thrown.ts";
import { unreachable } from "../unreachable.ts";

/** The class of an error, abstract or not. */
export type ErrorClass = abstract new (...args: never[]) => unknown;

/**
 * Decides on one failure.
 * @param error what was thrown, where it is still in memory; from another thread or process an `Error` like it,
 * with its name, message, stack and code but not its class; `undefined` where there was none, or it came from the store
 */
export type FailurePredicate = (failure: Failure, error: unknown) => boolean;

/**
 * One entry of `retryOn` or `giveUpOn`: an error's class, an error's code or name or a failure's kind as text,
 * or a predicate. A class also matches its subclasses: of an error that came from another thread or process by
 * the names of its classes, and of one that is gone (the carrier died) by the failure's name alone. Codes are only
 * known while the error is in memory.
 */
export type FailureMatcher = ErrorClass | FailurePredicate | FailureKind | (string & {});

/** A checked entry of `retryOn` or `giveUpOn`. */
export type ResolvedFailureMatcher =
  | { readonly by: "class"; readonly errorClass: ErrorClass }
  | { readonly by: "text"; readonly text: string }
  | { readonly by: "predicate"; readonly test: FailurePredicate };

/**
 * Checks a list of matchers.
 * @throws ConfigurationError that names the entry
 */
export function resolveFailureMatchers(value: unknown, name: string): readonly ResolvedFailureMatcher[] {
  if (!Array.isArray(value)) throw new ConfigurationError(`${name} must be a list; found ${describeValue(value)}.`);
  const entries: readonly unknown[] = value;
  return Object.freeze(Array.from(entries, (entry, index) => Object.freeze(resolveMatcher(entry, `${name}[${index}]`))));
}

function resolveMatcher(entry: unknown, name: string): ResolvedFailureMatcher {
  if (typeof entry === "string" && entry.trim() !== "") return { by: "text", text: entry };
  if (isClass(entry)) return { by: "class", errorClass: entry };
  if (isPredicate(entry)) return { by: "predicate", test: entry };
  throw new ConfigurationError(
    `${name} must be an error class, an error code or name, a failure kind, or a function (failure, error) => boolean; found ${describeValue(entry)}.`,
  );
}

/** What `class` makes cannot be called as a predicate; its `prototype` is read-only, which tells the two apart. */
function isClass(value: unknown): value is ErrorClass {
  if (typeof value !== "function") return false;
  if (value === Error || value.prototype instanceof Error) return true;
  return Object.getOwnPropertyDescriptor(value, "prototype")?.writable === false;
}

function isPredicate(value: unknown): value is FailurePredicate {
  return typeof value === "function";
}

/**
 * Does any of the matchers recognise the failure?
 * @throws ConfigurationError when a predicate throws (its error is the `cause`) or does not answer with a boolean
 */
export function matchesFailure(matchers: readonly ResolvedFailureMatcher[], failure: Failure, error: unknown): boolean {
  return matchers.some((matcher) => {
    switch (matcher.by) {
      case "class":
        return isOf(matcher.errorClass, failure, error);
      case "text":
        return failure.kind === matcher.text || failure.name === matcher.text || codeOf(error) === matcher.text;
      case "predicate":
        return askPredicate(matcher.test, failure, error);
      default:
        return unreachable(matcher);
    }
  });
}

function isOf(errorClass: ErrorClass, failure: Failure, error: unknown): boolean {
  if (error === undefined) return failure.name === errorClass.name;
  return isInstance(error, errorClass) || revivedClasses(error).includes(errorClass.name);
}

/** A revoked proxy throws even at `instanceof`. */
function isInstance(error: unknown, errorClass: ErrorClass): boolean {
  try {
    return error instanceof errorClass;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): unknown {
  if (typeof error !== "object" || error === null) return undefined;
  try {
    return Reflect.get(error, "code");
  } catch {
    return undefined;
  }
}

function askPredicate(test: FailurePredicate, failure: Failure, error: unknown): boolean {
  let answer: unknown;
  try {
    answer = test(failure, error);
  } catch (thrown) {
    throw new ConfigurationError(`a predicate of retryOn or giveUpOn threw: ${failureOf(thrown).message}`, { cause: thrown });
  }
  if (typeof answer === "boolean") return answer;
  // A promise is truthy, so an async predicate would retry for ever; its rejection would be nobody's.
  if (answer instanceof Promise) answer.catch(() => undefined);
  throw new ConfigurationError(`a predicate of retryOn or giveUpOn must answer true or false; found ${describeValue(answer)}.`);
}
