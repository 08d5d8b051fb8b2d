import { describe, expect, it } from "vitest";
import { ConfigurationError, StoreError } from "../../src/core/errors.ts";
import { decodeValue, encodeValue } from "../../src/stores/codec.ts";
import { MAX_DEPTH } from "../../src/stores/codec-format.ts";

const encode = (value: unknown): string => encodeValue(value, { root: "args" });

/** The value inside so many containers, each made by `wrap`. */
function nested(depth: number, wrap: (inner: unknown) => unknown, innermost: unknown = 1): unknown {
  let value = innermost;
  for (let level = 0; level < depth; level += 1) {
    value = wrap(value);
  }
  return value;
}

function thrownBy(act: () => unknown): unknown {
  try {
    act();
  } catch (error) {
    return error;
  }
  return expect.fail("nothing was thrown");
}

function nameThrownBy(act: () => unknown): string | null {
  try {
    act();
    return null;
  } catch (error) {
    return error instanceof Error ? error.name : "no Error";
  }
}

function refusal(value: unknown): string {
  const error = thrownBy(() => encode(value));
  expect(error).toBeInstanceOf(ConfigurationError);
  return error instanceof Error ? error.message : "";
}

function refusedPath(value: unknown): string {
  return refusal(value).split(" cannot be stored")[0] ?? "";
}

class Point {
  readonly x = 1;
}

