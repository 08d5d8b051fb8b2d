import { writeSync } from "node:fs";

/** A host's line to its test. */
export function say(line: Readonly<Record<string, unknown>>): void {
  writeSync(1, `${JSON.stringify(line)}\n`);
}
