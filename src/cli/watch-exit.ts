import { writeSync } from "node:fs";
import { EXIT_CODES } from "./exit-codes.ts";

/**
 * Sees to it that the process ends with our code, whoever ends it: a task or a module that calls `process.exit`
 * must not make a success of a run that has not ended.
 * @param expected the code to leave with; `null` while there is none yet
 * @param isWhole has all output been written, as far as it was to be?
 */
export function watchExit(expected: () => number | null, isWhole: () => boolean): void {
  let isDrained = false;
  process.on("beforeExit", () => {
    isDrained = true;
  });
  process.on("exit", (code) => {
    const known = expected();
    if (known !== null && isWhole()) {
      process.exitCode = known;
      return;
    }
    process.exitCode = EXIT_CODES.internal;
    const what = isDrained ? "nothing is left that could go on" : `a task or a module called process.exit (code ${code})`;
    const lost = known === null ? "this had not ended: its outcome is not known" : "not all output was written";
    lastWords(`chongming: ${what}, and ${lost}.\n`);
  });
}

/** No stream is served any more. */
function lastWords(text: string): void {
  try {
    writeSync(2, text);
  } catch {
    // Nobody reads it.
  }
}
