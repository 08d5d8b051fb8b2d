import { cleanLine } from "./clean-text.ts";
import { nodeDetails, nodeLabel } from "./drawn-graph.ts";
import type { DrawnGraph, DrawnNode } from "./drawn-graph.ts";
import { fit, widthOf } from "./table.ts";

const LONGEST_LABEL = 40;
/** Of more upstreams only the number is told. */
const MOST_NAMED = 10;
const GAP = "  ";

/**
 * The graph as text, a line a node, in layers: each node depends on nodes of layers above it alone. What there is to say of
 * a node goes on below it where the line is full.
 * @param width columns of the terminal; `undefined`: lines have no end
 */
export function drawGraphText(graph: DrawnGraph, width: number | undefined): string {
  const layers = layersOf(graph.nodes);
  const { aggregation, nodes, edgeCount } = graph;
  const policy = aggregation.kind === "quorum" ? `quorum(${aggregation.count})` : aggregation.kind;
  const title = `${cleanLine(graph.name)}: ${amount(nodes.length, "node")}, ${amount(edgeCount, "edge")}, ${amount(layers.length, "layer")}, ${policy}`;
  const labels = new Map(nodes.map((node) => [node, cleanLine(nodeLabel(node))]));
  const labelWidth = Math.min(LONGEST_LABEL, Math.max(0, ...[...labels.values()].map(widthOf)));
  const lines = layers.flatMap((layer, index) => [
    `layer ${index + 1}`,
    ...layer.flatMap((node) => {
      const label = labels.get(node) ?? "";
      const head = GAP + (widthOf(label) > labelWidth ? label : fit(label, labelWidth));
      const indent = labelWidth + 2 * GAP.length;
      return laidOut(head, details(node, width === undefined ? Number.POSITIVE_INFINITY : width - indent), { indent, width });
    }),
  ]);
  return [title, ...lines].map((line) => `${width === undefined ? line : fit(line, width).trimEnd()}\n`).join("");
}

/** @param room columns that the names of its upstreams may take; where they are more they are only counted */
function details(node: DrawnNode, room: number): readonly string[] {
  const { deps, kind } = node;
  const [only = ""] = deps;
  const names = deps.length > MOST_NAMED ? null : `← ${deps.map((dep) => cleanLine(dep)).join(", ")}`;
  const upstreams = names !== null && widthOf(names) <= room ? names : `← ${deps.length === 1 ? cleanLine(only) : amount(deps.length, "node")}`;
  return [...(deps.length === 0 ? [] : [upstreams]), ...(kind === "map" ? ["map"] : []), ...nodeDetails(node)];
}

/** Each part whole, on the line of the head while there is room. */
function laidOut(
  head: string,
  parts: readonly string[],
  { indent, width }: { readonly indent: number; readonly width: number | undefined },
): readonly string[] {
  const lines: string[] = [];
  let line = head;
  for (const part of parts) {
    const longer = `${line}${GAP}${part}`;
    if (width === undefined || widthOf(longer) <= width || line.trim() === "") {
      line = longer;
      continue;
    }
    lines.push(line.trimEnd());
    line = " ".repeat(Math.max(0, indent - GAP.length)) + GAP + part;
  }
  return [...lines, line.trimEnd()];
}

/** The layer of a node is one below the lowest of those it depends on, which come before it. */
function layersOf(nodes: readonly DrawnNode[]): readonly (readonly DrawnNode[])[] {
  const depth = new Map<string, number>();
  const layers: DrawnNode[][] = [];
  for (const node of nodes) {
    const layer = node.deps.reduce((deepest, dep) => Math.max(deepest, (depth.get(dep) ?? 0) + 1), 0);
    depth.set(node.name, layer);
    (layers[layer] ??= []).push(node);
  }
  return layers;
}

function amount(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}
