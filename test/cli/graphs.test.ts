import { describe, expect, test } from "vitest";
import type { DrawnGraph, DrawnNode } from "../../src/cli/output/drawn-graph.ts";
import { drawDot } from "../../src/cli/output/graph-dot.ts";
import { drawMermaid } from "../../src/cli/output/graph-mermaid.ts";
import { drawGraphText } from "../../src/cli/output/graph-text.ts";
import { widthOf } from "../../src/cli/output/table.ts";

function node(name: string, parts: Partial<DrawnNode> = {}): DrawnNode {
  return { name, task: name, kind: "task", deps: [], join: "all_succeeded", onUpstreamFailure: "cancel", ...parts };
}

function graph(nodes: readonly DrawnNode[]): DrawnGraph {
  return { name: "nightly", aggregation: { kind: "fail_fast" }, edgeCount: nodes.reduce((sum, { deps }) => sum + deps.length, 0), nodes };
}

const RICH = graph([
  node("load"),
  node("report", { deps: ["load"], join: "none_failed", hasCondition: true }),
  node("enrich-the-rows", {
    kind: "map",
    task: "enrich",
    deps: ["load"],
    join: "any_succeeded",
    hasCondition: true,
    map: { maxParallel: 8, failedItems: "keep" },
  }),
]);

/** A node below so many. */
function sink(count: number): DrawnGraph {
  const parts = Array.from({ length: count }, (_, index) => node(`part-${index}`));
  return graph([...parts, node("sink", { deps: parts.map(({ name }) => name) })]);
}

describe("a graph says join and condition of a node", () => {
  test("in DOT", () => {
    expect(drawDot(RICH)).toContain('  n1 [label="report\\njoin none_failed\\nwhen …"];\n');
    expect(drawDot(RICH)).toContain("join any_succeeded\\nwhen …\\nmax 8 at once\\nkeep failed items");
  });

  test("in Mermaid", () => {
    expect(drawMermaid(RICH)).toContain('  n1["report, join none_failed, when #8230;"]\n');
  });

  test("as text, whole also where a line is too short", () => {
    const text = drawGraphText(RICH, 60);
    expect(text.split("\n")).toEqual([
      "nightly: 3 nodes, 2 edges, 2 layers, fail_fast",
      "layer 1",
      "  load",
      "layer 2",
      "  report                       ← load  join none_failed",
      "                               when …",
      "  enrich-the-rows[…] (enrich)  ← load  map",
      "                               join any_succeeded  when …",
      "                               max 8 at once",
      "                               keep failed items",
      "",
    ]);
  });
});

describe("the upstreams of a node in text", () => {
  test.each([
    [10, "← part-0, part-1, part-2, part-3, part-4, part-5, part-6, part-7, part-8, part-9"],
    [11, "← 11 nodes"],
    [198, "← 198 nodes"],
  ])("are named while they are few: %i", (count, expected) => {
    expect(drawGraphText(sink(count), undefined).trimEnd().split("\n").at(-1)).toMatch(new RegExp(`^ {2}sink {4,6}${expected}$`));
  });

  test.each([20, 40, 80])("are counted where their names do not fit %i columns", (columns) => {
    const text = drawGraphText(sink(10), columns).trimEnd().split("\n");
    expect(text.at(-1)).toBe("  sink    ← 10 nodes");
    expect(Math.max(...text.map(widthOf))).toBeLessThanOrEqual(columns);
  });
});
