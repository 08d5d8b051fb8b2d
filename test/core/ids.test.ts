import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import { createId, isId, parseId, parseIdPrefix, shortId } from "../../src/core/ids.ts";

const bytesOf =
  (...bytes: number[]) =>
  () =>
    Uint8Array.from(bytes);
const tenBytes = fc.uint8Array({ minLength: 10, maxLength: 10 });

describe("createId", () => {
  it.each([
    [Array<number>(10).fill(0), "0000000000000000"],
    [Array<number>(10).fill(255), "zzzzzzzzzzzzzzzz"],
    [[0, 0, 0, 0, 1, 0, 0, 0, 0, 31], "000000010000000z"],
    [[0x08, 0x42, 0x10, 0x84, 0x21, 0xff, 0xff, 0xff, 0xff, 0xe0], "11111111zzzzzzz0"],
  ])("writes %j as %s", (bytes, id) => {
    expect(createId(bytesOf(...bytes))).toBe(id);
  });

  it("keeps all 80 bits, first bit first", () => {
    fc.assert(
      fc.property(tenBytes, (bytes) => {
        const id = createId(() => bytes);
        const value = [...id].reduce((sum, character) => sum * 32n + BigInt("0123456789abcdefghjkmnpqrstvwxyz".indexOf(character)), 0n);
        expect(isId(id)).toBe(true);
        expect(value).toBe(bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n));
      }),
    );
  });

  it("asks for 10 bytes and gives a new id each time", () => {
    const ids = new Set(Array.from({ length: 1_000 }, () => createId((n) => randomBytes(n))));
    expect(ids.size).toBe(1_000);
  });

  it.each([0, 9, 11])("refuses a source that gives %d bytes", (count) => {
    expect(() => createId(() => new Uint8Array(count))).toThrow(InternalError);
  });
});

describe("reading ids", () => {
  const id = "0123456789abcdef";

  it.each(["", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeu", "0123456789abcdei", "0123456789ABCDEF", "0123456789abcde\n", `${id}\n`])(
    "isId refuses %j",
    (text) => {
      expect(isId(text)).toBe(false);
    },
  );

  it("shows the first 8 characters", () => {
    expect(shortId(id)).toBe("01234567");
  });

  it("forgives case, spaces around and look-alikes", () => {
    expect(parseId(" O1L3456789ABCDEF ")).toBe("0113456789abcdef");
    expect(parseIdPrefix("oIl")).toBe("011");
  });

  it("tells a whole id from its beginning", () => {
    expect(parseId("0123")).toBeUndefined();
    expect(parseIdPrefix("0123")).toBe("0123");
    expect(parseIdPrefix(id)).toBe(id);
  });

  it.each(["", " ", "u", "0 1", "../x", `${id}0`, "é", "__proto__", "x".repeat(10_000)])("no id begins with %j", (text) => {
    expect(parseIdPrefix(text)).toBeUndefined();
    expect(parseId(text)).toBeUndefined();
  });

  it("reads back each id that is made", () => {
    fc.assert(
      fc.property(tenBytes, fc.integer({ min: 1, max: 16 }), (bytes, length) => {
        const made = createId(() => bytes);
        expect(parseId(made.toUpperCase())).toBe(made);
        expect(made.startsWith(parseIdPrefix(made.slice(0, length).toUpperCase()) ?? "?")).toBe(true);
      }),
    );
  });
});
