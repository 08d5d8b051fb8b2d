import { describe, expect, test } from "vitest";
import { Output } from "../../src/cli/output/output.ts";
import { fakeStream } from "./fake-host.ts";

describe("what others write to a diverted stream", () => {
  test("goes on in whole lines, wherever the pieces end", () => {
    const stream = fakeStream();
    const lines: string[] = [];
    const diversion = new Output(stream).divert((line) => lines.push(line));
    for (const piece of ["a", "b\nc\n\nd", "", "e", "\n"]) stream.write(piece);
    for (const byte of Buffer.from("é\nend")) stream.write(Uint8Array.of(byte));
    expect(lines).toEqual(["ab", "c", "", "de", "é"]);
    diversion.flush();
    diversion.flush();
    expect(lines.slice(5)).toEqual(["end"]);
    stream.write("more");
    diversion.end();
    stream.write("straight on");
    expect([lines.slice(6), stream.text()]).toEqual([["more"], "straight on"]);
  });

  test("without line ends costs in proportion to its length, and is not kept for ever", () => {
    const stream = fakeStream();
    const lines: string[] = [];
    const diversion = new Output(stream).divert((line) => lines.push(line));
    const startedAt = performance.now();
    for (let piece = 0; piece < 100_000; piece += 1) stream.write("..........");
    expect(performance.now() - startedAt).toBeLessThan(5_000);
    expect(lines.length).toBeGreaterThan(10);
    diversion.end();
    expect(lines.join("")).toBe(".".repeat(1_000_000));
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(70_000);
  });
});
