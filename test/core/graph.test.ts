import { describe, expect, it } from "vitest";
import { CircularDependency, ConfigurationError, InternalError } from "../../src/core/errors.ts";
import { findCycle } from "../../src/core/graph-order.ts";
import { buildGraph, nodeIndex } from "../../src/core/graph.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import type { Join } from "../../src/core/join.ts";
import { chain, node } from "./graph-model.ts";

function cycleOf(nodes: readonly NodeSpec[]): readonly string[] {
  try {
    buildGraph(nodes);
  } catch (error) {
    if (error instanceof CircularDependency) return error.path;
    throw error;
  }
  throw new Error("no cycle was found");
}

describe("buildGraph", () => {
  it("numbers nodes in the order of declaration and links them both ways", () => {
    const graph = buildGraph([node("d", ["c", "b"]), node("a"), node("b", ["a"]), node("c", ["a"])]);
    expect(graph.upstream).toEqual([[3, 2], [], [1], [1]]);
    expect(graph.downstream).toEqual([[], [2, 3], [0], [0]]);
    expect(graph.order).toEqual([1, 2, 3, 0]);
    expect(graph.edgeCount).toBe(4);
    expect([...graph.indexByName]).toEqual([
      ["d", 0],
      ["a", 1],
      ["b", 2],
      ["c", 3],
    ]);
  });

  it("takes an empty pipeline", () => {
    expect(buildGraph([])).toMatchObject({ nodes: [], order: [], edgeCount: 0 });
  });

  it("takes names that people have", () => {
    const names = ["extract", "part-0", "顧客", "👩‍👩‍👧 family", "-rf", "0", "a b", "constructor", "__proto__", "é".normalize("NFD"), "🚀".repeat(200)];
    expect(buildGraph(names.map((name) => node(name))).nodes.map(({ name }) => name)).toEqual(names);
  });

  it.each([
    ["", "must not be empty"],
    [" \t ", "must not be empty"],
    ["two\nlines", "printable"],
    ["tab\there", "printable"],
    ["bell\u0007", "printable"],
    ["\u001b[31mred", "printable"],
    ["c1\u009b", "printable"],
    ["line\u2028separator", "printable"],
    ["turned\u202eround", "printable"],
    ["half \ud83d", "printable"],
    ["x".repeat(201), "at most 200 characters"],
    ["🚀".repeat(201), "at most 200 characters"],
    ["x".repeat(10_000), "at most 200 characters"],
  ])("refuses the name %j", (name, message) => {
    expect(() => buildGraph([node(name)])).toThrow(ConfigurationError);
    expect(() => buildGraph([node(name)])).toThrow(message);
  });

  it("refuses a name that is no text", () => {
    expect(() => buildGraph([node(7 as unknown as string)])).toThrow("must be text; found 7");
  });

  it("refuses a name given twice", () => {
    expect(() => buildGraph([node("a"), node("b"), node("a")])).toThrow('two nodes are named "a"');
  });

  it("shows the nearest names for a dependency that does not exist", () => {
    expect(() => buildGraph([node("extract"), node("load", ["extrat"])])).toThrow(
      'node "load" depends on "extrat", and the pipeline has no node of that name. Did you mean "extract"?',
    );
    expect(() => buildGraph([node("load", ["zzzzzz"])])).toThrow(/no node of that name\.$/u);
  });

  it("refuses a dependency named twice", () => {
    expect(() => buildGraph([node("a"), node("b", ["a", "a"])])).toThrow('node "b" names "a" twice in its deps');
  });

  it("refuses an unknown join and an unknown rule for failures", () => {
    expect(() => buildGraph([node("a", [], { join: "most" as Join })])).toThrow('node "a": join must be one of "all_succeeded"');
    expect(() => buildGraph([node("a", [], { onUpstreamFailure: "ignore" as "skip" })])).toThrow('node "a": onUpstreamFailure must be one of "cancel", "skip"');
  });

  it("refuses a node named like an item of a map", () => {
    const map = node("enrich", [], { kind: "map" });
    expect(() => buildGraph([map, node("enrich[0]")])).toThrow('node "enrich[0]" is named like an item of the map "enrich"');
    expect(() => buildGraph([node("enrich[12]"), map])).toThrow("Give one of them another name");
    expect(() => buildGraph([map, node("enrich[x]"), node("other[0]"), node("enrich[0]b")])).not.toThrow();
    expect(() => buildGraph([node("enrich"), node("enrich[0]")])).not.toThrow();
  });
});

describe("cycles", () => {
  it("shows a node that depends on itself", () => {
    expect(cycleOf([node("a"), node("b", ["a", "b"])])).toEqual(["b", "b"]);
  });

  it("shows each node followed by one it depends on, the first again at the end", () => {
    expect(cycleOf([node("a", ["c"]), node("b", ["a"]), node("c", ["b"])])).toEqual(["a", "c", "b", "a"]);
    expect(() => buildGraph([node("a", ["b"]), node("b", ["a"])])).toThrow("the dependencies form a cycle: a → b → a");
  });

  it("leaves out what is only above or below the cycle, and begins with the node declared first", () => {
    const nodes = [node("below", ["y"]), node("x", ["y"]), node("above"), node("y", ["above", "x"])];
    expect(cycleOf(nodes)).toEqual(["x", "y", "x"]);
  });

  it("is found in a ring of 100,000 nodes", () => {
    const nodes = chain(100_000);
    nodes[0] = node("n0", ["n99999"]);
    const path = cycleOf(nodes);
    expect(path).toHaveLength(100_001);
    expect(path.slice(0, 3)).toEqual(["n0", "n99999", "n99998"]);
    expect(path.at(-1)).toBe("n0");
  });

  it("is not looked for where there is none", () => {
    expect(() => findCycle([[]], [])).toThrow(InternalError);
  });
});

describe("nodeIndex", () => {
  const graph = buildGraph([node("extract"), node("load", ["extract"])]);

  it("finds a node by its name", () => {
    expect(nodeIndex(graph, "load")).toBe(1);
  });

  it("shows the nearest names where there is none", () => {
    expect(() => nodeIndex(graph, "laod")).toThrow('the pipeline has no node named "laod". Did you mean "load"?');
  });
});
