import type { StoredEvent, TaskEvent, TaskEventType } from "../core/events.ts";
import type { EventBus } from "./event-bus.ts";
import type { StoreReads } from "./store-reads.ts";
import type { EventFilter } from "./subscription-index.ts";

const PAGE = 1_000;
const MOST_GIVEN = 10_000;

/** Events that go beside the record. */
export const UNSTORED: ReadonlySet<TaskEventType> = new Set<Exclude<TaskEventType, StoredEvent["type"]>>([
  "ProgressUpdated",
  "TaskHeartbeat",
  "TaskOutput",
  "TaskLogLine",
]);

/** Whose events, which of them, until when. */
export interface FollowOptions {
  readonly of: Pick<EventFilter, "taskId" | "pipelineRunId">;
  /** Which are given; `undefined`: all. The others are seen nevertheless: they may tell of the end. */
  readonly types: readonly TaskEventType[] | undefined;
  readonly signal: AbortSignal | undefined;
  /** Has it ended with this event? False: it goes on, also after an end. `undefined`: the event says nothing of it. */
  readonly ends: (event: TaskEvent) => boolean | undefined;
}

/**
 * The events of a task or a run, those already stored first; each once, none missed: what was dropped because
 * nobody took it in time is read from the store again. It ends with the last of those that came together
 * with the end. Source §3.4.
 */
export async function* follow(
  source: { readonly bus: EventBus; readonly store: StoreReads },
  { of, types, signal, ends }: FollowOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  // Subscribed before the past is read, so that nothing falls between the two.
  const live = source.bus.stream(of, { signal });
  const record = new EventRecord(source.store, of);
  const isWanted = (event: TaskEvent): boolean => types === undefined || types.includes(event.type);
  let over = false;
  let dropped = -1;
  try {
    while (!over || live.waiting > 0) {
      if (live.dropped !== dropped || record.isLong) {
        dropped = live.dropped;
        for await (const event of record.read()) {
          if (signal?.aborted === true) return;
          over = ends(event) ?? over;
          if (isWanted(event)) yield event;
        }
        continue;
      }
      const { done, value: event } = await live.next();
      if (done === true) return;
      if (!record.isNew(event)) continue;
      over = ends(event) ?? over;
      if (isWanted(event)) yield event;
    }
  } finally {
    await live.return();
  }
}

/** How far the store's record was read, and what was given out beside it. */
class EventRecord {
  readonly #store: StoreReads;
  readonly #of: FollowOptions["of"];
  #cursor: string | null = null;
  /** Given out live, and still to be met in the record. */
  readonly #given = new Set<string>();
  /** Given out from the record, and perhaps still to come live. */
  readonly #read = new Set<string>();

  constructor(store: StoreReads, of: FollowOptions["of"]) {
    this.#store = store;
    this.#of = of;
  }

  /** So much was given out since it was read that it should be read again, only to forget what was given. */
  get isLong(): boolean {
    return this.#given.size > MOST_GIVEN;
  }

  /** What the record holds since it was last read and was not given out. */
  async *read(): AsyncGenerator<StoredEvent, void, undefined> {
    for (;;) {
      const page = await this.#store.audit.feed(this.#cursor, { limit: PAGE, ...this.#of });
      for (const { cursor, event } of page) {
        this.#cursor = cursor;
        if (this.#given.delete(event.eventId)) continue;
        this.#read.add(event.eventId);
        yield event;
      }
      if (page.length < PAGE) break;
    }
    // Stored first, published second: what was given out has been met by now, or pruned.
    this.#given.clear();
  }

  /** Was the event not given out yet? It is from now on. */
  isNew(event: TaskEvent): boolean {
    if (this.#read.delete(event.eventId)) return false;
    if (!UNSTORED.has(event.type)) this.#given.add(event.eventId);
    return true;
  }
}