describe("refused with the path and an advice", () => {
  it.each<[string, unknown, string]>([
    ["function", [{ rows: [0, 0, 0, { fn: () => 1 }] }], "args[0].rows[3].fn"],
    ["at the root", () => 1, "args"],
    ["symbol", [Symbol("s")], "args[0]"],
    ["symbol key", [{ a: { [Symbol("s")]: 1 } }], "args[0].a"],
    ["symbol key of a list", [Object.assign([1], { [Symbol("s")]: 1 })], "args[0]"],
    ["class instance", [{ p: new Point() }], "args[0].p"],
    ["class instance with symbols", [new AbortController().signal], "args[0]"],
    ["Promise", [Promise.resolve()], "args[0]"],
    ["WeakMap", [new WeakMap()], "args[0]"],
    ["boxed primitive", [Object("text")], "args[0]"],
    ["SharedArrayBuffer", [new SharedArrayBuffer(1)], "args[0]"],
    ["URLSearchParams", [new URLSearchParams("a=1")], "args[0]"],
    ["subclass of Array", [new (class List extends Array {})()], "args[0]"],
    ["list without a prototype", [Object.setPrototypeOf([1], null)], "args[0]"],
    ["subclass of Map", [new (class Dictionary extends Map {})()], "args[0]"],
    ["subclass of Date", [new (class Day extends Date {})()], "args[0]"],
    ["subclass of Uint8Array", [new (class Blob8 extends Uint8Array {})(1)], "args[0]"],
    ["subclass of ArrayBuffer", [new (class Memory extends ArrayBuffer {})(1)], "args[0]"],
    ["subclass of Set, RegExp, URL", [new (class Bag extends Set {})()], "args[0]"],
    ["subclass of RegExp", [new (class Pattern extends RegExp {})("a")], "args[0]"],
    ["subclass of URL", [new (class Link extends URL {})("a:b")], "args[0]"],
    ["Map with a property", [Object.assign(new Map(), { extra: 1 })], "args[0]"],
    ["Map value", [new Map([["k", () => 1]])], 'args[0].<Map value "k">'],
    ["Map value of a number", [new Map([[5, () => 1]])], "args[0].<Map value 5>"],
    [
      "Map value of an object",
      [
        new Map<unknown, unknown>([
          [1, 1],
          [{}, () => 1],
        ]),
      ],
      "args[0].<Map value of entry 1>",
    ],
    ["Map key", [new Map([[() => 1, 1]])], "args[0].<Map key of entry 0>"],
    ["Map key null", [new Map([[null, Symbol("s")]])], "args[0].<Map value null>"],
    ["Set item", [new Set([1, Symbol("s")])], "args[0].<Set item 1>"],
    ["Error property", [Object.assign(new Error("x"), { request: () => 1 })], "args[0].request"],
    ["Error cause", [new Error("x", { cause: Symbol("s") })], "args[0].cause"],
    ["key that is no name", [{ "a b": { 名: () => 1 } }], 'args[0]["a b"]["名"]'],
    ["long key", [{ ["k".repeat(100)]: () => 1 }], `args[0]["${"k".repeat(60)}…"]`],
    ["look-alike", [{ $type: () => 1 }], "args[0].$type"],
    [
      "long path",
      nested(
        20,
        (inner) => [inner],
        () => 1,
      ),
      "args[0][0][0][0][0][0][0][0][0] … 8 more … [0][0][0]",
    ],
  ])("%s", (_name, value, path) => {
    expect(refusedPath(value)).toBe(path);
  });

  it.each<[string, unknown, RegExp]>([
    ["function", [() => 1], /^args\[0\] cannot be stored: it is a function\. Pass the data/],
    ["symbol key", [{ [Symbol("s")]: 1 }], /has a symbol for a key, Symbol\(s\)\. Use strings/],
    ["Promise", [Promise.resolve()], /Await it first/],
    ["boxed primitive", [Object(1n)], /valueOf/],
    ["class instance with symbols", [new AbortController().signal], /instance of AbortSignal/],
    ["class instance", [new Point()], /instance of Point\. Pass the plain data/],
    [
      "class with toJSON",
      [
        new (class Money {
          toJSON(): number {
            return 1;
          }
        })(),
      ],
      /instance of Money\. Call its toJSON\(\)/,
    ],
    ["object with a prototype", [Object.create({ a: 1 })], /a prototype of its own/],
    ["object without any constructor", [Object.create(Object.create(null))], /a prototype of its own/],
    [
      "class whose name is no text",
      [
        new (class {
          static name(): void {}
        })(),
      ],
      /a prototype of its own/,
    ],
    ["imitation of a literal's prototype", [Object.create({ constructor: Object })], /a prototype of its own/],
  ])("message: %s", (_name, value, message) => {
    expect(refusal(value)).toMatch(message);
  });

  it("toJSON is never called", () => {
    let calls = 0;
    const toJSON = (): number => (calls += 1);
    expect(refusedPath([{ toJSON }])).toBe("args[0].toJSON");
    expect(decodeValue(encode(Object.defineProperty({ a: 1 }, "toJSON", { value: toJSON })))).toStrictEqual({ a: 1 });
    expect(calls).toBe(0);
  });

  it.each<[string, () => unknown, string]>([
    [
      "getter",
      () => [
        {
          get a(): never {
            throw new Error("boom");
          },
        },
      ],
      "args[0].a",
    ],
    [
      "revoked proxy of an object",
      () => {
        const made = Proxy.revocable({}, {});
        made.revoke();
        return [{ p: made.proxy }];
      },
      "args[0].p",
    ],
    [
      "revoked proxy of a list",
      () => {
        const made = Proxy.revocable([], {});
        made.revoke();
        return [made.proxy];
      },
      "args[0]",
    ],
    [
      "Error whose message throws",
      () => [
        Object.defineProperty(new Error("x"), "message", {
          get(): never {
            throw new Error("boom");
          },
        }),
      ],
      "args[0].message",
    ],
    ["imitation of a URL", () => [Object.create(URL.prototype)], "args[0]"],
    [
      "class that hides its name",
      () => [
        Object.create({
          get constructor(): never {
            throw new Error("boom");
          },
        }),
      ],
      "args[0]",
    ],
    [
      "proxy whose length throws",
      () => [
        new Proxy([1n], {
          get(target, key): unknown {
            if (key === "length") {
              throw new Error("boom");
            }
            return Reflect.get(target, key);
          },
        }),
      ],
      "args[0]",
    ],
  ])("what throws when it is read: %s", (_name, make, path) => {
    const error = thrownBy(() => encode(make()));
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toHaveProperty("message", `${path} cannot be stored: it could not be read: its getter or proxy threw. Pass plain data.`);
    expect(error).toHaveProperty("cause", expect.any(Error));
  });

  it("an ArrayBuffer that was transferred away", () => {
    const view = new Uint8Array(8);
    structuredClone(view.buffer, { transfer: [view.buffer] });
    expect(refusedPath([view])).toBe("args[0]");
  });

  it("cycles, with both ends", () => {
    const node: Record<string, unknown> = { id: 1 };
    node["list"] = [0, new Map([["up", node]])];
    expect(refusal([node])).toBe('args[0].list[1].<Map value "up"> cannot be stored: it refers back to args[0]: a cycle. Refer to it by an id.');
    const list: unknown[] = [];
    list.push(list);
    expect(refusal(list)).toMatch(/^args\[0\] .* refers back to args: a cycle/);
    const error = new Error("x");
    error.cause = error;
    expect(refusal(error)).toMatch(/^args\.cause .* refers back to args/);
  });
});

