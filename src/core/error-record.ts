import type { Failure } from "./failure.ts";
import { CLASSES } from "./revived-classes.ts";
import { failureOf } from "./thrown.ts";

/** A thrown value as a plain record: what crosses threads and processes, where class and code would be lost. Source §6. */
export interface ErrorRecord {
  readonly failure: Failure;
  /** The error's `code`, where it has one that is text. */
  readonly code: string | null;
  /** Its class and those above it, nearest first: retry policies match them by name. */
  readonly classes: readonly string[];
}

/** Takes down a thrown value, whatever it is. Never throws. */
export function recordError(thrown: unknown): ErrorRecord {
  return { failure: failureOf(thrown), code: readCode(thrown), classes: readClasses(thrown) };
}

/** An error like the one that was thrown elsewhere: its name, message, stack, code and causes; never its class. */
export function reviveError({ failure, code, classes }: ErrorRecord): Error {
  const error = new Error(failure.message, failure.causes.length === 0 ? undefined : { cause: reviveCauses(failure.causes) });
  define(error, "name", failure.name);
  if (failure.stack !== null) define(error, "stack", failure.stack);
  if (code !== null) Object.assign(error, { code });
  define(error, CLASSES, classes);
  return error;
}

function reviveCauses(causes: Failure["causes"]): Error | undefined {
  return causes.toReversed().reduce<Error | undefined>((cause, { name, message, stack }) => {
    const error = new Error(message, cause === undefined ? undefined : { cause });
    define(error, "name", name);
    if (stack !== null) define(error, "stack", stack);
    return error;
  }, undefined);
}

function define(error: Error, key: PropertyKey, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true, enumerable: false });
}

function readCode(thrown: unknown): string | null {
  try {
    if (typeof thrown !== "object" || thrown === null) return null;
    const code: unknown = Reflect.get(thrown, "code");
    return typeof code === "string" ? code : null;
  } catch {
    // A hostile getter: then it has no code.
    return null;
  }
}

function readClasses(thrown: unknown): readonly string[] {
  const names: string[] = [];
  try {
    if (typeof thrown !== "object") return names;
    for (
      let prototype: unknown = thrown === null ? null : Object.getPrototypeOf(thrown);
      typeof prototype === "object" && prototype !== null && names.length < 10;
      prototype = Object.getPrototypeOf(prototype)
    ) {
      const maker: unknown = Reflect.get(prototype, "constructor");
      if (typeof maker === "function" && maker.name !== "" && maker !== Object) names.push(maker.name);
    }
  } catch {
    // A hostile proxy: the classes read so far have to do.
  }
  return names;
}
