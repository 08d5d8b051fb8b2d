import { writeSync } from "node:fs";
import { MessageChannel, Worker } from "node:worker_threads";
import { systemClock } from "../system-clock.ts";
import { watchStrays } from "../strays.ts";
import { Carrier } from "./carrier.ts";
import { markCarrier } from "./carrier-flag.ts";
import { entryUrl } from "../entry-url.ts";
import { canEncode, encodeFrame } from "./frames.ts";
import { guardEnds } from "./late-ends.ts";
import { FLUSHED, outputMark, sharedLine, WRITTEN } from "./process-line.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";
import { PortInbox } from "./thread-line.ts";

// The first file of a child process. A helper thread holds the line to the supervisor, so that a busy main thread
// still hears, still beats, and still dies with its supervisor.
const FLUSH_TAKES_AT_MOST_MS = 500;
const MOST_UNWRITTEN_BYTES = 1024 * 1024;

markCarrier();
const exit = process.exit.bind(process);
let handedOver = 0;
for (const stream of [process.stdout, process.stderr]) writeThrough(stream);
const shared = sharedLine();
const { port1, port2 } = new MessageChannel();
const line = new Worker(entryUrl(import.meta.url, "process-line-entry"), {
  workerData: { port: port2, shared, pid: process.pid },
  transferList: [port2],
  stdout: false,
  stderr: false,
});
line.unref();

let current: { readonly taskId: string; readonly attempt: number } | null = null;

const inbox = new PortInbox(port1, shared, receive);
const carrier = new Carrier(systemClock, { post, inbox, copies: canEncode, retire: () => exit(0) });
port1.on("message", receive);
for (const stream of [process.stdout, process.stderr]) silenceEarlier(stream);
watchStrays();
guardEnds((call) => carrier.ending(call));
// What was said last must be on its way before the threads of this process are ended.
process.on("exit", flush);

function receive(message: ToCarrier): void {
  if (message.type === "run") current = message.job;
  carrier.receive(message);
}

/** What cannot be copied throws here, where it was said; the bytes are then handed over, not copied. */
function post(message: FromCarrier): void {
  const frame = encodeFrame(message);
  if ((message.type === "returned" || message.type === "threw") && current !== null) markOutput(outputMark(current.taskId, current.attempt));
  handedOver = (handedOver + frame.length) | 0;
  port1.postMessage({ type: "pass", frame }, [frame.buffer]);
  // What was saved is what the next attempt goes on from, also when this process is killed in the next line.
  waitForReader(message.type === "save" ? 0 : MOST_UNWRITTEN_BYTES);
  // User code may take the process down in its first line: by then it must be known that something ran.
  if (message.type === "launched") flush();
}

/** A flood waits here for its supervisor to read, instead of growing in memory and keeping a pause or stop behind it. */
function waitForReader(mostUnwritten: number): void {
  for (let written = Atomics.load(shared, WRITTEN); ((handedOver - written) | 0) > mostUnwritten; written = Atomics.load(shared, WRITTEN))
    Atomics.wait(shared, WRITTEN, written);
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

function markOutput(mark: string): void {
  for (const fd of [1, 2]) {
    try {
      writeSync(fd, `${mark}\n`);
    } catch {
      // The task has closed it or left it full: the supervisor waits a moment instead of seeing the mark.
    }
  }
}

function flush(): void {
  const before = Atomics.load(shared, FLUSHED);
  port1.postMessage({ type: "flush" });
  Atomics.wait(shared, FLUSHED, before, FLUSH_TAKES_AT_MOST_MS);
}
