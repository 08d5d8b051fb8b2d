import { cleanLine } from "./clean-text.ts";
import { mapDetails, nodeLabel } from "./drawn-graph.ts";
import type { DrawnGraph, DrawnNode } from "./drawn-graph.ts";
import { fit, widthOf } from "./table.ts";

const LONGEST_LABEL = 40;

/**
 * The graph as text, a line a node, in layers: each node depends on nodes of layers above it alone.
 * @param width columns of the terminal; `undefined`: nothing is cut
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
    ...layer.map((node) => {
      const label = labels.get(node) ?? "";
      const rest = details(node);
      return rest === "" ? `  ${label}` : `  ${widthOf(label) > labelWidth ? label : fit(label, labelWidth)}  ${rest}`;
    }),
  ]);
  return [title, ...lines].map((line) => `${width === undefined ? line : fit(line, width).trimEnd()}\n`).join("");
}

function details(node: DrawnNode): string {
  const { deps, join, hasCondition } = node;
  const parts = [
    ...(deps.length === 0 ? [] : [`← ${deps.map((dep) => cleanLine(dep)).join(", ")}`]),
    ...(join === "all_succeeded" ? [] : [`join ${join}`]),
    ...(hasCondition === true ? ["when …"] : []),
    ...mapDetails(node),
  ];
  return parts.join("  ");
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