describe("depth", () => {
  const WRAPS: readonly (readonly [string, (inner: unknown) => unknown])[] = [
    ["lists", (inner) => [inner]],
    ["objects", (inner) => ({ a: inner })],
    ["Map keys", (inner) => new Map([[inner, 1]])],
    ["Map values", (inner) => new Map([[1, inner]])],
    ["Sets", (inner) => new Set([inner])],
    ["causes", (inner) => new Error("e", { cause: inner })],
    ["Error properties", (inner) => Object.assign(new Error("e"), { inner })],
    ["look-alikes", (inner) => ({ $type: inner })],
  ];

  it.each(WRAPS)("%s: the deepest value makes the round trip, one level more does not", (_name, wrap) => {
    for (const innermost of [1, undefined, "\0"]) {
      const text = encode(nested(MAX_DEPTH, wrap, innermost));
      expect(encode(decodeValue(text))).toBe(text);
    }
    expect(refusal(nested(MAX_DEPTH + 1, wrap))).toMatch(/more than 500 levels deep\. Make the data flatter/);
  });

  it.each(WRAPS.filter(([name]) => name !== "causes" && name !== "Error properties"))("%s: 100,000 levels are refused, not overflowed", (_name, wrap) => {
    expect(refusal(nested(100_000, wrap))).toMatch(/levels deep/);
  });

  it.each([
    ["lists", "[", "]"],
    ["objects", '{"a":', "}"],
    ["Sets", '{"$type":"Set","value":[', "]}"],
  ])("a text of 100,000 levels is a StoreError: %s", (_name, open, close) => {
    expect(() => decodeValue(`${open.repeat(100_000)}1${close.repeat(100_000)}`)).toThrow(StoreError);
  });

  it("a caller that left too little stack is told so, both ways", () => {
    const value = nested(MAX_DEPTH, (inner) => ({ a: inner }), undefined);
    const text = encode(value);
    const names = new Set<unknown>();
    // Once the stack has overflowed, each way is tried at every 50th frame on the way back up.
    const descend = (frame: number): void => {
      try {
        descend(frame + 1);
      } catch {
        // What is thrown at the very end of a stack is of any kind.
      }
      if (frame % 50 === 0) {
        names.add(nameThrownBy(() => encode(value)));
        names.add(nameThrownBy(() => decodeValue(text)));
      }
    };
    descend(0);
    expect([...names]).toEqual(expect.arrayContaining(["ConfigurationError", "StoreError", null]));
  });
});

