import { Socket } from "node:net";
import { workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { encodeFrame, FrameReader } from "./frames.ts";
import { signalGroup } from "./platform.ts";
import { FLUSHED, LINE_FD, WRITTEN } from "./process-line.ts";
import type { ToLine } from "./process-line.ts";
import { SENT } from "./thread-line.ts";

// The helper thread of a child process: it holds the line to the supervisor.
const BEAT_MS = 5_000;

const { port, shared, pid } = workerData as { readonly port: MessagePort; readonly shared: Int32Array; readonly pid: number };
const socket = new Socket({ fd: LINE_FD, readable: true, writable: true });

const frames = new FrameReader(
  (message) => {
    port.postMessage(message);
    Atomics.add(shared, SENT, 1);
    Atomics.notify(shared, SENT);
  },
  () => socket.destroy(),
);
socket.on("data", (piece: Buffer) => frames.add(piece));
// The supervisor is gone, however it died: nothing here may outlive it.
socket.on("close", () => signalGroup(pid, "SIGKILL"));
socket.on("error", () => socket.destroy());

port.on("message", (message: ToLine) => {
  if (message.type === "pass") pass(message.frame);
  else flushed();
});
setInterval(() => socket.write(encodeFrame({ type: "beat" })), BEAT_MS).unref();

/** The main thread waits where too much of what it said is unread. */
function pass(frame: Uint8Array): void {
  socket.write(frame, () => {
    Atomics.add(shared, WRITTEN, frame.length);
    Atomics.notify(shared, WRITTEN);
  });
}

function flushed(): void {
  socket.write("", () => {
    Atomics.add(shared, FLUSHED, 1);
    Atomics.notify(shared, FLUSHED);
  });
}
