import { nodeDetails, nodeLabel } from "./drawn-graph.ts";
import type { DrawnGraph, DrawnNode } from "./drawn-graph.ts";

/** The graph as a Mermaid flowchart. */
export function drawMermaid({ name, nodes }: DrawnGraph): string {
  const ids = new Map(nodes.map((node, index) => [node.name, `n${index}`]));
  const boxes = nodes.map((node, index) => `  n${index}${box(node)}`);
  const arrows = nodes.flatMap((node, index) => node.deps.map((dep) => `  ${ids.get(dep) ?? ""} --> n${index}`));
  return ["---", `title: ${JSON.stringify(name)}`, "---", "flowchart TD", ...boxes, ...arrows, ""].join("\n");
}

/** A map has a box with double sides, as what is done many times. */
function box(node: DrawnNode): string {
  const label = escape([nodeLabel(node), ...nodeDetails(node)].join(", "));
  return node.kind === "map" ? `[["${label}"]]` : `["${label}"]`;
}

/** Mermaid reads HTML, Markdown and its own syntax inside quotes: all but letters, digits, marks and a few harmless signs goes as a code. */
function escape(text: string): string {
  return text.replaceAll(
    /(?![\u200d\p{M}])[^\p{L}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator} _.,:()-]/gu,
    (character) => `#${character.codePointAt(0) ?? 63};`,
  );
}
