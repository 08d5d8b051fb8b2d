import type { TaskEventType } from "../core/events.ts";
import type { AuditFacet, FeedEntry } from "../core/ports/store.ts";
import { Bell } from "./bell.ts";
import type { EventBus } from "./event-bus.ts";
import type { EventFilter } from "./subscription-index.ts";

const PAGE = 1_000;

/** Which entries, from where, until when. */
export interface FeedStreamOptions {
  /** The cursor to go on after; `null`: from the start. */
  readonly from: string | null;
  readonly of: Pick<EventFilter, "taskId" | "pipelineRunId">;
  /** Which are given; `undefined`: all. */
  readonly types: readonly TaskEventType[] | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * The store's feed without end: what is there, then what comes, each with the cursor after it. Nothing waits in memory but
 * a page: a reader that is slow is behind, and misses nothing. Ends with the signal, or when the bus closes.
 */
export async function* streamFeed(
  source: { readonly bus: EventBus; readonly feed: AuditFacet["feed"] },
  { from, of, types, signal }: FeedStreamOptions,
): AsyncGenerator<FeedEntry, void, undefined> {
  const bell = new Bell();
  const leave = source.bus.subscribe(of, () => bell.ring(), { signal, ended: () => bell.end() });
  let cursor = from;
  try {
    for (;;) {
      const page = await source.feed(cursor, { limit: PAGE, ...of });
      for (const entry of page) {
        if (signal?.aborted === true) return;
        cursor = entry.cursor;
        if (types === undefined || types.includes(entry.event.type)) yield entry;
      }
      if (page.length < PAGE && !(await bell.next())) return;
    }
  } catch (error) {
    // What a store answers that was closed meanwhile is the end, and no fault.
    if (!bell.isOver) throw error;
  } finally {
    leave();
  }
}
