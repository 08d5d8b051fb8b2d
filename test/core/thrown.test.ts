import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, TaskCancelled, UnknownName } from "../../src/core/errors.ts";
import { FAILURE_KINDS } from "../../src/core/failure.ts";
import { failureOf, MAX_CAUSES, MAX_MESSAGE_LENGTH, MAX_STACK_LENGTH, toError } from "../../src/core/thrown.ts";

function revoked(target: object): object {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const boom = (): never => {
  throw new Error("from a getter");
};

function withThrowingGetters(target: object): object {
  for (const key of ["message", "stack", "name", "toString", "cause", "errors", "code", "constructor", Symbol.toStringTag, Symbol.toPrimitive, "toJSON"]) {
    Object.defineProperty(target, key, { get: boom, configurable: true, enumerable: true });
  }
  return target;
}

/** Name in the title, the value made in the test: the runner itself cannot print some of them. */
const ODD: readonly (readonly [title: string, make: () => unknown, name: string, message: string])[] = [
  ["undefined", () => undefined, "undefined", "undefined was thrown"],
  ["null", () => null, "null", "null was thrown"],
  ["0", () => 0, "number", "0 was thrown"],
  ["NaN", () => NaN, "number", "NaN was thrown"],
  ["false", () => false, "boolean", "false was thrown"],
  ["an empty text", () => "", "string", '"" was thrown'],
  ["a text of blanks", () => " \n\u200b", "string", '" \\n\u200b" was thrown'],
  ["a text", () => "text", "string", "text"],
  ["{}", () => ({}), "Object", "{} was thrown"],
  ["an object with data", () => ({ status: 404 }), "Object", "{ status: 404 } was thrown"],
  ["an object with a message", () => ({ message: "gone", code: 1 }), "Object", "gone"],
  ["an object without a prototype", () => Object.create(null), "object", "{} was thrown"],
  ["a symbol", () => Symbol("x"), "symbol", "Symbol(x) was thrown"],
  ["a bigint", () => 10n, "bigint", "10n was thrown"],
  ["a function", () => function work() {}, "function", "function work was thrown"],
  ["a promise", () => Promise.resolve(1), "Promise", "Promise {} was thrown"],
  ["an array", () => [1, 2], "Array", "[1, 2] was thrown"],
  ["a revoked proxy", () => revoked({}), "object", "an object that cannot be read was thrown"],
  ["a revoked proxy of a function", () => revoked(() => 1), "function", "function was thrown"],
  ["an object whose getters throw", () => withThrowingGetters({}), "object", ""],
  ["an Error whose getters throw", () => withThrowingGetters(new Error("x")), "Error", "Error without a message"],
  [
    "an Error whose message is an object",
    () => Object.assign(new RangeError("x"), { message: { a: 1 } }),
    "RangeError",
    "RangeError with the message { a: 1 }",
  ],
  ["an Error without a message", () => new TypeError(), "TypeError", "TypeError without a message"],
  ["an Error whose name is an object", () => Object.assign(new TypeError("x"), { name: {} }), "TypeError", "x"],
  ["a frozen Error", () => Object.freeze(new Error("cold")), "Error", "cold"],
  ["a DOMException", () => new DOMException("no", "AbortError"), "AbortError", "no"],
  ["an Error of another realm", () => runInContext("new SyntaxError('far')", createContext()), "SyntaxError", "far"],
  ["an AggregateError without a message", () => new AggregateError([new Error("a"), "b", {}]), "AggregateError", "AggregateError: a; b; {}"],
];

describe("failureOf, for anything that can be thrown", () => {
  it.each(ODD)("%s", (_title, make, name, message) => {
    const failure = failureOf(make());
    expect(failure.name).toBe(name);
    if (message !== "") expect(failure.message).toBe(message);
    expect(failure.message).toMatch(/[\p{L}\p{N}\p{P}\p{S}]/u);
    expect(JSON.parse(JSON.stringify(failure))).toEqual(failure);
    expect(failure).toMatchObject({ kind: "exception", retryable: true, exitCode: null, signal: null, forced: false, abandoned: false });
  });

  it("holds for random values too", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
    });
    const error = fc
      .record({ message: anything, name: anything, stack: anything, cause: anything, errors: anything }, { requiredKeys: [] })
      .map((fields) => Object.assign(new Error("x"), fields));
    fc.assert(
      fc.property(fc.oneof(anything, error), (thrown) => {
        const failure = failureOf(thrown);
        for (const { name, message, stack } of [failure, ...failure.causes]) {
          expect(message).toMatch(/[^\p{C}\p{Z}]/u);
          expect(name).toMatch(/[^\p{C}\p{Z}]/u);
          expect(message.isWellFormed()).toBe(true);
          expect(stack).not.toBe("");
        }
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure);
      }),
    );
  });
});

