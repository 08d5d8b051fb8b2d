import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bucketOf, ownsBucket, resolveBucketPolicy } from "../../src/core/bucket.ts";
import { ConfigurationError, InternalError } from "../../src/core/errors.ts";

const blake2b = (text: string): Uint8Array => createHash("blake2b512").update(text, "utf8").digest();

describe("bucketOf", () => {
  // Published: made with another implementation (Python's hashlib). A change here is a migration for everybody.
  it.each([
    ["", 3, 259, 3],
    ["k0", 9, 777, 1],
    ["tenant-42", 1, 961, 2],
    ["客户-7", 5, 901, 2],
    ["a".repeat(1_000), 43, 107, 5],
    ["🚀", 30, 798, 2],
    ["\ufffd", 3, 771, 0],
  ])("puts %j where the published vectors say", (key, of64, of1024, of7) => {
    expect([64, 1024, 7].map((count) => bucketOf(key, count, blake2b))).toEqual([of64, of1024, of7]);
  });

  it("takes a lone surrogate for U+FFFD", () => {
    expect(bucketOf("\ud800", 1024, blake2b)).toBe(771);
  });

  it("reads the first 8 bytes, big endian, without loss", () => {
    const digest = () => Uint8Array.from([255, 255, 255, 255, 255, 255, 255, 254, 99]);
    expect(bucketOf("x", 10, digest)).toBe(4); // 18446744073709551614
    expect(bucketOf("x", Number.MAX_SAFE_INTEGER, digest)).toBe(Number(18446744073709551614n % 9007199254740991n));
  });

  it("stays within the buckets and spreads over them", () => {
    const counts = Array<number>(16).fill(0);
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 1, max: 5_000 }), (key, count) => {
        const bucket = bucketOf(key, count, blake2b);
        expect(Number.isInteger(bucket) && bucket >= 0 && bucket < count).toBe(true);
      }),
    );
    for (let key = 0; key < 4_000; key += 1) {
      const bucket = bucketOf(`key-${key}`, 16, blake2b);
      counts[bucket] = (counts[bucket] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(180); // 250 expected
    expect(Math.max(...counts)).toBeLessThan(320);
  });

  it("refuses a digest that is too short", () => {
    expect(() => bucketOf("x", 4, () => new Uint8Array(7))).toThrow(InternalError);
  });
});

describe("resolveBucketPolicy", () => {
  it.each([
    [undefined, [{ first: 0, last: 63 }]],
    ["all", [{ first: 0, last: 63 }]],
    ["0-15", [{ first: 0, last: 15 }]],
    [
      "0-3,8",
      [
        { first: 0, last: 3 },
        { first: 8, last: 8 },
      ],
    ],
    [
      " 8 , 0 - 3 ",
      [
        { first: 0, last: 3 },
        { first: 8, last: 8 },
      ],
    ],
    [
      "5,0-3,2-4,63",
      [
        { first: 0, last: 5 },
        { first: 63, last: 63 },
      ],
    ],
    ["0-10,2-3", [{ first: 0, last: 10 }]],
  ])("own %j", (own, ranges) => {
    expect(resolveBucketPolicy({ count: 64, own })).toEqual({ count: 64, own: ranges });
  });

  it.each([0, -1, 1.5, "64", NaN, Infinity, null, undefined, 2 ** 53])("refuses count %s", (count) => {
    expect(() => resolveBucketPolicy({ count })).toThrow(/^buckets\.count must be an integer of at least 1/);
  });

  it.each(["", "none", "-3", "3-", "1-2-3", "1,,2", "1,", "0x3", "1.5", "3-1", "64", "0-64", "9".repeat(30), null, 3, [0, 1], {}])("refuses own %j", (own) => {
    expect(() => resolveBucketPolicy({ count: 64, own })).toThrow(ConfigurationError);
    expect(() => resolveBucketPolicy({ count: 64, own })).toThrow(/^buckets\.own/);
  });

  it("says which buckets there are", () => {
    expect(() => resolveBucketPolicy({ count: 64, own: "60-70" })).toThrow("buckets.own: there is no bucket 70; with count 64 they are 0 to 63.");
    expect(() => resolveBucketPolicy({ count: 64, own: "9-3" })).toThrow('the range "9-3" runs backwards; write "3-9".');
  });

  it("refuses an unknown option", () => {
    expect(() => resolveBucketPolicy({ count: 64, owns: "all" })).toThrow('buckets has no option "owns". Did you mean "own"?');
  });

  it("owns what the text says and nothing else", () => {
    const policy = resolveBucketPolicy({ count: 64, own: "0-3,8,62-63" });
    const owned = Array.from({ length: 64 }, (_, bucket) => bucket).filter((bucket) => ownsBucket(policy, bucket));
    expect(owned).toEqual([0, 1, 2, 3, 8, 62, 63]);
  });

  it("costs nothing with very many buckets, and cannot be changed", () => {
    const policy = resolveBucketPolicy({ count: Number.MAX_SAFE_INTEGER });
    expect(ownsBucket(policy, 2 ** 40)).toBe(true);
    expect([policy, policy.own, ...policy.own].every((part) => Object.isFrozen(part))).toBe(true);
  });
});
