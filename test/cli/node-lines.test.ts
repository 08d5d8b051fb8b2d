import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { drawNodes } from "../../src/cli/output/node-lines.ts";
import { createPaint } from "../../src/cli/output/paint.ts";
import { RateMeter } from "../../src/cli/output/rate-meter.ts";
import type { NodeRow } from "../../src/cli/output/run-board.ts";
import { screen } from "./screen.ts";

/** The nodes of the demo that count rows, and how many. */
const DEMO: readonly (readonly [string, number])[] = [
  ["extract-flights", 200_000],
  ["extract-trips", 20_000],
  ["extract-airports", 3_376],
  ["extract-weather", 1_461],
  ["validate-flights", 200_000],
  ["validate-airports", 3_376],
  ["validate-weather", 1_461],
  ["validate-trips", 20_000],
  ["delays-by-hour", 199_980],
  ["delays-by-state", 19_999],
  ["seattle-by-day", 19_999],
];

function row(name: string, total: number, perSecond: number): NodeRow {
  const rate = new RateMeter();
  const done = Math.floor(total / 3);
  rate.push(done - perSecond, 9_000);
  rate.push(done, 10_000);
  const progress = { done, total, unit: "rows", message: null, updatedAt: 10_000 };
  return {
    taskId: name,
    name,
    status: "running",
    attempt: 1,
    maxAttempts: 3,
    startedAt: 0,
    endedAt: null,
    progress,
    endReason: null,
    rate,
    items: null,
    map: null,
  };
}

async function shown(columns: number, rows: readonly NodeRow[]): Promise<readonly string[]> {
  const at = screen(columns, 24);
  const lines = drawNodes(rows, { width: columns - 1, nowMs: 72_400, paint: createPaint(true) });
  at.stream.write(`${lines.join("\n")}\n`);
  const seen = await at.lines();
  expect(seen).toHaveLength(rows.length);
  expect(Math.max(...seen.map((line) => stringWidth(line)))).toBeLessThan(columns);
  return seen;
}

/** Beside them one that has ended, whose word is the longest. */
function withEnded(rows: readonly NodeRow[]): readonly NodeRow[] {
  return rows.map((each, index) => (index === 0 ? { ...each, status: "succeeded" as const, endedAt: 5_000 } : each));
}

describe("the lines of the demo's nodes", () => {
  test.each([
    ["within a minute", 0.1],
    ["of more than a minute", 0.01],
  ])("at 80 columns have whole names, bar, amount, rate and time left, %s", async (_what, share) => {
    const rows = withEnded(DEMO.map(([name, total]) => row(name, total, Math.max(1, Math.floor(total * share)))));
    const lines = await shown(80, rows);
    for (const [index, line] of lines.entries()) {
      expect(line).toContain(` ${DEMO[index]?.[0]} `);
      expect(line).toMatch(/[━─]{4,}/);
      expect(line).toMatch(/[\d.]+K?\/[\d.]+K? | \d+% /);
      if (index > 0) expect(line).toMatch(/ [\d.,]+K?\/s +ETA \d+ (?:s|m)/);
    }
  });

  test("at 40 columns have a name that tells them apart, status, percent and elapsed time", async () => {
    const lines = await shown(40, withEnded(DEMO.map(([name, total]) => row(name, total, 1_000))));
    for (const line of lines) expect(line).toMatch(/ (?:running|succeeded) +\d+% +\S/);
    expect(new Set(lines.map((line) => line.slice(2, 13))).size).toBe(DEMO.length);
  });

  test("at 120 columns nothing is shortened", async () => {
    const [, line] = await shown(
      120,
      DEMO.map(([name, total]) => row(name, total, 1_000)),
    );
    expect(line).toMatch(/^● extract-trips +running +━{3}─{7} +6,666\/20,000 rows +1,000\/s +ETA 14 s +try 1\/3 +1 m 12 s$/);
  });
});

describe("names that differ at their end only", () => {
  test.each([40, 60, 80])("stay apart at %i columns", async (columns) => {
    const short = Array.from({ length: 5 }, (_, index) => row(`慢 🐢 任务 ${index}`, 1_000_000, 1_000));
    const long = Array.from({ length: 5 }, (_, index) => row(`import-the-rows-of-the-partition-of-the-day-${index}`, 1_000_000, 1_000));
    for (const rows of [short, long]) {
      const names = (await shown(columns, rows)).map((line) => line.split(" running")[0]);
      expect(new Set(names).size).toBe(5);
    }
  });
});