describe("failureOf, the error's own facts", () => {
  it("names a subclass that sets no name by its class", () => {
    class PaymentRefused extends Error {}
    expect(failureOf(new PaymentRefused("x")).name).toBe("PaymentRefused");
  });

  it("keeps the stack whole", () => {
    const error = new Error("x");
    expect(failureOf(error).stack).toBe(error.stack);
    expect(error.stack).toContain("thrown.test.ts");
  });

  it("shows control characters and changes of direction as escapes, keeps lines, drops no letter", () => {
    const { message } = failureOf(new Error("a\u0000b\u001b[31mc\r\nd\te\u202ef\ud800g\rh 客户"));
    expect(message).toBe("a\\u0000b\\u001b[31mc\nd\te\\u202ef\ufffdg\\u000dh 客户");
  });

  it("cuts an enormous message, also inside the stack, whose frames stay", () => {
    const error = new Error("m".repeat(5_000_000));
    const { message, stack } = failureOf(error);
    expect(message).toBe(`${"m".repeat(MAX_MESSAGE_LENGTH)}… (${5_000_000 - MAX_MESSAGE_LENGTH} more characters)`);
    expect(stack).toContain("thrown.test.ts");
    expect(stack?.length).toBeLessThan(MAX_MESSAGE_LENGTH + 5_000);
  });

  it("cuts an enormous stack and name", () => {
    const failure = failureOf(Object.assign(new Error("x"), { stack: "s".repeat(5_000_000), name: "n".repeat(5_000_000) }));
    expect(failure.stack?.length).toBeLessThan(MAX_STACK_LENGTH + 100);
    expect(failure.name.length).toBeLessThan(300);
    expect(failureOf("t".repeat(5_000_000)).message.length).toBeLessThan(MAX_MESSAGE_LENGTH + 100);
  });

  it("has no stack where the error has none", () => {
    expect(failureOf(Object.assign(new Error("x"), { stack: undefined })).stack).toBeNull();
    expect(failureOf(Object.assign(new Error("x"), { stack: "" })).stack).toBeNull();
    expect(failureOf("x").stack).toBeNull();
  });

  it("cannot be changed", () => {
    const failure = failureOf(new Error("x", { cause: new Error("y") }));
    expect([failure, failure.causes, ...failure.causes].every((part) => Object.isFrozen(part))).toBe(true);
  });

  it("leaves the thrown value as it was", () => {
    const thrown = { status: 404 };
    failureOf(thrown);
    expect(thrown).toEqual({ status: 404 });
  });
});

