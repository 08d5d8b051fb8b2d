import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { describeValue } from "../../src/core/describe-value.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { checkBoolean, checkInteger, checkOneOf, checkOptions } from "../../src/core/options.ts";

const KEYS = ["maxAttempts", "backoff"] as const;

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

describe("checkOptions", () => {
  afterEach(() => {
    Reflect.deleteProperty(Object.prototype, "maxAttempts");
  });

  it("gives the known options, and none for undefined", () => {
    expect({ ...checkOptions({ maxAttempts: 3 }, KEYS, "retry") }).toEqual({ maxAttempts: 3 });
    expect({ ...checkOptions(undefined, KEYS, "retry") }).toEqual({});
  });

  it("takes objects without a prototype and of other realms", () => {
    expect(checkOptions(Object.assign(Object.create(null), { backoff: 1 }), KEYS, "retry").backoff).toBe(1);
    expect(checkOptions(runInContext("({ backoff: 1 })", createContext()), KEYS, "retry").backoff).toBe(1);
  });

  it("refuses an unknown option and shows the nearest", () => {
    expect(() => checkOptions({ maxAttempst: 3 }, KEYS, "retry")).toThrow(
      'retry has no option "maxAttempst". Did you mean "maxAttempts"? Known: maxAttempts, backoff.',
    );
    expect(() => checkOptions({ zzzzzzzzz: undefined }, KEYS, "retry")).toThrow('retry has no option "zzzzzzzzz". Known: maxAttempts, backoff.');
  });

  it("shows where an unknown option belongs that is known one level deeper", () => {
    const inside = { backoff: ["base", "max"], limits: ["max"] };
    const keys = [...KEYS, "limits"] as const;
    expect(() => checkOptions({ base: 1 }, keys, "retry", inside)).toThrow(
      'retry has no option "base". It belongs one level deeper: backoff: { base }. Known:',
    );
    expect(() => checkOptions({ max: 1 }, keys, "retry", inside)).toThrow("one level deeper: backoff: { max } or limits: { max }.");
    expect(() => checkOptions({ maxAttempst: 1 }, keys, "retry", inside)).toThrow('Did you mean "maxAttempts"?');
  });

  it.each(["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"])("refuses the option %s like any other unknown one", (key) => {
    const options: unknown = JSON.parse(`{ "${key}": { "maxAttempts": 9 } }`);
    expect(() => checkOptions(options, KEYS, "retry")).toThrow(ConfigurationError);
    expect(Object.hasOwn(Object.prototype, "maxAttempts")).toBe(false);
  });

  it("does not see what was put on Object.prototype", () => {
    Object.defineProperty(Object.prototype, "maxAttempts", { value: 99, configurable: true, enumerable: true, writable: true });
    expect(checkOptions({}, KEYS, "retry").maxAttempts).toBeUndefined();
  });

  it.each([[null], [3], ["x"], [true], [[]], [() => 1], [new Map()], [new Date(0)], [Promise.resolve({})], [new (class Options {})()]])(
    "refuses %s",
    (value) => {
      expect(() => checkOptions(value, KEYS, "retry")).toThrow(/^retry must be a plain object; found/);
    },
  );

  it("refuses what cannot be read, and keeps the reason", () => {
    const boom = new Error("boom");
    const thrower = {
      get backoff(): never {
        throw boom;
      },
    };
    expect(() => checkOptions(thrower, KEYS, "retry")).toThrow(expect.objectContaining({ code: "CONFIGURATION", cause: boom }));
    expect(() => checkOptions(revoked(), KEYS, "retry")).toThrow(ConfigurationError);
  });
});

describe("checking one value", () => {
  it.each([1, 2, Number.MAX_SAFE_INTEGER])("checkInteger takes %d", (value) => {
    expect(checkInteger(value, "x", 1)).toBe(value);
  });

  it.each([0, -1, 1.5, NaN, Infinity, "4", 4n, null, undefined, true, [4], 2 ** 53])("checkInteger refuses %s", (value) => {
    expect(() => checkInteger(value, "concurrency.maxParallel", 1)).toThrow(/^concurrency\.maxParallel must be an integer of at least 1; found/);
  });

  it("checkOneOf lists the words", () => {
    expect(checkOneOf("b", ["a", "b"], "x")).toBe("b");
    expect(() => checkOneOf("other", ["a", "b"], "x")).toThrow(new ConfigurationError('x must be one of "a", "b"; found "other".'));
    expect(() => checkOneOf(7, ["a", "b"], "x")).toThrow(new ConfigurationError('x must be one of "a", "b"; found 7.'));
  });

  it("checkOneOf shows the nearest word, also by another name of it", () => {
    const words = ["succeeded", "failed"] as const;
    expect(() => checkOneOf("faild", words, "x")).toThrow('found "faild". Did you mean "failed"?');
    expect(() => checkOneOf("finishd", words, "x", { finished: "succeeded" })).toThrow('found "finishd". Did you mean "succeeded"?');
  });

  it.each([0, 1, "true", null, undefined])("checkBoolean refuses %s", (value) => {
    expect(() => checkBoolean(value, "x")).toThrow(/^x must be true or false; found/);
    expect(checkBoolean(false, "x")).toBe(false);
  });
});

describe("describeValue", () => {
  it.each([
    ["10", '"10"'],
    ["", '""'],
    [-0, "-0"],
    [NaN, "NaN"],
    [10n, "10n"],
    [undefined, "undefined"],
    [null, "null"],
    [Symbol("x"), "Symbol(x)"],
    [function work() {}, "function work"],
    [class Foo {}, "function Foo"],
    [[1, "a", {}, []], '[1, "a", {…}, […]]'],
    [[], "[]"],
    [{}, "{}"],
    [{ status: 404, body: { a: 1 }, "a-b": 1 }, '{ status: 404, body: {…}, "a-b": 1 }'],
    [Promise.resolve(), "Promise {}"],
    [new Map(), "Map {}"],
    [Object.create(null), "{}"],
  ])("shows %s as %s", (value, text) => {
    expect(describeValue(value)).toBe(text);
  });

  it("stands what cannot be read", () => {
    const thrower = {
      get a(): never {
        throw new Error("boom");
      },
    };
    expect(describeValue(revoked())).toBe("an object that cannot be read");
    expect(describeValue([revoked()])).toBe("[?]");
    expect(describeValue(thrower)).toBe('{ a: "?" }');
  });

  it("says of a date which it is, or that it is none", () => {
    expect(describeValue(new Date(0))).toBe("Date 1970-01-01T00:00:00.000Z");
    expect(describeValue(new Date("tomorrow"))).toBe("Invalid Date");
    expect(describeValue({ from: new Date(NaN), to: new Date(1) })).toBe("{ from: Invalid Date, to: Date 1970-01-01T00:00:00.001Z }");
    expect(describeValue({ [Symbol.toStringTag]: "Date", toJSON: () => "x".repeat(1_000) }).length).toBeLessThan(400);
  });

  it("is short and never empty, for any value", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSet: true, withTypedArray: true }), (value) => {
        const text = describeValue(value);
        expect(text.length).toBeGreaterThan(0);
        expect(text.length).toBeLessThan(400);
      }),
    );
    expect(describeValue("\u0000".repeat(1_000_000)).length).toBeLessThan(400);
    expect(describeValue(Array.from({ length: 1_000_000 }, () => 1)).length).toBeLessThan(400);
  });
});
