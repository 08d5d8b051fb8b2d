import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { recordError, reviveError } from "../../src/core/error-record.ts";
import { ConfigurationError, TaskCancelled, UnknownName } from "../../src/core/errors.ts";
import { revivedClasses } from "../../src/core/revived-classes.ts";
import { failureOf, isNeverRetried } from "../../src/core/thrown.ts";

class TransientError extends Error {}
class Busy extends TransientError {
  override readonly name = "Busy";
  readonly code = "E_BUSY";
}

/** There and back, as between threads. */
function elsewhere(thrown: unknown): Error {
  return reviveError(structuredClone(recordError(thrown)));
}

describe("an error that was thrown elsewhere", () => {
  test("has its name, message, stack and code, and the names of its classes", () => {
    const thrown = new Busy("try later");
    const error = elsewhere(thrown);
    expect(error).toBeInstanceOf(Error);
    expect({ name: error.name, message: error.message, stack: error.stack }).toEqual({ name: "Busy", message: "try later", stack: thrown.stack });
    expect(error).toHaveProperty("code", "E_BUSY");
    expect(revivedClasses(error)).toEqual(["Busy", "TransientError", "Error"]);
  });

  test("shows its name and message like any other, and nothing more", () => {
    expect(Object.keys(elsewhere(new TransientError("x")))).toEqual([]);
    expect(Object.keys(elsewhere(new Busy("x")))).toEqual(["code"]);
    expect(String(elsewhere(new Busy("try later")))).toBe("Busy: try later");
  });

  test("has its causes, each with its own name and stack", () => {
    const root = new RangeError("the root");
    const error = elsewhere(new Error("above", { cause: new TypeError("between", { cause: root }) }));
    expect(error.cause).toMatchObject({ name: "TypeError", message: "between", cause: { name: "RangeError", message: "the root", stack: root.stack } });
    expect(elsewhere(new Error("alone")).cause).toBeUndefined();
  });

  test("makes the same failure there and here, whatever was thrown", () => {
    const error = fc.oneof(fc.string(), fc.constantFrom("E", "")).map((message) => new Busy(message, { cause: new RangeError(message) }));
    fc.assert(
      fc.property(fc.oneof(fc.anything(), error), (thrown) => {
        const { stack: _here, ...here } = failureOf(thrown);
        const { stack: _there, ...there } = failureOf(elsewhere(thrown));
        expect(there).toEqual(here);
      }),
    );
  });

  test.each([
    ["a configuration error", new ConfigurationError("wrong"), true],
    ["a subclass of it", new UnknownName("task", "x", []), true],
    ["a cancellation", new TaskCancelled("stopped"), true],
    ["any other", new Busy("later"), false],
  ])("is retried as it would have been here: %s", (_what, thrown, never) => {
    expect(isNeverRetried(elsewhere(thrown))).toBe(never);
    expect(failureOf(elsewhere(thrown)).retryable).toBe(!never);
  });

  test("is not taken for one of ours because a class of the user's has the same name", () => {
    const theirs = { ConfigurationError: class ConfigurationError extends Error {} };
    expect(isNeverRetried(elsewhere(new theirs.ConfigurationError("theirs")))).toBe(false);
  });
});

describe("a record", () => {
  test.each([
    ["text", "boom"],
    ["nothing", undefined],
    ["null", null],
    ["a function", () => 1],
    ["a number", 7],
    ["an object", { message: "half an error" }],
  ])("is made of %s, too", (_what, thrown) => {
    const record = recordError(thrown);
    expect(structuredClone(record)).toEqual(record);
    expect(record.failure.message).not.toBe("");
  });

  test("is made of what cannot be looked at", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile = new Proxy(new Error("x"), {
      getPrototypeOf() {
        throw new Error("hostile");
      },
    });
    for (const thrown of [proxy, hostile]) expect(recordError(thrown)).toMatchObject({ code: null, classes: [] });
  });

  test("takes no code that is no text, and ten classes at most", () => {
    expect(recordError(Object.assign(new Error("x"), { code: 7 })).code).toBeNull();
    let deep: new (message: string) => Error = Error;
    for (let depth = 0; depth < 20; depth += 1) deep = { Deep: class Deep extends deep {} }.Deep;
    expect(recordError(new deep("x")).classes).toHaveLength(10);
  });
});

test("any other value has no classes of elsewhere", () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  for (const value of [new Busy("here"), null, undefined, "Busy", 7, proxy]) expect(revivedClasses(value)).toEqual([]);
});
