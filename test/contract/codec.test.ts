import { isDeepStrictEqual } from "node:util";
import { createContext, runInContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, StoreError, TaskCancelled } from "../../src/core/errors.ts";
import { copyValue, decodeValue, encodeValue } from "../../src/stores/codec.ts";
import type { BinaryName } from "../../src/stores/codec-format.ts";
import { BINARY_NAMES } from "../../src/stores/codec-format.ts";

const ARGS = { root: "args" } as const;
const encode = (value: unknown): string => encodeValue(value, ARGS);
const roundTrip = (value: unknown): unknown => decodeValue(encode(value));
const parsed = (text: string): unknown => JSON.parse(text);
const foreign = (code: string): unknown => runInContext(code, createContext({}));

function errorFrom(value: unknown): Error {
  const decoded = roundTrip(value);
  return decoded instanceof Error ? decoded : expect.fail("no Error came back");
}

class Point {
  readonly x = 1;
}

describe("readable as it is", () => {
  it.each([
    [[], "[]"],
    [["in/x.csv"], '["in/x.csv"]'],
    [[{ id: 1, name: "x" }], '[{"id":1,"name":"x"}]'],
    [null, "null"],
    [true, "true"],
    [0.1, "0.1"],
    [1e300, "1e+300"],
    [{}, "{}"],
    ["日本 \u001B[1m 🙂", String.raw`"日本 \u001b[1m 🙂"`],
    [{ b: 1, a: [{ 2: "x" }] }, '{"b":1,"a":[{"2":"x"}]}'],
  ])("%j", (value, text) => {
    expect(encode(value)).toBe(text);
    expect(roundTrip(value)).toStrictEqual(value);
  });
});

