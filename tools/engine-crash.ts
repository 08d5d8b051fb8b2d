import { stripVTControlCharacters } from "node:util";

/** What V8 may print when it ends its own process in a program that starts and ends many workers: see docs/guides/carriers.md. */
const FAULT = "Check failed: jit_page.has_value().";

/**
 * The test files that V8 itself took down, in a run in which nothing else went wrong beside the tests: they say nothing about
 * this code, and are to be run again. Empty: the run stands as it is.
 * @param output what the test runner printed
 */
export function filesLostToV8(output: string): readonly string[] {
  const text = stripVTControlCharacters(output);
  // A segmentation fault says nothing of its own; JavaScript alone cannot make one.
  const signals = text.includes(FAULT) ? "SIGTRAP|SIGSEGV" : "SIGSEGV";
  const died = new RegExp(`Worker exited unexpectedly with signal (?:${signals}) .* while running test file (\\S+)`, "g");
  const files = [...text.matchAll(died)].map(([, file]) => file ?? "");
  const unhandled = Number(/Vitest caught (\d+) unhandled error/.exec(text)?.[1] ?? 0);
  const isAllOfIt = files.length > 0 && unhandled === files.length && !text.includes("does not meet");
  return isAllOfIt ? [...new Set(files)] : [];
}
