import { styleText } from "node:util";
import type { Style } from "./status-look.ts";

/** Colours text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

/** Whether to colour was decided before, from options, environment and stream. */
export function createPaint(colours: boolean): Paint {
  return colours ? (style, text) => styleText(style, text, { validateStream: false }) : (_style, text) => text;
}
