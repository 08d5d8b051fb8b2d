import type { TaskEvent } from "../core/events.ts";
import type { Logger } from "../core/ports/logger.ts";
import { EventStream } from "./event-stream.ts";
import { matches, SubscriptionIndex } from "./subscription-index.ts";
import type { EventFilter, Subscription } from "./subscription-index.ts";

/** How many events wait for a subscriber that is slow to take them, unless it says otherwise. */
export const DEFAULT_STREAM_LIMIT = 10_000;

/** How a subscription ends by itself. */
export interface SubscribeOptions {
  /** Ends it when aborted; aborted already, nothing is subscribed. */
  readonly signal?: AbortSignal | undefined;
  /** Called when it has ended, by whomever, or could not begin. */
  readonly ended?: () => void;
}

/** How a stream is kept. */
export interface StreamOptions extends SubscribeOptions {
  /** How many events may wait; an integer ≥ 1, default 10,000. What is beyond it is dropped, the oldest first, and counted. */
  readonly limit?: number | undefined;
}

interface Batch {
  readonly events: readonly TaskEvent[];
  /** The number of its first event. */
  readonly first: number;
}

/**
 * Fan-out of events to those who want them. Everybody sees them in the order of publishing, also where a
 * listener publishes more. Nobody can hurt the publisher or each other: what a listener throws, or rejects
 * with, is logged and counted, and nothing waits for it. Source §4.1.
 */
export class EventBus {
  readonly #logger: Logger;
  readonly #subscriptions = new SubscriptionIndex();
  /** How each of them is ended. */
  readonly #endings = new Set<() => void>();
  /** What listeners published while an event was being handed out. */
  readonly #backlog: Batch[] = [];
  #published = 0;
  #publishing = false;
  #closed = false;
  #dropped = 0;
  #failures = 0;

  constructor(options: { readonly logger: Logger }) {
    this.#logger = options.logger;
  }

  /** How many subscriptions there are, streams included. */
  get listenerCount(): number {
    return this.#subscriptions.size;
  }

  /** How many events were dropped in all, because streams were not read in time. */
  get dropped(): number {
    return this.#dropped;
  }

  /** How many times a listener threw or rejected. */
  get listenerFailures(): number {
    return this.#failures;
  }

  /** Does anybody want an event like that? For what is costly to make and often wanted by nobody. */
  hears(event: Pick<TaskEvent, "taskId" | "pipelineRunId" | "type">): boolean {
    const { others } = this.#subscriptions;
    const sets = [this.#subscriptions.ofTask(event.taskId), this.#subscriptions.ofRun(event.pipelineRunId), others];
    return sets.some((set) => set?.values().some(({ filter }) => matches(filter, event)));
  }

  /**
   * Calls `listener` for each matching event, synchronously and in order. A promise it returns is not
   * waited for.
   * @returns ends the subscription; harmless when called again, and inside the listener
   */
  subscribe(filter: EventFilter, listener: (event: TaskEvent) => unknown, { signal, ended }: SubscribeOptions = {}): () => void {
    if (this.#closed || signal?.aborted === true) {
      ended?.();
      return () => {};
    }
    const subscription = this.#add(filter, (event) => this.#call(listener, event));
    const end = (): void => {
      signal?.removeEventListener("abort", end);
      this.#subscriptions.delete(subscription);
      if (this.#endings.delete(end)) ended?.();
    };
    signal?.addEventListener("abort", end);
    this.#endings.add(end);
    return end;
  }

  /** The matching events from now on, for `for await`. It ends with the loop, the signal, or `close`. */
  stream(filter: EventFilter, { signal, limit = DEFAULT_STREAM_LIMIT }: StreamOptions = {}): EventStream {
    const stream = new EventStream(limit, () => {
      signal?.removeEventListener("abort", abort);
      this.#endings.delete(finish);
      this.#subscriptions.delete(subscription);
    });
    const abort = (): void => void stream.return();
    const finish = (): void => stream.finish();
    const subscription = this.#add(filter, (event) => {
      if (!stream.push(event)) this.#dropped += 1;
    });
    this.#endings.add(finish);
    signal?.addEventListener("abort", abort);
    if (signal?.aborted === true) abort();
    else if (this.#closed) stream.finish();
    return stream;
  }

  /** Hands the events to all who want them. Never throws. After `close` nobody gets anything. */
  publish(events: readonly TaskEvent[]): void {
    if (this.#subscriptions.size === 0) return;
    const batch = { events, first: this.#published + 1 };
    this.#published += events.length;
    this.#backlog.push(batch);
    if (this.#publishing) return;
    this.#publishing = true;
    for (let next = this.#backlog.shift(); next !== undefined; next = this.#backlog.shift()) this.#deliver(next);
    this.#publishing = false;
  }

  /** Ends all subscriptions. Streams deliver first what waits in them. */
  close(): void {
    this.#closed = true;
    for (const end of this.#endings) end();
  }

  #add(filter: EventFilter, receive: (event: TaskEvent) => void): Subscription {
    const subscription = { filter, since: this.#published, receive };
    this.#subscriptions.add(subscription);
    return subscription;
  }

  #deliver({ events, first }: Batch): void {
    let number = first;
    for (const event of events) {
      // One consumer must not change what the next one sees.
      Object.freeze(event);
      this.#hand(this.#subscriptions.ofTask(event.taskId), event, number);
      this.#hand(this.#subscriptions.ofRun(event.pipelineRunId), event, number);
      this.#hand(this.#subscriptions.others, event, number);
      number += 1;
    }
  }

  /** Who comes while the set is walked is met by the walk, and told apart by `since`. */
  #hand(subscriptions: ReadonlySet<Subscription> | undefined, event: TaskEvent, number: number): void {
    if (subscriptions === undefined || subscriptions.size === 0) return;
    for (const { filter, since, receive } of subscriptions) if (since < number && matches(filter, event)) receive(event);
  }

  #call(listener: (event: TaskEvent) => unknown, event: TaskEvent): void {
    try {
      const answer = listener(event);
      if (isThenable(answer)) Promise.resolve(answer).then(undefined, (error: unknown) => this.#report(error, event));
    } catch (error) {
      this.#report(error, event);
    }
  }

  #report(error: unknown, event: TaskEvent): void {
    this.#failures += 1;
    try {
      this.#logger.error("an event listener failed", { event: event.type, eventId: event.eventId, taskId: event.taskId, error });
    } catch {
      // A logger that throws has nobody left to tell; the count is kept.
    }
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
