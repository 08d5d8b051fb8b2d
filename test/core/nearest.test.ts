import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestNames } from "../../src/core/nearest.ts";

const NAMES = ["extract", "transform", "load", "enrich", "nightly-etl", "report", "a"];

describe("nearestNames", () => {
  it.each([
    ["extrct", ["extract"]],
    ["EXTRACT", ["extract"]],
    ["laod", ["load"]],
    ["transfrom", ["transform"]],
    ["nightly", ["nightly-etl"]],
    ["etl", ["nightly-etl"]],
    ["my-report-2", ["report"]],
    ["b", ["a"]],
    ["zzzzzzzz", []],
    ["", ["a"]],
  ])("for %j offers %j", (requested, offered) => {
    expect(nearestNames(requested, NAMES)).toEqual(offered);
  });

  it("orders by distance, then as given, and offers at most max", () => {
    const names = ["loader", "lead", "load-all", "load", "loads", "goad"];
    expect(nearestNames("load", names, 10)).toEqual(["load", "lead", "loads", "goad", "loader", "load-all"]);
    expect(nearestNames("load", names)).toEqual(["load", "lead", "loads"]);
    expect(nearestNames("load", names, 1)).toEqual(["load"]);
    expect(nearestNames("load", names, 0)).toEqual([]);
  });

  it("offers each name once", () => {
    expect(nearestNames("loda", ["load", "load"])).toEqual(["load"]);
  });

  it("finds a name after one slip anywhere", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{4,12}$/), fc.nat(11), fc.constantFrom("drop", "double", "swap", "change"), (name, position, slip) => {
        const at = position % (name.length - 1);
        const [before, here, after] = [name.slice(0, at), name.charAt(at), name.slice(at + 1)];
        const typed = {
          drop: before + after,
          double: before + here + here + after,
          swap: before + after.charAt(0) + here + after.slice(1),
          change: `${before}-${after}`,
        }[slip];
        expect(nearestNames(typed, ["-".repeat(30), name])).toEqual([name]);
      }),
    );
  });

  /** The textbook's whole table, to compare with. */
  function distanceByTable(a: string, b: string): number {
    const cells = new Map<string, number>();
    const cell = (i: number, j: number) => cells.get(`${i},${j}`) ?? Infinity;
    for (let i = 0; i <= a.length; i += 1) {
      for (let j = 0; j <= b.length; j += 1) {
        const change = a[i - 1] === b[j - 1] ? 0 : 1;
        const swap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? cell(i - 2, j - 2) + 1 : Infinity;
        cells.set(`${i},${j}`, i === 0 ? j : j === 0 ? i : Math.min(cell(i - 1, j) + 1, cell(i, j - 1) + 1, cell(i - 1, j - 1) + change, swap));
      }
    }
    return cell(a.length, b.length);
  }

  it("offers exactly the names within a third of the letters, but for those that contain each other", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[abc]{1,20}$/), fc.stringMatching(/^[abc]{1,20}$/), (requested, name) => {
        const near = distanceByTable(requested, name) <= Math.min(5, Math.max(1, Math.floor(requested.length / 3)));
        const related = (requested.length >= 3 && name.includes(requested)) || (name.length >= 3 && requested.includes(name));
        expect(nearestNames(requested, [name])).toEqual(near || related ? [name] : []);
      }),
      { numRuns: 1_000 },
    );
  });

  it("gives only names that were given, at most three, for any text", () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), (requested, names) => {
        const offered = nearestNames(requested, names);
        expect(offered.length).toBeLessThanOrEqual(3);
        expect(names).toEqual(expect.arrayContaining([...offered]));
      }),
    );
  });

  it("answers within bounds for a text of 10,000 characters and for 10,000 long names", () => {
    const names = Array.from({ length: 10_000 }, (_, n) => `${"long-name-".repeat(12)}${n}`);
    const start = performance.now();
    expect(nearestNames("x".repeat(10_000), names)).toEqual([]);
    expect(nearestNames(`${"long-name-".repeat(12)}12a4`, names)).toHaveLength(3);
    expect(nearestNames("load", ["y".repeat(1_000_000), "lod"])).toEqual(["lod"]);
    expect(performance.now() - start).toBeLessThan(30_000);
  });
});
