/** The file descriptor of the line between a child and its supervisor. */
export const LINE_FD = 3;

/** What the main thread of a child asks of its line thread: to pass a frame on, or to say when all is written. */
export type ToLine = { readonly type: "pass"; readonly frame: Uint8Array } | { readonly type: "flush" };

/** What the line's two threads share beside the count of messages that have come in: how many flushes are done. */
export const FLUSHED = 1;

/** How many bytes of the main thread's frames have been written; runs over, so that differences count. */
export const WRITTEN = 2;

/** The shared memory of a child's two threads; the first cell counts messages, as in a worker. */
export function sharedLine(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(12));
}

/** Printed by a child at the end of a task: what came before it on that stream belongs to the task. */
export function outputMark(taskId: string, attempt: number): string {
  return `\u0000chongming end ${taskId} ${attempt}`;
}
