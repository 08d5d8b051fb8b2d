import { writeSync } from "node:fs";
import { Socket } from "node:net";
import { MessageChannel, Worker } from "node:worker_threads";
import { systemClock } from "../system-clock.ts";
import { watchStrays } from "../strays.ts";
import { Carrier } from "./carrier.ts";
import { markCarrier } from "./carrier-flag.ts";
import { entryUrl } from "../entry-url.ts";
import { canEncode, encodeFrame, FrameReader } from "./frames.ts";
import { guardEnds } from "./late-ends.ts";
import { JOBS_FD } from "./process-line.ts";
import type { Control } from "./process-line.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";
import { PortInbox, sharedCounter } from "./thread-line.ts";

// The first file of a child process. Jobs and answers go straight to and from this thread; a helper thread hears what is
// asked meanwhile, so that a busy main thread still hears, still beats, and still dies with its supervisor.
const READS_AT_ONCE_BYTES = 64 * 1024;
const LOOKS_AGAIN_AFTER_MS = 1;

markCarrier();
const exit = process.exit.bind(process);
for (const stream of [process.stdout, process.stderr]) writeThrough(stream);
const counter = sharedCounter();
const nap = new Int32Array(new SharedArrayBuffer(4));
const { port1, port2 } = new MessageChannel();
const helper = new Worker(entryUrl(import.meta.url, "process-line-entry"), {
  workerData: { port: port2, counter, pid: process.pid },
  transferList: [port2],
  stdout: false,
  stderr: false,
});
helper.unref();

let jobs = 0;
let early: Control[] = [];

const inbox = new PortInbox<Control>(port1, counter, control);
const carrier = new Carrier(systemClock, { post, inbox, copies: canEncode, retire: () => exit(0) });
// The helper's first word: now the task can be reached, and cannot outlive its supervisor. No job before that.
port1.once("message", () => {
  port1.on("message", control);
  listen();
});
for (const stream of [process.stdout, process.stderr]) silenceEarlier(stream);
watchStrays();
guardEnds((call) => carrier.ending(call));

function listen(): void {
  const socket: Socket = new Socket({
    fd: JOBS_FD,
    readable: true,
    writable: true,
    onread: {
      buffer: Buffer.allocUnsafeSlow(READS_AT_ONCE_BYTES),
      // A copy: a frame may come in pieces, and the buffer is used again.
      callback: (bytes, buffer) => {
        frames.add(Buffer.from(buffer.subarray(0, bytes)));
        return true;
      },
    },
  });
  const frames = new FrameReader(
    (message) => receive(message as ToCarrier),
    () => socket.destroy(),
  );
  // The supervisor sees it, too, and ends this process; if it is itself gone the helper does.
  socket.on("error", () => socket.destroy());
  socket.resume();
}

function receive(message: ToCarrier): void {
  if (message.type === "run") jobs += 1;
  carrier.receive(message);
  if (message.type !== "run") return;
  const waiting = early;
  early = [];
  for (const each of waiting) control(each);
}

/** What is asked may overtake the job that it is meant for, or come when that is over. */
function control(asked: Control): void {
  if (asked.nth > jobs) early.push(asked);
  else if (asked.nth === jobs) carrier.receive(asked.message);
}

/**
 * What cannot be copied throws here, where it was said. The rest is in the kernel's hands when this returns, so that no
 * end of this process can take it back. A flood waits here for its supervisor to read.
 */
function post(message: FromCarrier): void {
  const frame = encodeFrame(message);
  for (let at = 0; at < frame.length;) {
    const written = writeSome(frame, at);
    if (written === null) return;
    if (written === 0) Atomics.wait(nap, 0, 0, LOOKS_AGAIN_AFTER_MS);
    at += written;
  }
}

/** How many bytes there was room for; `null`: nobody is there to read them. */
function writeSome(frame: Buffer, from: number): number | null {
  try {
    return writeSync(JOBS_FD, frame, from);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EAGAIN" ? 0 : null;
  }
}

/** A child that is used again: what an attempt before this one prints late must not be taken for this one's. */
function silenceEarlier(stream: NodeJS.WriteStream): void {
  const write: unknown = Reflect.get(stream, "write");
  if (typeof write !== "function") return;
  stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    if (!carrier.hearsEarlier) return Boolean(Reflect.apply(write, stream, [chunk, encoding, done]));
    const callback = typeof encoding === "function" ? encoding : done;
    if (typeof callback === "function") queueMicrotask(() => void Reflect.apply(callback, undefined, [null]));
    return true;
  };
}

/**
 * Node writes to a pipe while there is room in it and keeps the rest: a flood would grow in memory here, and
 * `process.exit` would lose it. Blocking, the task waits until its supervisor has read.
 */
function writeThrough(stream: NodeJS.WriteStream): void {
  const pipe: unknown = Reflect.get(stream, "_handle");
  if (typeof pipe === "object" && pipe !== null && "setBlocking" in pipe && typeof pipe.setBlocking === "function")
    Reflect.apply(pipe.setBlocking, pipe, [true]);
}
