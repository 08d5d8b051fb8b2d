import { StringDecoder } from "node:string_decoder";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OutputLines } from "../../../src/runtime/executors/output-lines.ts";

const PIECE = 64 * 1024;
const LIMIT = 10 * 1024 * 1024;

function linesOf(chunks: readonly string[]): readonly string[] {
  const given: string[] = [];
  const lines = new OutputLines((line) => given.push(line));
  for (const chunk of chunks) lines.add(chunk);
  lines.end();
  return given;
}

/** The text in pieces that end where the numbers say. */
function cut<Part extends { readonly length: number }>(whole: Part, slice: (from: number, to: number) => Part, cuts: readonly number[]): readonly Part[] {
  const borders = [0, ...cuts.map((at) => at % (whole.length + 1)).toSorted((a, b) => a - b), whole.length];
  return borders.slice(1).map((to, index) => slice(borders[index] ?? 0, to));
}

describe("lines", () => {
  test("come out as they were printed, whatever the borders of the chunks", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "é", "😀", "\n", "\r", "\u0000", " ") });
    fc.assert(
      fc.property(text, fc.array(fc.nat(), { maxLength: 8 }), (printed, cuts) => {
        const expected = printed.split("\n");
        if (expected.at(-1) === "") expected.pop();
        const chunks = cut(printed, (from, to) => printed.slice(from, to), cuts);
        expect(linesOf(chunks)).toEqual(expected.map((line) => (line.endsWith("\r") ? line.slice(0, -1) : line)));
      }),
    );
  });

  test("keep characters whole that a pipe has cut in the middle", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("😀", "é", "語", "a") }), fc.array(fc.nat(), { maxLength: 8 }), (line, cuts) => {
        const bytes = Buffer.from(`${line}\n`);
        const decoder = new StringDecoder("utf8");
        const chunks = cut(bytes, (from, to) => bytes.subarray(from, to), cuts);
        expect(linesOf(chunks.map((chunk) => decoder.write(chunk)))).toEqual([line]);
      }),
    );
  });

  test("empty ones count, and the last needs no end", () => {
    expect(linesOf(["\n\none\r\n\ntwo"])).toEqual(["", "", "one", "", "two"]);
    expect(linesOf([])).toEqual([]);
    expect(linesOf(["", "\n"])).toEqual([""]);
  });
});

describe("a line that is too long", () => {
  test("comes in the same pieces, whatever the borders of the chunks and whether it ends", () => {
    const line = `${"x".repeat(PIECE)}${"y".repeat(PIECE)}${"z".repeat(300)}`;
    const expected = ["x".repeat(PIECE), "y".repeat(PIECE), "z".repeat(300)];
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 6 }), fc.constantFrom("", "\n", "\r\n"), (cuts, end) => {
        const printed = line + end;
        expect(linesOf(cut(printed, (from, to) => printed.slice(from, to), cuts))).toEqual(expected);
      }),
      { numRuns: 30 },
    );
  });

  test("is not cut through a character of two halves", () => {
    const line = `${"x".repeat(PIECE - 1)}😀${"y".repeat(1_000)}`;
    for (const pieces of [linesOf([line]), linesOf([`${line}\n`])]) {
      expect(pieces.join("")).toBe(line);
      expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= PIECE)).toBe(true);
    }
  });

  test("is passed on before its end is there", () => {
    const given: string[] = [];
    const lines = new OutputLines((line) => given.push(line));
    for (let chunk = 0; chunk < 100; chunk += 1) lines.add("x".repeat(10_000));
    expect(given.join("").length).toBeGreaterThan(1_000_000 - PIECE - 1_000);
  });
});

describe("a flood", () => {
  test("keeps its beginning and its last hundred lines, and says how many are missing", () => {
    const given: string[] = [];
    const lines = new OutputLines((line) => given.push(line));
    const line = "x".repeat(1_023);
    const kept = LIMIT / 1_024;
    for (let count = 0; count < kept + 500; count += 1) lines.add(`${line}\n`);
    // Nothing is given beyond the limit until the end is known.
    expect(given).toHaveLength(kept);
    lines.add("the very last\n");
    lines.end();
    expect(given[kept]).toBe(`[… 401 lines were dropped: more than ${LIMIT} characters …]`);
    expect(given.slice(kept + 1)).toEqual([...Array.from({ length: 99 }, () => line), "the very last"]);
  });

  test("says nothing of lines missing where none are", () => {
    const given: string[] = [];
    const lines = new OutputLines((line) => given.push(line));
    const line = "x".repeat(1_023);
    for (let count = 0; count < LIMIT / 1_024 + 100; count += 1) lines.add(`${line}\n`);
    lines.end();
    expect(given).toHaveLength(LIMIT / 1_024 + 100);
  });

  test("without an end of line holds no more than a piece", () => {
    const given: string[] = [];
    const lines = new OutputLines((line) => given.push(line));
    const chunk = "x".repeat(PIECE);
    for (let count = 0; count < 3 * (LIMIT / PIECE); count += 1) lines.add(chunk);
    lines.end();
    expect(Math.max(...given.map((piece) => piece.length))).toBe(PIECE);
    expect(given.join("").length).toBeLessThan(LIMIT + 101 * PIECE);
  });
});
