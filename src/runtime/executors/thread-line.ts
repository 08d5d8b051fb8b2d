import { receiveMessageOnPort } from "node:worker_threads";
import type { MessagePort } from "node:worker_threads";
import type { Inbox } from "../cancellation.ts";
import type { FromCarrier, ToCarrier } from "./protocol.ts";

/** How many messages have been sent to the carrier: a shared counter that a busy loop can look at. */
export const SENT = 0;

/** How much of what the carrier has said and printed has been taken from it, in characters; runs over, so that differences count. */
export const TAKEN = 1;

/** What a message counts for whose length is not known. */
const CHARS_OF_A_MESSAGE = 4 * 1024;

/** How much a message of the carrier counts for, of those that a body may send without end and without a turn of its loop. */
export function charsOf(message: FromCarrier): number {
  if (message.type === "output") return message.text.length;
  return message.type === "log" || message.type === "emit" || message.type === "save" ? CHARS_OF_A_MESSAGE : 0;
}

/** The shared memory of one carrier. */
export function sharedCounter(): Int32Array<SharedArrayBuffer> {
  return new Int32Array(new SharedArrayBuffer(8));
}

/**
 * Where a carrier hears its supervisor though its event loop may not turn: the messages wait at the port, and a
 * shared counter says that there are some. Sleeping costs no CPU.
 */
export class PortInbox<Message = ToCarrier> implements Inbox {
  readonly #port: MessagePort;
  readonly #counter: Int32Array;
  readonly #receive: (message: Message) => void;
  #seen: number;

  constructor(port: MessagePort, counter: Int32Array, receive: (message: Message) => void) {
    this.#port = port;
    this.#counter = counter;
    this.#receive = receive;
    this.#seen = Atomics.load(counter, SENT);
  }

  get changed(): boolean {
    return Atomics.load(this.#counter, SENT) !== this.#seen;
  }

  drain(): void {
    this.#seen = Atomics.load(this.#counter, SENT);
    for (let next = receiveMessageOnPort(this.#port); next !== undefined; next = receiveMessageOnPort(this.#port)) this.#receive(next.message as Message);
  }

  sleep(ms: number): void {
    Atomics.wait(this.#counter, SENT, this.#seen, ms);
  }
}
