import { stripVTControlCharacters } from "node:util";

/** More than a screen shows; it bounds the work on what a task may have made up. */
const MAX_LENGTH = 4_000;

/** Control characters but for line feed and tab, line separators, and what turns the direction of writing. */
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/gu;

/**
 * Text of somebody else's, safe to put on a terminal: whole control sequences are taken out, then every
 * control character but line feed and tab, and what turns the direction of writing. Longer text is cut.
 */
export function cleanText(text: string, maxLength = MAX_LENGTH): string {
  const kept = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
  return stripVTControlCharacters(kept.toWellFormed().replaceAll("\r\n", "\n")).replaceAll(UNSAFE, (character) =>
    character === "\n" || character === "\t" ? character : "",
  );
}

/** The same on one line: what comes after a line feed is set off by `⏎`. */
export function cleanLine(text: string, maxLength = MAX_LENGTH): string {
  return cleanText(text.trim(), maxLength)
    .replaceAll(/ *\n+ */g, " ⏎ ")
    .replaceAll("\t", " ");
}
