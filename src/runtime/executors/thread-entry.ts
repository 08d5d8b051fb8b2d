import { workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { systemClock } from "../system-clock.ts";
import { watchStrays } from "../strays.ts";
import { Carrier } from "./carrier.ts";
import { markCarrier } from "./carrier-flag.ts";
import { guardEnds } from "./late-ends.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";
import { charsOf, PortInbox, TAKEN } from "./thread-line.ts";

// The first file of a worker thread. What it prints goes the way of all messages, so that `process.exit` loses nothing.
const MOST_UNREAD_CHARS = 1024 * 1024;

markCarrier();
let said = 0;
const { port, counter } = workerData as { readonly port: MessagePort; readonly counter: Int32Array };

for (const stream of ["stdout", "stderr"] as const) captureOutput(stream);

const inbox = new PortInbox(port, counter, (message) => carrier.receive(message));
const carrier = new Carrier(systemClock, { post, inbox, retire: () => port.close() });
port.on("message", (message: ToCarrier) => carrier.receive(message));
watchStrays();
guardEnds((call) => carrier.ending(call));

/** A flood waits here for its supervisor to read, instead of growing in memory there. */
function post(message: FromCarrier): void {
  port.postMessage(message);
  const chars = charsOf(message);
  if (chars === 0) return;
  said = (said + chars) | 0;
  for (let taken = Atomics.load(counter, TAKEN); ((said - taken) | 0) > MOST_UNREAD_CHARS; taken = Atomics.load(counter, TAKEN))
    Atomics.wait(counter, TAKEN, taken);
}

/** What an attempt that has ended here prints late is nobody's. */
function print(stream: "stdout" | "stderr", text: string): void {
  if (!carrier.hearsEarlier) post({ type: "output", stream, text });
}

function captureOutput(stream: "stdout" | "stderr"): void {
  const decoder = new TextDecoder();
  process[stream].write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    print(stream, typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }));
    const callback = typeof encoding === "function" ? encoding : done;
    if (typeof callback === "function") queueMicrotask(() => void Reflect.apply(callback, undefined, [null]));
    return true;
  };
}
