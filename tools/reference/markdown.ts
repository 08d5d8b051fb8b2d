/** The first line of each generated page. */
export const GENERATED =
  "<!-- Generated from the source by `npm run docs`: do not edit. -->\n\n*This page is generated from the source by `npm run docs`; a test fails when it is stale.*";

/** A name as code. */
export function code(name: string): string {
  return `\`${name}\``;
}

/** Names as code, with commas between. */
export function codes(names: Iterable<string>): string {
  return [...names].map(code).join(", ");
}

/** A table; a bar in a cell is escaped so that it does not end it. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`)).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** A list with a dash before each item. */
export function list(items: readonly string[]): string {
  return items.map((item) => `- ${item}`).join("\n");
}

/** The parts of a page with a blank line between them. */
export function page(...parts: readonly string[]): string {
  return `${[GENERATED, ...parts].join("\n\n")}\n`;
}
