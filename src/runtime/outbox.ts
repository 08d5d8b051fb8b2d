import type { TaskEvent } from "../core/events.ts";

/** So many events of one task wait for the store at most. */
const MOST_WAITING = 1_000;

/**
 * What a task said behind steps that are not stored yet, in order. Where the store stays away the oldest makes
 * room: a step is never lost, a log line may be.
 */
export class Outbox {
  #waiting: TaskEvent[] = [];
  /** Those that go out ahead of a later step, and wait with it. */
  #ahead = 0;
  #dropped = 0;

  /** Events lost for want of room since `drain`. */
  get dropped(): number {
    return this.#dropped;
  }

  /** False: there was no room, and the oldest that can still be dropped was. */
  add(event: TaskEvent): boolean {
    this.#waiting.push(event);
    if (this.#waiting.length + this.#ahead <= MOST_WAITING) return true;
    this.#waiting.shift();
    this.#dropped += 1;
    return false;
  }

  /** Hands over what waits: it goes out ahead of the step that is decided now, and counts until `sent`. */
  takeAhead(): readonly TaskEvent[] {
    const events = this.#take();
    this.#ahead += events.length;
    return events;
  }

  /** So many of those that were taken no longer wait. */
  sent(count: number): void {
    this.#ahead -= count;
  }

  /** Everything is stored: hands over the rest. */
  drain(): readonly TaskEvent[] {
    this.#dropped = 0;
    return this.#take();
  }

  #take(): readonly TaskEvent[] {
    if (this.#waiting.length === 0) return NOTHING;
    const events = this.#waiting;
    this.#waiting = [];
    return events;
  }
}

const NOTHING: readonly TaskEvent[] = Object.freeze([]);
