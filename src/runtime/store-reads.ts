import { ControllerClosed, StoreError } from "../core/errors.ts";
import type { AuditFacet, RunFacet, TaskFacet, TaskStore } from "../core/ports/store.ts";

/** What is asked of a store by whoever only looks. */
export interface StoreReads {
  readonly tasks: Pick<TaskFacet, "get" | "payload" | "query" | "counts" | "bucketCounts">;
  readonly audit: AuditFacet;
  readonly runs: Pick<RunFacet, "get" | "query">;
}

/** The store for reading: what it answers once its controller has closed it is no fault of the store's, and is told so. */
export function storeReads({ tasks, audit, runs }: TaskStore, isClosed: () => boolean): StoreReads {
  const read = async <Value>(reading: () => Promise<Value>): Promise<Value> => {
    try {
      return await reading();
    } catch (error) {
      if (!isClosed() || !(error instanceof StoreError)) throw error;
      throw new ControllerClosed("the controller is closed, and its store with it: open another to read.", { cause: error });
    }
  };
  return {
    tasks: {
      get: (taskId) => read(() => tasks.get(taskId)),
      payload: (taskId) => read(() => tasks.payload(taskId)),
      query: (query) => read(() => tasks.query(query)),
      counts: (query) => read(() => tasks.counts(query)),
      bucketCounts: (query) => read(() => tasks.bucketCounts(query)),
    },
    audit: {
      history: (taskId, options) => read(() => audit.history(taskId, options)),
      attempts: (taskId) => read(() => audit.attempts(taskId)),
      feed: (cursor, options) => read(() => audit.feed(cursor, options)),
      head: () => read(() => audit.head()),
    },
    runs: {
      get: (runId) => read(() => runs.get(runId)),
      query: (query) => read(() => runs.query(query)),
    },
  };
}
