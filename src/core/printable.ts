/** Has it at least one character that can be seen? */
export function hasPrintable(text: string): boolean {
  return /[^\p{C}\p{Z}]/u.test(text);
}

/**
 * Makes text safe to show and to store: control characters (but for line feed and tab) and those that turn
 * the direction of writing are shown as escapes, lone surrogates become U+FFFD, and what is longer than
 * `maxLength` is cut, saying how much is missing.
 */
export function toPrintable(text: string, maxLength: number): string {
  const missing = text.length - maxLength;
  const kept = (missing > 0 ? text.slice(0, maxLength) : text).toWellFormed().replaceAll("\r\n", "\n");
  const shown = kept.replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu, showControl);
  return missing > 0 ? `${shown}… (${missing} more characters)` : shown;
}

function showControl(character: string): string {
  if (character === "\n" || character === "\t") return character;
  return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
}
