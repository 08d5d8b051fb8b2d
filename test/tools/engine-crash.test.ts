import { expect, test } from "vitest";
import { filesLostToV8 } from "../../tools/engine-crash.ts";

const FATAL = "#\n# Fatal error in , line 0\n# Check failed: jit_page.has_value().\n#\n";
const LOST =
  "\u001b[31m\u001b[1mCaused by: Error\u001b[22m: Worker exited unexpectedly with signal SIGTRAP during started state while running test file /a/sweeps.test.ts\u001b[39m\n";
const one = (count: number): string => `Vitest caught ${count} unhandled error during the test run.\n`;

test("a file that V8 itself took down is named", () => {
  expect(filesLostToV8(FATAL + one(1) + LOST)).toEqual(["/a/sweeps.test.ts"]);
});

test("a segmentation fault says no more than its signal", () => {
  expect(filesLostToV8(one(1) + LOST.replace("SIGTRAP", "SIGSEGV"))).toEqual(["/a/sweeps.test.ts"]);
});

test.each([
  ["nothing went wrong", "5 passed"],
  ["the worker died of something else", one(1) + LOST],
  ["another signal", FATAL + one(1) + LOST.replace("SIGTRAP", "SIGKILL")],
  ["there is another unhandled error beside it", FATAL + one(2) + LOST],
  ["the coverage is too low as well", `${FATAL}${one(1)}${LOST}ERROR: Coverage for lines (80%) does not meet global threshold (85%)`],
])("%s: the run stands as it is", (_name, output) => {
  expect(filesLostToV8(output)).toEqual([]);
});
