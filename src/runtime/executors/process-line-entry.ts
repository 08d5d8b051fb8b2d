import { Socket } from "node:net";
import { workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { encodeFrame, FrameReader } from "./frames.ts";
import { signalGroup } from "./platform.ts";
import { CONTROL_FD } from "./process-line.ts";
import { SENT } from "./thread-line.ts";

// The helper thread of a child process: it hears what is asked of the task, beats, and sees when the supervisor is gone.
const BEAT_MS = 5_000;

const { port, counter, pid } = workerData as { readonly port: MessagePort; readonly counter: Int32Array; readonly pid: number };
const socket = new Socket({ fd: CONTROL_FD, readable: true, writable: true });

const frames = new FrameReader(
  (message) => {
    port.postMessage(message);
    Atomics.add(counter, SENT, 1);
    Atomics.notify(counter, SENT);
  },
  () => socket.destroy(),
);
socket.on("data", (piece: Buffer) => frames.add(piece));
// The supervisor is gone, however it died: nothing here may outlive it.
socket.on("close", () => signalGroup(pid, "SIGKILL"));
socket.on("error", () => socket.destroy());

port.postMessage("ready");
setInterval(() => socket.write(encodeFrame({ type: "beat" })), BEAT_MS).unref();