describe("failureOf, causes", () => {
  const messagesOf = (thrown: unknown) => failureOf(thrown).causes.map(({ message }) => message);

  it("are the chain, nearest first, with their stacks", () => {
    const root = new TypeError("root");
    const { causes } = failureOf(new Error("top", { cause: new Error("middle", { cause: root }) }));
    expect(causes.map(({ name, message }) => [name, message])).toEqual([
      ["Error", "middle"],
      ["TypeError", "root"],
    ]);
    expect(causes[1]?.stack).toBe(root.stack);
  });

  it("may be no errors", () => {
    expect(failureOf(new Error("top", { cause: "disk full" })).causes).toEqual([{ name: "string", message: "disk full", stack: null }]);
    expect(messagesOf(new Error("top", { cause: 0 }))).toEqual(["0"]);
    expect(messagesOf(new Error("top", { cause: revoked({}) }))).toEqual(["an object that cannot be read"]);
    expect(messagesOf({ cause: new Error("under a plain object") })).toEqual(["under a plain object"]);
    expect(messagesOf(new Error("top", { cause: null }))).toEqual([]);
  });

  it("end at a cycle", () => {
    const a = new Error("a");
    const b = new Error("b", { cause: a });
    a.cause = b;
    expect(messagesOf(a)).toEqual(["b"]);
    const self = new Error("self");
    self.cause = self;
    expect(messagesOf(self)).toEqual([]);
  });

  it("are at most 10, in a chain of 100,000 as in one without end", () => {
    let chain = new Error("0");
    for (let n = 1; n < 100_000; n += 1) chain = new Error(String(n), { cause: chain });
    expect(messagesOf(chain)).toHaveLength(MAX_CAUSES);
    class Endless extends Error {
      override get cause(): unknown {
        return new Endless("again");
      }
    }
    expect(messagesOf(new Endless("first"))).toHaveLength(MAX_CAUSES);
  });

  it("hold what an AggregateError gathered, after its own cause", () => {
    const gathered = new AggregateError([new Error("a", { cause: "a1" }), new Error("b")], "all", { cause: new Error("why") });
    expect(messagesOf(gathered)).toEqual(["why", "a", "a1", "b"]);
    expect(messagesOf(new AggregateError(Array.from({ length: 1_000 }, (_, n) => new Error(String(n)))))).toHaveLength(MAX_CAUSES);
    expect(messagesOf(Object.assign(new Error("x"), { errors: revoked([]) }))).toEqual([]);
  });

  it("hold both errors of a SuppressedError", () => {
    const suppressed = Object.assign(new Error("x"), { name: "SuppressedError", error: new Error("close failed"), suppressed: new Error("work failed") });
    expect(messagesOf(suppressed)).toEqual(["close failed", "work failed"]);
  });
});

describe("failureOf, what else is known", () => {
  it("takes it over", () => {
    const base = { kind: "nonzero_exit", retryable: false, exitCode: 3, signal: "SIGKILL", forced: true, abandoned: true } as const;
    expect(failureOf(new Error("x"), base)).toMatchObject(base);
  });

  it.each(FAILURE_KINDS)("%s is retryable or not by its nature, unless told", (kind) => {
    const natural = !["cancelled", "lost", "dependency_failed", "condition_false"].includes(kind);
    expect(failureOf(new Error("x"), { kind }).retryable).toBe(natural);
    expect(failureOf(new Error("x"), { kind, retryable: !natural }).retryable).toBe(!natural);
  });

  it.each([new TaskCancelled("stop"), new ConfigurationError("wrong"), new UnknownName("task", "x", [])])("%s is never retryable", (error) => {
    expect(failureOf(error).retryable).toBe(false);
    expect(failureOf(error, { retryable: true }).retryable).toBe(false);
  });
});

describe("toError", () => {
  it("gives an Error back as it is", () => {
    const error = Object.freeze(new TypeError("x"));
    expect(toError(error)).toBe(error);
  });

  it.each(ODD)("makes one Error of %s, once, with the original at hand", (_title, make) => {
    const thrown = make();
    const error = toError(thrown);
    expect(error instanceof Error && toError(error) === error).toBe(true);
    expect(error === thrown || Object.is(error.cause, thrown)).toBe(true);
    if (error !== thrown) expect(error.message).toBe(failureOf(thrown).message);
  });
});