describe("tagged", () => {
  it.each<[string, unknown, string]>([
    ["undefined", undefined, '{"$type":"undefined"}'],
    ["NaN", Number.NaN, '{"$type":"number","value":"NaN"}'],
    ["Infinity", Number.POSITIVE_INFINITY, '{"$type":"number","value":"Infinity"}'],
    ["-Infinity", Number.NEGATIVE_INFINITY, '{"$type":"number","value":"-Infinity"}'],
    ["-0", -0, '{"$type":"number","value":"-0"}'],
    ["bigint", 2n ** 70n, '{"$type":"bigint","value":"1180591620717411303424"}'],
    ["negative bigint", -1n, '{"$type":"bigint","value":"-1"}'],
    ["Date", new Date(0), '{"$type":"Date","value":"1970-01-01T00:00:00.000Z"}'],
    ["far Date", new Date(-8.64e15), '{"$type":"Date","value":"-271821-04-20T00:00:00.000Z"}'],
    ["invalid Date", new Date(Number.NaN), '{"$type":"Date","value":null}'],
    ["URL", new URL("https://a.b/c?d=%20#e"), '{"$type":"URL","value":"https://a.b/c?d=%20#e"}'],
    ["URL with a quote", new URL('data:x"y'), String.raw`{"$type":"URL","value":"data:x\"y"}`],
    ["RegExp", /a"\/b/giu, String.raw`{"$type":"RegExp","source":"a\"\\/b","flags":"giu"}`],
    ["RegExp with U+0000", new RegExp(String.fromCodePoint(0)), String.raw`{"$type":"RegExp","source":{"$type":"string","value":"\\u0000"},"flags":""}`],
    ["U+0000", "a\0b", String.raw`{"$type":"string","value":"a\\u0000b"}`],
    ["lone surrogate", 'x"\uD800', String.raw`{"$type":"string","value":"x\\\"\\ud800"}`],
    ["Map", new Map<unknown, unknown>([["k", 1n]]), '{"$type":"Map","value":[["k",{"$type":"bigint","value":"1"}]]}'],
    [
      "Map of two",
      new Map<unknown, unknown>([
        [{ a: 1 }, 1],
        [undefined, [2]],
      ]),
      '{"$type":"Map","value":[[{"a":1},1],[{"$type":"undefined"},[2]]]}',
    ],
    ["Set", new Set([1, "b"]), '{"$type":"Set","value":[1,"b"]}'],
    ["Buffer", Buffer.from([0, 255]), '{"$type":"Buffer","value":"AP8="}'],
    ["look-alike", { $type: "Date", value: "x" }, '{"$type":"object","entries":[["$type","Date"],["value","x"]]}'],
    [
      "key with U+0000",
      { "\0": 1, z: undefined },
      String.raw`{"$type":"object","entries":[[{"$type":"string","value":"\\u0000"},1],["z",{"$type":"undefined"}]]}`,
    ],
    ["undefined in an object", { a: undefined, b: 1 }, '{"a":{"$type":"undefined"},"b":1}'],
    ["undefined in a list", [undefined, true, null, false], '[{"$type":"undefined"},true,null,false]'],
    ["a string that is the tag", ["$type"], '["$type"]'],
  ])("%s", (_name, value, text) => {
    expect(encode(value)).toBe(text);
    expect(roundTrip(value)).toStrictEqual(value);
    expect(encode(roundTrip(value))).toBe(text);
  });

  it("every buffer and view keeps its type and exactly its own bytes", () => {
    const bytes = new Uint8Array(64).map((_, index) => index * 5).buffer;
    const makers: Record<BinaryName, () => unknown> = {
      Buffer: () => Buffer.from(bytes, 8, 16),
      ArrayBuffer: () => bytes,
      DataView: () => new DataView(bytes, 3, 5),
      Int8Array: () => new Int8Array(bytes, 8, 3),
      Uint8Array: () => new Uint8Array(bytes, 8, 3),
      Uint8ClampedArray: () => new Uint8ClampedArray(bytes, 8, 3),
      Int16Array: () => new Int16Array(bytes, 8, 3),
      Uint16Array: () => new Uint16Array(bytes, 8, 3),
      Int32Array: () => new Int32Array(bytes, 8, 3),
      Uint32Array: () => new Uint32Array(bytes, 8, 3),
      Float16Array: () => Reflect.construct(Reflect.get(globalThis, "Float16Array") ?? Float32Array, [bytes, 8, 4]),
      Float32Array: () => new Float32Array(bytes, 8, 4),
      Float64Array: () => new Float64Array(bytes, 8, 4),
      BigInt64Array: () => new BigInt64Array(bytes, 8, 2),
      BigUint64Array: () => new BigUint64Array(bytes, 8, 2),
    };
    for (const name of BINARY_NAMES) {
      const value = makers[name]();
      const decoded = roundTrip([value]);
      expect(decoded).toStrictEqual([value]);
      expect(encode(decoded)).toBe(encode([value]));
    }
  });

  it("bytes of a shared buffer are copied", () => {
    expect(roundTrip(new Uint8Array(new SharedArrayBuffer(2)))).toStrictEqual(new Uint8Array(2));
  });

  it("no bytes but its own come with a decoded Buffer", () => {
    const decoded = roundTrip(Buffer.from("abc"));
    expect(Buffer.isBuffer(decoded) && decoded.buffer.byteLength).toBe(3);
  });
});

describe("comes back changed, as documented", () => {
  it("an Error keeps name, message, stack, cause and own properties, but not its class", () => {
    const original = new TypeError("no\0good", { cause: new TaskCancelled("stopped") });
    const decoded = errorFrom(Object.assign(original, { code: "E1", at: new Date(5) }));
    expect(Object.getPrototypeOf(decoded)).toBe(Error.prototype);
    expect(decoded).toMatchObject({ name: "TypeError", message: "no\0good", stack: original.stack, code: "E1", at: new Date(5) });
    expect(Object.keys(decoded)).toEqual(["code", "at"]);
    expect(decoded.cause).toMatchObject({ name: "TaskCancelled", message: "stopped", code: "TASK_CANCELLED" });
    expect(encode(decoded)).toBe(encode(original));
  });

  it.each<[string, () => Error, object]>([
    ["AggregateError", () => new AggregateError([new Error("a"), 1n], "two"), { name: "AggregateError", message: "two", errors: [{ message: "a" }, 1n] }],
    ["DOMException", () => new DOMException("gone", "AbortError"), { name: "AbortError", message: "gone" }],
    ["cause undefined", () => new Error("x", { cause: undefined }), { cause: undefined }],
    ["symbol brand", () => Object.assign(new Error("x"), { [Symbol("brand")]: true, n: 1 }), { n: 1 }],
    ["message no text", () => Object.assign(new Error("x"), { message: { a: 1 } }), { message: { a: 1 } }],
    ["look-alike property", () => Object.assign(new Error("x"), { $type: "Date" }), { $type: "Date" }],
    ["stack of call sites", () => Object.assign(new Error("x"), { stack: [new Point()] }), { stack: undefined }],
  ])("Error: %s", (_name, make, expected) => {
    expect(errorFrom(make())).toMatchObject(expected);
  });

  it("an Error has no cause where it had none", () => {
    expect(Object.hasOwn(errorFrom(new Error("x")), "cause")).toBe(false);
  });

  it("an object without a prototype gets one", () => {
    const bare: object = Object.assign(Object.create(null), { a: 1, constructor: 2 });
    expect(roundTrip(bare)).toStrictEqual({ a: 1, constructor: 2 });
    expect(roundTrip([bare, undefined])).toStrictEqual([{ a: 1, constructor: 2 }, undefined]);
  });

  it("holes become undefined", () => {
    const sparse: unknown[] = [1];
    sparse[2] = 3;
    expect(roundTrip(sparse)).toStrictEqual([1, undefined, 3]);
  });

  it("lastIndex, non-enumerable properties and extra properties of a list are left out", () => {
    const regExp = /a/g;
    regExp.lastIndex = 5;
    expect(roundTrip(regExp)).toHaveProperty("lastIndex", 0);
    expect(roundTrip(Object.defineProperty({ a: 1 }, "b", { value: () => 1 }))).toStrictEqual({ a: 1 });
    expect(roundTrip(Object.assign([1], { extra: 2 }))).toStrictEqual([1]);
    expect(roundTrip(Object.defineProperty({ a: 1 }, Symbol("hidden"), { value: 1 }))).toStrictEqual({ a: 1 });
  });

  it("shared references are doubled", () => {
    const shared = { d: new Date(1) };
    const decoded = roundTrip([shared, shared]);
    expect(decoded).toStrictEqual([{ d: new Date(1) }, { d: new Date(1) }]);
    expect(Array.isArray(decoded) && decoded[0] !== decoded[1]).toBe(true);
  });

  it("values of another realm become values of this one", () => {
    const value = foreign(
      "({ list: [1, , 3], date: new Date(1), map: new Map([[1, { a: 1n }]]), re: /x/u, bytes: new Uint16Array([1, 2]), buffer: new ArrayBuffer(2) })",
    );
    const expected = {
      list: [1, undefined, 3],
      date: new Date(1),
      map: new Map([[1, { a: 1n }]]),
      re: /x/u,
      bytes: new Uint16Array([1, 2]),
      buffer: new ArrayBuffer(2),
    };
    expect(roundTrip(value)).toStrictEqual(expected);
    expect(errorFrom(foreign("new RangeError('far')"))).toMatchObject({ name: "RangeError", message: "far" });
  });

  it("getters and proxies that answer are read", () => {
    const value = new Proxy(
      {
        list: [1n],
        get later() {
          return "read";
        },
      },
      {},
    );
    expect(roundTrip(value)).toStrictEqual({ list: [1n], later: "read" });
  });
});

describe("keys", () => {
  it("keep their order", () => {
    const decoded = roundTrip({ z: 1, $type: undefined, a: 2, "\uDC00": 3, m: 4 });
    expect(Object.keys(Object(decoded))).toEqual(["z", "$type", "a", "\uDC00", "m"]);
  });

  it.each(["constructor", "toString", "hasOwnProperty", "toJSON", "__defineGetter__", "then", ""])("%j survives as an own key", (key) => {
    expect(roundTrip({ [key]: 1 })).toStrictEqual({ [key]: 1 });
    expect(roundTrip({ [key]: 1n, $type: 1 })).toStrictEqual({ [key]: 1n, $type: 1 });
  });

  it.each([
    ["plain", '[{"a":1,"__proto__":{"polluted":true}}]'],
    ["alone", '{"__proto__":{"polluted":true}}'],
    ["inside itself", '{"a":{"__proto__":{"__proto__":{"polluted":true}}}}'],
    ["escaped", String.raw`{"\u005f_proto__":{"polluted":true}}`],
    ["as pairs", '{"$type":"object","entries":[["__proto__",{"polluted":true}],["a",1]]}'],
    ["as a tagged key", String.raw`{"$type":"object","entries":[[{"$type":"string","value":"__pr\\u006fto__"},{"polluted":true}]]}`],
    ["on an Error", '{"$type":"Error","message":"m","props":{"__proto__":{"polluted":true}}}'],
    ["beside a tag", '{"$type":"Map","value":[[1,{"__proto__":{"polluted":true}}]],"__proto__":{"polluted":true}}'],
  ])("__proto__ never sets a prototype and never appears: %s", (_name, text) => {
    const decoded = decodeValue(text);
    expect(Reflect.get({}, "polluted")).toBeUndefined();
    expect(encode(decoded)).not.toMatch(/polluted|__proto__/);
    expect(Reflect.get(Object(decoded), "polluted")).toBeUndefined();
  });

  it("an own __proto__ can be encoded and is dropped on the way back", () => {
    const value = parsed('{"a":1,"__proto__":{"polluted":true}}');
    expect(encode(value)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(roundTrip(value)).toStrictEqual({ a: 1 });
    expect(roundTrip([value, 1n])).toStrictEqual([{ a: 1 }, 1n]);
    expect(roundTrip({ $type: value })).toStrictEqual({ $type: { a: 1 } });
  });

  it("a text with a tag behind an escape is read as a tag", () => {
    expect(decodeValue(String.raw`{"\u0024type":"bigint","value":"7"}`)).toBe(7n);
  });
});

describe("copyValue", () => {
  it("shares nothing and gives what a store would", () => {
    const value = { list: [1, { d: new Date(3) }], bytes: Buffer.from("x") };
    const copy = copyValue(value, ARGS);
    expect(copy).toStrictEqual(value);
    value.bytes[0] = 0;
    value.list.push(2);
    expect(copy).toStrictEqual({ list: [1, { d: new Date(3) }], bytes: Buffer.from("x") });
  });

  it.each([undefined, null, true, -0, Number.NaN, "text", "\0\uD800", 5n])("scalar %s", (value) => {
    expect(copyValue(value, ARGS)).toBe(value);
  });

  it("holds the limit and the refusals for what has no parts, too", () => {
    expect(() => copyValue("x".repeat(100), { root: "args", maxBytes: 100 })).toThrow(/takes 102 bytes/);
    expect(copyValue("x".repeat(98), { root: "args", maxBytes: 100 })).toBe("x".repeat(98));
    expect(() => copyValue(-0, { root: "args", maxBytes: 10 })).toThrow(/takes 31 bytes/);
    expect(() => copyValue(() => 1, ARGS)).toThrow(ConfigurationError);
  });
});

describe("any value", () => {
  const string = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("$type", "\0", "\uD800", "\uDC00x", String.raw`\u0000`, '"$type"', "constructor"),
  );
  const key = string.filter((text) => text !== "__proto__");
  const anything = fc.anything({
    key,
    values: [fc.boolean(), fc.double(), fc.integer(), string, fc.constantFrom(undefined, null), fc.bigInt(), fc.date({ noInvalidDate: false })],
    withMap: true,
    withSet: true,
    withSparseArray: false,
    withTypedArray: true,
    maxDepth: 5,
  });

  it("comes back equal, and the second text is the first", () => {
    fc.assert(
      fc.property(anything, (value) => {
        const text = encode(value);
        const decoded = decodeValue(text);
        // Not toStrictEqual: an own key "constructor" misleads it.
        expect(isDeepStrictEqual(decoded, value)).toBe(true);
        expect(encode(decoded)).toBe(text);
        expect(isDeepStrictEqual(copyValue(value, ARGS), value)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it("never writes U+0000 or a lone surrogate, escaped or not", () => {
    fc.assert(
      fc.property(fc.oneof(anything, fc.string({ unit: "binary" }), fc.dictionary(string, string)), (value) => {
        const seen: string[] = [];
        JSON.parse(encode(value), (name: string, item: unknown) => {
          seen.push(name, typeof item === "string" ? item : "");
          return item;
        });
        expect(seen.filter((text) => text.includes("\0") || !text.isWellFormed())).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  it("a text of any kind is a value or a StoreError", () => {
    const tagged = fc.record(
      {
        $type: fc.constantFrom("Map", "Set", "Error", "object", "string", "Date", "RegExp", "Int16Array", "x"),
        value: fc.jsonValue(),
        entries: fc.jsonValue(),
        props: fc.jsonValue(),
      },
      { requiredKeys: ["$type"] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          tagged.map((value) => JSON.stringify([value])),
        ),
        (text) => {
          try {
            decodeValue(text);
          } catch (error) {
            expect(error).toBeInstanceOf(StoreError);
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});
