import { describe, expect, it } from "vitest";
import { readCsv } from "../../examples/nightly-etl/csv.ts";

describe("readCsv", () => {
  it.each([
    [
      "bare fields",
      "a,b\n1,2\n3,4\n",
      [
        { a: "1", b: "2" },
        { a: "3", b: "4" },
      ],
    ],
    ["no line break at the end", "a,b\n1,2", [{ a: "1", b: "2" }]],
    ["Windows line breaks", "a,b\r\n1,2\r\n", [{ a: "1", b: "2" }]],
    ["a comma in quotes", 'a,b\n"x, y",2\n', [{ a: "x, y", b: "2" }]],
    ["doubled quotes", 'a,b\n"W. H. ""Bud"" Barron",2\n', [{ a: 'W. H. "Bud" Barron', b: "2" }]],
    ["a line break in quotes", 'a,b\n"x\ny",2\n', [{ a: "x\ny", b: "2" }]],
    ["empty fields", 'a,b,c\n,"",\n', [{ a: "", b: "", c: "" }]],
    ["an empty last field at the end of the file", "a,b\n1,", [{ a: "1", b: "" }]],
    ["names alone", "a,b\n", []],
    ["nothing", "", []],
  ])("reads %s", (_what, text, rows) => {
    expect([...readCsv(text)]).toEqual(rows);
  });

  it.each([
    ["a quote that is never closed", 'a,b\n1,2\n"x,4\n', /^line 3: a quote/],
    ["a quote inside a bare field", 'a,b\nx"y,2\n', /^line 2: a quote/],
    ["too few fields", "a,b\n1\n", /^line 2: 1 fields, but the first line names 2$/],
    ["too many fields after a line break in quotes", 'a,b\n"x\ny",2\n1,2,3\n', /^line 4: 3 fields/],
  ])("refuses %s, and says where", (_what, text, message) => {
    expect(() => [...readCsv(text)]).toThrow(expect.objectContaining({ message: expect.stringMatching(message) }));
  });
});
