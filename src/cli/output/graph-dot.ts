import { nodeDetails, nodeLabel } from "./drawn-graph.ts";
import type { DrawnGraph, DrawnNode } from "./drawn-graph.ts";

/** The graph in Graphviz' language. */
export function drawDot({ name, nodes }: DrawnGraph): string {
  const ids = new Map(nodes.map((node, index) => [node.name, `n${index}`]));
  const boxes = nodes.map((node, index) => `  n${index} [label=${quote(label(node))}${node.kind === "map" ? ", peripheries=2" : ""}];`);
  const arrows = nodes.flatMap((node, index) => node.deps.map((dep) => `  ${ids.get(dep) ?? ""} -> n${index};`));
  return [`digraph ${quote(name)} {`, "  node [shape=box];", ...boxes, ...arrows, "}", ""].join("\n");
}

function label(node: DrawnNode): string {
  return [nodeLabel(node), ...nodeDetails(node)].join("\n");
}

/** Inside quotes a backslash begins an escape of Graphviz' own (`\N`, `\l`), so it is doubled as well. */
function quote(text: string): string {
  return `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
}
