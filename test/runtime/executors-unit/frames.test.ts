import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encodeFrame, FrameReader } from "../../../src/runtime/executors/frames.ts";

interface Read {
  readonly messages: unknown[];
  readonly reader: FrameReader;
  broken: number;
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
  ])("%s throws before anything is sent", (_what, message) => {
    expect(() => encodeFrame(message)).toThrow(expect.objectContaining({ name: expect.stringMatching(/DataCloneError|Error/) }));
  });
});

describe("what is no frame", () => {
  test("is said once, and nothing that follows is read", () => {
    const read = reading();
    read.reader.add(encodeFrame("first"));
    read.reader.add(Buffer.concat([Buffer.of(4, 0, 0, 0), Buffer.from("echo")]));
    read.reader.add(encodeFrame("second"));
    expect(read.messages).toEqual(["first"]);
    expect(read.broken).toBe(1);
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
