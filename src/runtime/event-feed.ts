import type { TaskEvent } from "../core/events.ts";
import type { TaskStore } from "../core/ports/store.ts";
import type { EventBus } from "./event-bus.ts";
import type { EventFilter } from "./subscription-index.ts";

const PAGE = 1_000;

/** Which events, from where, until when. */
export interface FollowOptions {
  readonly filter: EventFilter;
  /** `undefined`: from now on. `null`: from the first that is stored. Else: after that cursor. */
  readonly from?: string | null | undefined;
  readonly signal?: AbortSignal | undefined;
  /** The event after which nothing more can come. */
  readonly last?: (event: TaskEvent) => boolean;
}

/** Events as they come, those already stored first where asked for; each once, none missed in between. Source §3.4. */
export async function* follow(
  source: { readonly bus: EventBus; readonly store: TaskStore },
  options: FollowOptions,
): AsyncGenerator<TaskEvent, void, undefined> {
  const { filter, from, signal, last } = options;
  // Subscribed before the past is read, so that nothing falls between the two.
  const live = source.bus.stream(filter, { signal });
  try {
    const seen = new Set<string>();
    if (from !== undefined) {
      for await (const event of stored(source.store, filter, from)) {
        seen.add(event.eventId);
        yield event;
        if (last?.(event) === true) return;
      }
    }
    for await (const event of live) {
      if (seen.delete(event.eventId)) continue;
      yield event;
      if (last?.(event) === true) return;
    }
  } finally {
    await live.return();
  }
}

async function* stored(store: TaskStore, filter: EventFilter, from: string | null): AsyncGenerator<TaskEvent, void, undefined> {
  const { taskId, pipelineRunId, types } = filter;
  const where = { limit: PAGE, ...(taskId === undefined ? {} : { taskId }), ...(pipelineRunId === undefined ? {} : { pipelineRunId }) };
  let cursor = from;
  for (;;) {
    const page = await store.audit.feed(cursor, where);
    for (const entry of page) {
      cursor = entry.cursor;
      if (types === undefined || [...types].includes(entry.event.type)) yield entry.event;
    }
    if (page.length < PAGE) return;
  }
}
