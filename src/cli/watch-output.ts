import { Writable } from "node:stream";
import { EXIT_CODES } from "./exit-codes.ts";
import type { Host } from "./host.ts";
import { isClosing } from "./output/output.ts";

/**
 * Watches whether stdout takes what is written to it.
 * @returns waits for the last of it, and gives the exit code that the verdict's becomes: a success that could not
 * be written down is none, and one whose place to be told was shut from within is not to be trusted
 */
export function watchOutput({ stdout, stderr }: Host): (verdict: number) => Promise<number> {
  let failure: Error | null = null;
  stdout.on("error", (error: Error) => (failure ??= error));
  // A reader that has gone is no reason to crash.
  stderr.on("error", () => {});
  return async (verdict) => {
    // The stream's own: what stands over it may lead elsewhere. Its own failure comes after those before it.
    await new Promise<void>((resolve) => void Writable.prototype.write.call(stdout, "", "utf8", () => resolve()));
    if (stdout.writableEnded || (stdout.destroyed && failure === null)) {
      stderr.write("chongming: stdout was ended by a task or a module: the output is not whole. Write to it, and leave it open.\n");
      return EXIT_CODES.internal;
    }
    if (failure === null || isClosing(failure)) return verdict;
    stderr.write(`chongming: the output could not be written: ${failure.message}\n`);
    return verdict === EXIT_CODES.ok ? EXIT_CODES.usage : verdict;
  };
}
