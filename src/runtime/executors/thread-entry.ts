import { workerData } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import { systemClock } from "../system-clock.ts";
import { watchStrays } from "../strays.ts";
import { Carrier } from "./carrier.ts";
import { markCarrier } from "./carrier-flag.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";
import { PortInbox } from "./thread-line.ts";

// The first file of a worker thread. What it prints goes the way of all messages, so that `process.exit` loses nothing.
markCarrier();
const { port, counter } = workerData as { readonly port: MessagePort; readonly counter: Int32Array };

const post = (message: FromCarrier): void => port.postMessage(message);
for (const stream of ["stdout", "stderr"] as const) captureOutput(stream);

const inbox = new PortInbox(port, counter, (message) => carrier.receive(message));
const carrier = new Carrier(systemClock, { post, inbox, retire: () => port.close() });
port.on("message", (message: ToCarrier) => carrier.receive(message));
watchStrays();

function captureOutput(stream: "stdout" | "stderr"): void {
  const decoder = new TextDecoder();
  process[stream].write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown): boolean => {
    post({ type: "output", stream, text: typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true }) });
    const callback = typeof encoding === "function" ? encoding : done;
    if (typeof callback === "function") queueMicrotask(() => void Reflect.apply(callback, undefined, [null]));
    return true;
  };
}
