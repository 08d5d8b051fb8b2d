import { stripVTControlCharacters } from "node:util";

/** What V8 prints when it ends its own process in a program that starts and ends many workers: see docs/guides/carriers.md. */
const FAULT = "Check failed: jit_page.has_value().";

/**
 * The test files that V8 itself took down, in a run in which nothing else went wrong beside the tests: they say nothing about
 * this code, and are to be run again. Empty: the run stands as it is.
 * @param output what the test runner printed
 */
export function filesLostToV8(output: string): readonly string[] {
  const text = stripVTControlCharacters(output);
  const files = [...text.matchAll(/Worker exited unexpectedly with signal SIGTRAP .* while running test file (\S+)/g)].map(([, file]) => file ?? "");
  const unhandled = Number(/Vitest caught (\d+) unhandled error/.exec(text)?.[1] ?? 0);
  const isAllOfIt = text.includes(FAULT) && unhandled === files.length && !text.includes("does not meet");
  return isAllOfIt ? [...new Set(files)] : [];
}
