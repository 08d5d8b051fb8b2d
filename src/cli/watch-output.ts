import { Writable } from "node:stream";
import { EXIT_CODES } from "./exit-codes.ts";
import type { Host, OutputStream } from "./host.ts";
import { isClosing } from "./output/output.ts";

/**
 * Watches whether stdout takes what is written to it.
 * @returns waits for the last of it, and gives the exit code that the verdict's becomes: a success that could not
 * be written down is none, and one whose place to be told was shut from within is not to be trusted
 */
export function watchOutput({ stdout, stderr }: Host): (verdict: number) => Promise<number> {
  let failure: Error | null = null;
  let isShut = false;
  // Kept, since the stdout of a process looks open again afterwards; but it calls nobody back any more.
  stdout.on("error", (error: Error) => {
    isShut ||= failure === null && "code" in error && error.code === "ERR_STREAM_WRITE_AFTER_END";
    failure ??= error;
  });
  stdout.on("finish", () => (isShut = true));
  stdout.on("close", () => (isShut ||= failure === null));
  // A reader that has gone is no reason to crash.
  stderr.on("error", () => {});
  return async (verdict) => {
    if (!isShut && failure === null) await lastWrite(stdout);
    if (isShut || stdout.writableEnded) {
      stderr.write("chongming: stdout was ended by a task or a module: the output is not whole. Write to it, and leave it open.\n");
      return EXIT_CODES.internal;
    }
    if (failure === null || isClosing(failure)) return verdict;
    stderr.write(`chongming: the output could not be written: ${failure.message}\n`);
    return verdict === EXIT_CODES.ok ? EXIT_CODES.usage : verdict;
  };
}

/** Resolves when all before it has been written, or has failed. */
async function lastWrite(stream: OutputStream): Promise<void> {
  await new Promise<void>((resolve) => {
    stream.once("close", resolve);
    // The stream's own: what stands over it may lead elsewhere.
    Writable.prototype.write.call(stream, "", "utf8", () => resolve());
  });
}
