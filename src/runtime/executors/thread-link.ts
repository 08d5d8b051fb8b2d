import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads";
import type { MessagePort, ResourceLimits } from "node:worker_threads";
import type { Clock } from "../../core/ports/clock.ts";
import { failureOf } from "../../core/thrown.ts";
import type { CarrierListener } from "./carrier-link.ts";
import type { PooledLink } from "./carrier-pool.ts";
import { entryUrl } from "../entry-url.ts";
import { OutputLines } from "./output-lines.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";
import { charsOf, SENT, sharedCounter, TAKEN } from "./thread-line.ts";

/** An idle worker is asked to end; after so long it is ended. */
const RETIRE_TAKES_AT_MOST_MS = 1_000;

/** A worker that is caught in native code ends when that returns, which may be never: nobody waits longer than this. */
const GONE_TAKES_AT_MOST_MS = 2_000;

/** The supervisor's end of one worker thread. */
export class ThreadLink implements PooledLink {
  readonly pid = null;
  listener: CarrierListener | null = null;
  readonly #clock: Clock;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #counter = sharedCounter();
  readonly #gone: Promise<void>;
  #alive = true;
  #reason: string | null = null;
  /** What is printed now; made when something is. */
  #output: Readonly<Record<"stdout" | "stderr", OutputLines>> | null = null;

  constructor(clock: Clock, resourceLimits: ResourceLimits) {
    this.#clock = clock;
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#worker = new Worker(entryUrl(import.meta.url, "thread-entry"), {
      workerData: { port: port2, counter: this.#counter },
      transferList: [port2],
      resourceLimits,
      stdin: false,
    });
    port1.on("message", (message: FromCarrier) => this.#receive(message));
    this.#worker.on("error", (error: unknown) => (this.#reason = reasonOf(error)));
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    this.#worker.once("exit", (code) => {
      this.#exited(code);
      resolve();
    });
  }

  get alive(): boolean {
    return this.#alive;
  }

  hold(): void {
    this.#worker.ref();
    this.#port.ref();
  }

  letGo(): void {
    this.#worker.unref();
    this.#port.unref();
  }

  post(message: ToCarrier): void {
    this.#port.postMessage(message);
    // A line that was begun between two tasks is not continued by the second.
    if (message.type === "run") this.#output = null;
    Atomics.add(this.#counter, SENT, 1);
    Atomics.notify(this.#counter, SENT);
  }

  kill(): void {
    void this.#worker.terminate();
  }

  async retire(): Promise<void> {
    if (!this.#alive) return;
    this.hold();
    this.post({ type: "retire" });
    const { promise: givenUp, resolve: giveUp } = Promise.withResolvers<void>();
    const timers = [this.#clock.setTimer(RETIRE_TAKES_AT_MOST_MS, () => this.kill()), this.#clock.setTimer(GONE_TAKES_AT_MOST_MS, giveUp)];
    await Promise.race([this.#gone, givenUp]);
    for (const timer of timers) timer.cancel();
    if (this.#alive) this.letGo();
  }

  #receive(message: FromCarrier): void {
    const chars = charsOf(message);
    if (chars > 0) {
      Atomics.add(this.#counter, TAKEN, chars);
      Atomics.notify(this.#counter, TAKEN);
    }
    if (message.type === "output") {
      (this.#output ??= this.#newOutput())[message.stream].add(message.text);
      return;
    }
    if (message.type === "returned" || message.type === "threw") this.#flushOutput();
    this.listener?.message(message);
  }

  #exited(exitCode: number): void {
    // What it said last is still at the port.
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) this.#receive(next.message as FromCarrier);
    this.#alive = false;
    this.#port.close();
    this.#flushOutput();
    this.listener?.exited({ exitCode, signal: null, reason: this.#reason });
  }

  #newOutput(): Readonly<Record<"stdout" | "stderr", OutputLines>> {
    const lines = (stream: "stdout" | "stderr"): OutputLines => new OutputLines((text) => this.listener?.message({ type: "output", stream, text }));
    return { stdout: lines("stdout"), stderr: lines("stderr") };
  }

  #flushOutput(): void {
    this.#output?.stdout.end();
    this.#output?.stderr.end();
    this.#output = null;
  }
}

function reasonOf(error: unknown): string {
  if (typeof error === "object" && error !== null && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") return "ran out of memory (resourceLimits)";
  const { name, message } = failureOf(error);
  return `was ended by an uncaught ${name} (${message})`;
}
