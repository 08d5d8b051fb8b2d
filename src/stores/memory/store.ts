import { checkInteger, checkOptions } from "../../core/options.ts";
import type { TaskStore } from "../../core/ports/store.ts";
import { DEFAULT_MAX_VALUE_BYTES } from "../kept-values.ts";
import { MemoryAudit } from "./audit-facet.ts";
import { MemoryRuns } from "./run-facet.ts";
import { Session } from "./session.ts";
import { MemoryTasks } from "./task-facet.ts";

/** How a memory store keeps values. */
export interface MemoryStoreOptions {
  /** Longest text of a task's arguments, of its outcome and of a run's parameters, in bytes of JSON. Default 1 MiB. */
  readonly maxValueBytes?: number;
}

/**
 * A store in this process's memory: the reference for every other. What it holds is gone when it is closed.
 *
 * Rows, events and attempts are frozen copies. Arguments, outcomes and parameters pass through the codec, so that
 * nobody leans on a shared object: each read makes them anew. An outcome that cannot be stored, or is larger than
 * `maxValueBytes`, does not fail the task: its row says why it is missing. Source §5.6.
 * @throws ConfigurationError for an option that is wrong
 */
export function memoryStore(options?: MemoryStoreOptions): TaskStore {
  const { maxValueBytes = DEFAULT_MAX_VALUE_BYTES } = checkOptions(options, ["maxValueBytes"], "memoryStore(options)");
  const session = new Session(checkInteger(maxValueBytes, "maxValueBytes", 1));
  return Object.freeze({
    supports: Object.freeze({ durability: false, sharing: false }),
    tasks: new MemoryTasks(session),
    audit: new MemoryAudit(session),
    runs: new MemoryRuns(session),
    open: async () => session.open(),
    close: async () => session.close(),
  });
}
