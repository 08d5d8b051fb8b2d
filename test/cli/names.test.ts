import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { cleanLine, cleanText } from "../../src/cli/output/clean-text.ts";
import { drawNodes } from "../../src/cli/output/node-lines.ts";
import { createPaint } from "../../src/cli/output/paint.ts";
import { RateMeter } from "../../src/cli/output/rate-meter.ts";
import { fixture } from "./chongming.ts";
import { fakeHost } from "./fake-host.ts";
import { ODD_NAMES } from "./fixtures/odd-names.ts";

const odd = ["--tasks", fixture("odd-names.ts")];

async function linesOf(argv: readonly string[], size?: { columns: number; rows: number }): Promise<readonly string[]> {
  const host = fakeHost(size === undefined ? {} : { size });
  expect(await main([...argv, ...odd], host)).toBe(0);
  return host.stdout.text().trimEnd().split("\n");
}

describe("odd names", () => {
  test.each(ODD_NAMES)("%j can be run", async (name) => {
    const host = fakeHost();
    expect(await main(["run", "-q", ...odd, "--", name], host)).toBe(0);
    expect(host.stdout.text()).toMatch(/^result: .*\ntask .* succeeded in .*: 1 succeeded\n$/);
  });

  test.each([40, 80])("one line a task, aligned and cut inside %i columns", async (columns) => {
    const lines = await linesOf(["tasks", "--no-color"], { columns, rows: 24 });
    const rows = lines.slice(1, lines.indexOf(""));
    expect(rows).toHaveLength(ODD_NAMES.length);
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(columns);
    expect(new Set(rows.map((row) => stringWidth(row.slice(0, row.indexOf("async"))))).size).toBe(1);
  });

  test("in a pipe nothing is cut", async () => {
    expect((await linesOf(["tasks"])).some((line) => line.startsWith("x".repeat(200)))).toBe(true);
  });

  test.each([20, 40, 80])("node lines line up at %i columns", (width) => {
    const rows = ODD_NAMES.map((name) => ({
      taskId: name,
      name,
      status: "running" as const,
      attempt: 1,
      maxAttempts: 3,
      startedAt: 0,
      endedAt: null,
      progress: { done: 1, total: 2, unit: "行", message: null, updatedAt: 0 },
      endReason: null,
      rate: new RateMeter(),
      items: null,
      map: null,
    }));
    const lines = drawNodes(rows, { width, nowMs: 61_000, paint: createPaint(false) });
    expect(new Set(lines.map((line) => stringWidth(line))).size).toBe(1);
    expect(stringWidth(lines[0] ?? "")).toBeLessThanOrEqual(width);
  });
});

describe("graphs", () => {
  test("text: a line a node, in layers", async () => {
    const lines = await linesOf(["graph", "odd"]);
    expect(lines[0]).toBe(`odd: ${ODD_NAMES.length} nodes, 0 edges, 1 layer, fail_fast`);
    expect(lines).toHaveLength(2 + ODD_NAMES.length);
  });

  test("mermaid and dot: nothing of a name is taken for syntax", async () => {
    const mermaid = await linesOf(["graph", "odd", "--format", "mermaid"]);
    expect(mermaid).toContain('  n10["q#34;uo#92;te"]');
    expect(mermaid).toContain('  n11["#60;b#62;#35;#96;x#96;#60;#47;b#62;"]');
    expect(mermaid).toContain('  n1["👨‍👩‍👧‍👦"]');
    expect(await linesOf(["graph", "odd", "--format", "dot"])).toContain('  n10 [label="q\\"uo\\\\te"];');
  });
});

describe("text of somebody else's", () => {
  test("loses its control sequences, keeps its characters", () => {
    expect(cleanText("a\u001b[31mred\u001b[0m\u0007b\u009b2Jc\u202ed\te\r\nf\rg")).toBe("aredbcd\te\nfg");
    expect(cleanText("👨‍👩‍👧‍👦 e\u0301 数")).toBe("👨‍👩‍👧‍👦 e\u0301 数");
    expect(cleanText("\u001b]8;;http://x\u0007link\u001b]8;;\u0007")).toBe("link");
  });

  test("on one line, line feeds are shown", () => {
    expect(cleanLine(" one\n\n two\tthree ")).toBe("one ⏎ two three");
  });
});
