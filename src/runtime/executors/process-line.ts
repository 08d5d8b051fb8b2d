import type { FromCarrier } from "./protocol.ts";

/** The file descriptor of the line between a child and its supervisor. */
export const LINE_FD = 3;

/** What the main thread of a child asks of its line thread beside passing messages on. */
export type ToLine = { readonly type: "pass"; readonly message: FromCarrier } | { readonly type: "flush" };

/** What the line's two threads share: how many messages have come in, and how many flushes are done. */
export const FLUSHED = 1;

/** The shared memory of a child's two threads; the first cell counts messages, as in a worker. */
export function sharedLine(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/** Printed by a child at the end of a task: what came before it on that stream belongs to the task. */
export function outputMark(taskId: string, attempt: number): string {
  return `\u0000chongming end ${taskId} ${attempt}`;
}
