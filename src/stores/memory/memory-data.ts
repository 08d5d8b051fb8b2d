import { EventLog } from "./event-log.ts";
import { RunTable } from "./run-table.ts";
import { TaskTable } from "./task-table.ts";

/** All that a memory store holds. */
export interface MemoryData {
  readonly tasks: TaskTable;
  readonly runs: RunTable;
  readonly log: EventLog;
}

/** Nothing yet. */
export function emptyData(): MemoryData {
  return { tasks: new TaskTable(), runs: new RunTable(), log: new EventLog() };
}
