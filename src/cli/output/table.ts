import cliTruncate from "cli-truncate";
import stringWidth from "string-width";

/** Cuts text to so many columns with an ellipsis, never inside a character, and fills it up with spaces. */
export function fit(text: string, width: number, align: "left" | "right" = "left"): string {
  if (width <= 0) return "";
  const cut = stringWidth(text) > width ? cliTruncate(text, width) : text;
  // A wide character may leave one column free.
  const space = " ".repeat(Math.max(0, width - stringWidth(cut)));
  return align === "left" ? cut + space : space + cut;
}

/** The same for a name: cut in the middle, so that names which differ at their end only stay apart. */
export function fitMiddle(text: string, width: number): string {
  return fit(stringWidth(text) > width ? cliTruncate(text, Math.max(1, width), { position: "middle" }) : text, width);
}

/** Columns as a terminal counts them: two for wide characters, none for combining marks. */
export function widthOf(text: string): number {
  return stringWidth(text);
}

const GAP = "  ";

/**
 * A table with a heading, its columns aligned by display width. Where the terminal is too narrow the widest columns
 * give way first.
 * @param width columns of the terminal; `undefined`: nothing is cut
 */
export function formatTable(heading: readonly string[], rows: readonly (readonly string[])[], width: number | undefined): readonly string[] {
  const all = [heading, ...rows];
  const natural = heading.map((_, column) => Math.max(...all.map((row) => stringWidth(row[column] ?? ""))));
  const widths = width === undefined ? natural : shrink(natural, width - GAP.length * (heading.length - 1));
  return all.map((row) =>
    widths
      .map((columns, index) => fit(row[index] ?? "", columns))
      .join(GAP)
      .trimEnd(),
  );
}

/** Takes from the widest until the sum fits; a column keeps at least one. */
function shrink(natural: readonly number[], room: number): readonly number[] {
  const widths = [...natural];
  for (let surplus = widths.reduce((sum, width) => sum + width, 0) - room; surplus > 0; surplus -= 1) {
    const widest = widths.indexOf(Math.max(...widths));
    if ((widths[widest] ?? 0) <= 1) break;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
  return widths;
}
