import { Writable } from "node:stream";

/** How long what user code left open may still take to end by itself. */
const LINGER_MS = 300;
/** How long the last words of a process that was told to go may take to get out. */
const LAST_WORDS_MS = 250;

/**
 * Ends this process with the code when nothing keeps it, or else after a moment: a timer or socket of a task's
 * body does not. What was written is waited for, however slow its reader.
 * @param lingers false: there is no such moment
 */
export function leaveSoon(streams: readonly Writable[], exitCode: number, lingers: boolean): void {
  process.exitCode = exitCode;
  const timer = setTimeout(
    () => {
      void Promise.all(streams.map(drained)).then(() => process.exit(exitCode));
    },
    lingers ? LINGER_MS : 0,
  );
  timer.unref();
}

/** Ends this process with the code, at once but for the last words. */
export function leaveNow(streams: readonly Writable[], exitCode: number): void {
  process.exitCode = exitCode;
  const exit = (): never => process.exit(exitCode);
  setTimeout(exit, LAST_WORDS_MS);
  void Promise.all(streams.map(drained)).then(exit);
}

/** `process.exit` forgets what a pipe has not taken yet. */
async function drained(stream: Writable): Promise<void> {
  if (stream.writableLength === 0 || stream.destroyed || !stream.writable) return;
  await new Promise<void>((resolve) => {
    stream.once("close", resolve);
    stream.once("error", () => resolve());
    // The stream's own: what stands over it may lead elsewhere.
    Writable.prototype.write.call(stream, "", "utf8", () => resolve());
  });
}