describe("size", () => {
  const limited = (value: unknown, maxBytes: number): string => encodeValue(value, { root: "outcome", maxBytes });

  it("exactly the limit passes, one byte more does not", () => {
    expect(limited("aaaa", 6)).toBe('"aaaa"');
    expect(limited("ää", 6)).toBe('"ää"');
    expect(() => limited("äää", 7)).toThrow(
      "outcome cannot be stored: as JSON it takes 8 bytes, and the limit is 7 bytes. Keep large data in a file and pass its name.",
    );
    expect(() => limited(undefined, 20)).toThrow(/takes 21 bytes/);
    expect(() => limited([1n], 20)).toThrow(/takes 32 bytes/);
  });

  it("tells the true size up to eight times the limit, then that it is more", () => {
    expect(() => limited("x".repeat(6_000), 1_000)).toThrow(/takes 6,002 bytes, and the limit is 1,000 bytes/);
    expect(() => limited(["x".repeat(9_000)], 1_000)).toThrow(/takes more than 8,000 bytes/);
    expect(() => limited({ a: "x".repeat(9_000), b: 1n }, 1_000)).toThrow(/takes more than 8,000 bytes/);
    expect(() => limited(new Uint8Array(9_000), 1_000)).toThrow(/takes more than 8,000 bytes/);
    expect(() => limited(["\u0001".repeat(2_000)], 1_000)).toThrow(/takes more than 8,000 bytes/);
  });

  it("shared references that would grow without bound end at the limit", () => {
    const bomb = nested(60, (inner) => [inner, inner]);
    expect(() => limited(bomb, 100_000)).toThrow(/takes more than 800,000 bytes/);
    expect(() =>
      limited(
        nested(60, (inner) => ({ left: inner, right: inner })),
        100_000,
      ),
    ).toThrow(/takes more than 800,000 bytes/);
  });

  it("a list that is nearly all holes ends at the limit", () => {
    const holes: unknown[] = [];
    holes.length = 4_000_000_000;
    expect(() => limited(holes, 10_000)).toThrow(/takes more than 80,000 bytes/);
  });
});

describe("texts that were not written here", () => {
  it.each(["", "{", "nope", "[1,]", '"\u0001"'])("no JSON: %j", (text) => {
    const error = thrownBy(() => decodeValue(text));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toHaveProperty("cause", expect.any(SyntaxError));
  });

  it.each([
    ["unknown tag", '[{"$type":"Money","value":1}]', /unknown tag "Money"/],
    ["tag that is no text", '{"$type":{"a":1}}', /unknown tag/],
    ["tag named like a method", '{"$type":"constructor"}', /unknown tag/],
    ["number", '{"$type":"number","value":"5"}', /needs no tag/],
    ["bigint", '{"$type":"bigint","value":"0x10"}', /no whole number/],
    ["bigint without value", '{"$type":"bigint"}', /value is no text/],
    ["Date", '{"$type":"Date","value":"soon"}', /a Date that is none/],
    ["URL", '{"$type":"URL","value":"no url"}', /a URL that cannot be read/],
    ["RegExp", '{"$type":"RegExp","source":"(","flags":""}', /a RegExp that cannot be read/],
    ["RegExp without source", '{"$type":"RegExp","flags":""}', /without a source/],
    ["string", String.raw`{"$type":"string","value":"\\x"}`, /a string that cannot be read/],
    ["Map", '{"$type":"Map","value":{}}', /no list/],
    ["Map entry", '{"$type":"Map","value":[[1]]}', /no pairs/],
    ["Map entry no list", '{"$type":"Map","value":[1]}', /no pairs/],
    ["Set", '{"$type":"Set"}', /no list/],
    ["object key", '{"$type":"object","entries":[[1,1]]}', /a key that is no text/],
    ["Error properties", '{"$type":"Error","props":1}', /properties are no object/],
    ["base64", '{"$type":"Buffer","value":"A!=="}', /no base64/],
    ["base64 length", '{"$type":"Buffer","value":"AAA"}', /no base64/],
    ["odd bytes", '{"$type":"Float64Array","value":"AAAA"}', /a Float64Array that cannot be read/],
  ])("broken: %s", (_name, text, message) => {
    const error = thrownBy(() => decodeValue(text));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toHaveProperty("message", expect.stringMatching(message));
  });

  it("what a database did to the spaces and the order changes nothing", () => {
    expect(decodeValue('{ "value" : [ [ "k" , { "value" : "1" , "$type" : "bigint" } ] ] , "$type" : "Map" }')).toStrictEqual(new Map([["k", 1n]]));
  });
});
