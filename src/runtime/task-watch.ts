import { UnknownId } from "../core/errors.ts";
import type { TaskEvent, TaskEventType } from "../core/events.ts";
import type { TaskQuery } from "../core/ports/store.ts";
import { isRunTerminal } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { taskMatcher } from "../core/task-query.ts";
import { isTerminal } from "../core/transitions.ts";
import { Bell } from "./bell.ts";
import type { EventBus } from "./event-bus.ts";
import type { StoreReads } from "./store-reads.ts";

/** Events after which a task's row is not what it was. */
const CHANGES: ReadonlySet<TaskEventType> = new Set<TaskEventType>(["TaskCreated", "TaskStatusChanged", "ProgressUpdated", "TaskWarning"]);

const PAGE = 1_000;

/** Where the rows and the news of them come from. */
export interface WatchSource {
  readonly bus: EventBus;
  readonly store: StoreReads;
}

/**
 * One task as it is now, then each time it has changed; the last one is its end. A reader that is slow is given the newest
 * and not what was between.
 */
export async function* watchTask(
  { bus, get }: { readonly bus: EventBus; readonly get: (taskId: string) => Promise<TaskSnapshot> },
  taskId: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskSnapshot, void, undefined> {
  const bell = new Bell();
  const hear = (event: TaskEvent): void => (CHANGES.has(event.type) ? bell.ring() : undefined);
  const leave = bus.subscribe({ taskId }, hear, { signal, ended: () => bell.end() });
  let given: TaskSnapshot | null = null;
  try {
    do {
      const snapshot = await get(taskId);
      if (signal?.aborted === true) return;
      if (given === null || isOther(snapshot, given)) yield snapshot;
      given = snapshot;
    } while (!isTerminal(given.status) && (await bell.next()));
  } catch (error) {
    // What a store answers that was closed meanwhile is the end, and no fault.
    if (!bell.isOver) throw error;
  } finally {
    leave();
  }
}

/** Heartbeats are no change. */
function isOther(a: TaskSnapshot, b: TaskSnapshot): boolean {
  return a.statusVersion !== b.statusVersion || a.progress?.updatedAt !== b.progress?.updatedAt || a.abandonedBy !== b.abandonedBy;
}

/**
 * All tasks that fit as they are now, then each that has changed, as it is when it is taken, where it still fits. What waits
 * in memory is one id for each task that has changed. Of a run it ends with the run, else with the signal or the bus.
 */
export async function* watchTasks(
  { bus, store }: WatchSource,
  query: TaskQuery,
  signal: AbortSignal | undefined,
): AsyncGenerator<TaskSnapshot, void, undefined> {
  const { pipelineRunId } = query;
  const bell = new Bell();
  const changed = new Set<string>();
  let isOver = false;
  const hear = (event: TaskEvent): void => {
    if (event.type === "PipelineRunStatusChanged") isOver ||= pipelineRunId !== undefined && isRunTerminal(event.to);
    else if (CHANGES.has(event.type)) changed.add(event.taskId);
    else return;
    bell.ring();
  };
  const leave = bus.subscribe(pipelineRunId === undefined ? {} : { pipelineRunId }, hear, { signal, ended: () => bell.end() });
  try {
    const run = pipelineRunId === undefined ? undefined : await store.runs.get(pipelineRunId);
    if (pipelineRunId !== undefined && run === undefined)
      throw new UnknownId(`no run ${JSON.stringify(pipelineRunId)}: the id is wrong, or its history was pruned.`);
    isOver ||= run !== undefined && isRunTerminal(run.status);
    for await (const snapshot of everyTask(store, query)) {
      if (signal?.aborted === true) return;
      yield snapshot;
    }
    const fits = taskMatcher(query);
    do {
      for (const taskId of changed) {
        changed.delete(taskId);
        const snapshot = await store.tasks.get(taskId);
        if (signal?.aborted === true) return;
        if (snapshot !== undefined && fits(snapshot)) yield snapshot;
      }
    } while (!isOver && (await bell.next()));
  } catch (error) {
    // What a store answers that was closed meanwhile is the end, and no fault.
    if (!bell.isOver) throw error;
  } finally {
    leave();
  }
}

async function* everyTask(store: StoreReads, query: TaskQuery): AsyncGenerator<TaskSnapshot, void, undefined> {
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<StoreReads["tasks"]["query"]>> = await store.tasks.query({ ...query, limit: PAGE, ...(cursor === null ? {} : { cursor }) });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}
