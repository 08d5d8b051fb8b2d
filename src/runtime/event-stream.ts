import type { TaskEvent } from "../core/events.ts";
import { BoundedQueue } from "./bounded-queue.ts";

type Result = IteratorResult<TaskEvent, undefined>;

/**
 * Events as an async iterator, from the moment it was made. What is not taken in time waits in a bounded
 * queue; when that is full the oldest event is dropped and counted, so the last events of a task always
 * arrive. Leaving a `for await` ends it.
 */
export class EventStream implements AsyncIterableIterator<TaskEvent, undefined> {
  readonly #queue: BoundedQueue<TaskEvent>;
  readonly #onEnd: () => void;
  readonly #takers: ((result: Result) => void)[] = [];
  #ended = false;
  #dropped = 0;

  /**
   * @param limit how many events may wait
   * @param onEnd called once, when it wants no more events
   */
  constructor(limit: number, onEnd: () => void) {
    this.#queue = new BoundedQueue(limit);
    this.#onEnd = onEnd;
  }

  /** How many events were lost because nobody took them in time. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How many events are there to be taken at once. */
  get waiting(): number {
    return this.#queue.size;
  }

  /** Hands an event on, or keeps it. False: an older one was dropped for it. */
  push(event: TaskEvent): boolean {
    if (this.#ended) return true;
    const taker = this.#takers.shift();
    if (taker !== undefined) {
      taker({ done: false, value: event });
      return true;
    }
    const hadRoom = this.#queue.push(event);
    if (!hadRoom) this.#dropped += 1;
    return hadRoom;
  }

  /** No more events come; what is in the queue is still delivered. */
  finish(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
    for (const taker of this.#takers.splice(0)) taker(DONE);
  }

  next(): Promise<Result> {
    const event = this.#queue.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  /** Ends it at once; what is in the queue is forgotten. */
  return(): Promise<Result> {
    this.#queue.clear();
    this.finish();
    return Promise.resolve(DONE);
  }

  /** Ends it at once and rejects with what it was given. */
  async throw(error: unknown): Promise<Result> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }
}

const DONE: Result = Object.freeze({ done: true, value: undefined });
