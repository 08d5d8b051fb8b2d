import { createSecretKey } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeFrame, FrameReader } from "../../../src/runtime/executors/frames.ts";

interface Read {
  readonly messages: unknown[];
  readonly reader: FrameReader;
  broken: number;
}

function wasmModule(): unknown {
  const { Module } = Reflect.get(globalThis, "WebAssembly") as { readonly Module: new (bytes: Uint8Array) => object };
  return new Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0));
}

function reading(): Read {
  const read: Read = {
    messages: [],
    broken: 0,
    reader: new FrameReader(
      (message) => read.messages.push(message),
      () => void (read.broken += 1),
    ),
  };
  return read;
}

test("messages come out whole and in order, whatever the borders of the pieces", () => {
  fc.assert(
    fc.property(
      fc.array(fc.anything({ withMap: true, withSet: true, withDate: true, withBigInt: true, withTypedArray: true }), { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 12 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map((message) => encodeFrame(message)));
        const borders = [0, ...cuts.map((at) => at % (bytes.length + 1)).toSorted((a, b) => a - b), bytes.length];
        const read = reading();
        for (const [index, to] of borders.slice(1).entries()) read.reader.add(bytes.subarray(borders[index], to));
        expect(read.messages).toEqual(messages.map((message) => structuredClone(message)));
        expect(read.broken).toBe(0);
      },
    ),
  );
});

describe("what is small and plain goes as JSON", () => {
  function roundTrip(message: unknown): unknown {
    const read = reading();
    read.reader.add(encodeFrame(message));
    return read.messages[0];
  }

  const plain = { name: "née 😀 \ud800", rows: [1, -1.5, true, null, "", []], deep: { ["__proto__"]: 1 } };
  test.each([
    ["plain data", plain, "{"],
    ["nothing", { value: undefined }, "\ufffd"],
    ["a number that JSON does not know", [Number.NaN], "\ufffd"],
    ["a zero that JSON does not know", [-0], "\ufffd"],
    ["a list with a hole", Object.assign([1], { length: 3 }), "\ufffd"],
    ["a list with a name in it", Object.assign([1], { name: "list" }), "\ufffd"],
    ["a date", [new Date(0)], "\ufffd"],
    ["a long text", "x".repeat(5_000), "\ufffd"],
    ["many values", Array.from({ length: 1_000 }, () => []), "\ufffd"],
  ])("%s arrives as from a structured clone", (_what, message, begins) => {
    expect(roundTrip(message)).toStrictEqual(structuredClone(message));
    expect(encodeFrame(message).subarray(8).toString().charAt(0)).toBe(begins);
  });

  test("what is one object stays one", () => {
    const row = { id: 1 };
    const [first, second] = roundTrip([row, row]) as readonly [object, object];
    expect(first).toBe(second);
    const ring: { self?: unknown } = {};
    ring.self = ring;
    const arrived = roundTrip(ring) as { readonly self: unknown };
    expect(arrived.self).toBe(arrived);
  });

  test("whatever it is", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withSparseArray: true, withNullPrototype: true }), (message) => {
        expect(roundTrip(message)).toStrictEqual(structuredClone(message));
      }),
    );
  });
});

test("messages come out byte by byte, too", () => {
  const read = reading();
  for (const byte of Buffer.concat([encodeFrame({ type: "beat" }), encodeFrame("😀"), encodeFrame(undefined)])) read.reader.add(Buffer.of(byte));
  expect(read.messages).toEqual([{ type: "beat" }, "😀", undefined]);
});

test("a message of many megabytes costs one joining, not one for each piece", () => {
  const message = "x".repeat(20 * 1024 * 1024);
  const bytes = encodeFrame(message);
  const read = reading();
  const begun = performance.now();
  for (let at = 0; at < bytes.length; at += 4_096) read.reader.add(bytes.subarray(at, at + 4_096));
  expect(read.messages).toEqual([message]);
  // Joining 5,000 times what is there so far would copy 50 GB.
  expect(performance.now() - begun).toBeLessThan(5_000);
});

describe("what cannot be copied", () => {
  test.each([
    ["a function", { rows: [() => 1] }],
    ["a symbol", Symbol("s")],
    ["a promise", { later: Promise.resolve() }],
    ["shared memory", { memory: new SharedArrayBuffer(8) }],
    ["a key", [createSecretKey(Buffer.from("secret"))]],
    ["a Blob", new Map([["blob", new Blob(["text"])]])],
    ["a File", new Set([new File(["text"], "name")])],
    ["a WebAssembly module", { module: wasmModule() }],
    ["a URL", { url: new URL("https://example.org") }],
  ])("%s throws before anything is sent", (_what, message) => {
    expect(() => encodeFrame(message)).toThrow(expect.objectContaining({ name: expect.stringMatching(/DataCloneError|Error/) }));
  });
});

test("instances of one's own classes go as the plain objects that the structured clone makes of them", () => {
  class Row {
    readonly id = 7;
  }
  const read = reading();
  read.reader.add(encodeFrame([new Row(), new RangeError("too far")]));
  expect(read.messages).toEqual([[{ id: 7 }, new RangeError("too far")]]);
});

describe("what is no frame", () => {
  test("is said once, and nothing that follows is read", () => {
    const read = reading();
    read.reader.add(encodeFrame("first"));
    const spoilt = encodeFrame("echo");
    spoilt.fill(0xff, 8);
    read.reader.add(spoilt);
    read.reader.add(encodeFrame("second"));
    expect(read.messages).toEqual(["first"]);
    expect(read.broken).toBe(1);
  });

  test.each([["hello\n"], ["h"], ["\u0000\u0000\u0000\u0000"]])("is known at once, without waiting for more: %j", (written) => {
    const read = reading();
    read.reader.add(encodeFrame("first"));
    read.reader.add(Buffer.from(written));
    expect(read).toMatchObject({ messages: ["first"], broken: 1 });
  });

  test("never throws, whatever comes", () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 }), (pieces) => {
        const read = reading();
        for (const piece of pieces) read.reader.add(Buffer.from(piece));
        expect(read.broken).toBeLessThanOrEqual(1);
      }),
    );
  });
});
