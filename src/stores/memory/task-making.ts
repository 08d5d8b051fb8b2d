import { StoreError } from "../../core/errors.ts";
import type { TaskCreation } from "../../core/ports/store.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { encodeValue } from "../codec.ts";
import { frozenRow } from "../frozen-row.ts";
import { encodeArgs, keepOutcome } from "../kept-values.ts";
import type { KeptOutcome } from "../kept-values.ts";
import type { MemoryData } from "./memory-data.ts";
import type { EncodedPayload, TaskTable } from "./task-table.ts";

/** A task that nothing can go wrong with any more. */
export interface PreparedTask {
  readonly row: TaskSnapshot;
  readonly payload: EncodedPayload;
  readonly kept: KeptOutcome | null;
  readonly events: TaskCreation["events"];
}

/**
 * Does all that can fail, and changes nothing.
 * @throws StoreError for an id that exists; ConfigurationError for a value that cannot be stored
 */
export function prepareTasks(table: TaskTable, creations: readonly TaskCreation[], maxBytes: number): readonly PreparedTask[] {
  checkIds(table, creations);
  return creations.map(({ snapshot, payload, events }) => {
    const kept = snapshot.outcome === undefined && snapshot.partialOutcome === undefined ? null : keepOutcome(snapshot, maxBytes);
    return {
      row: frozenRow(snapshot, kept?.missing ?? snapshot.outcomeMissing),
      payload: {
        args: encodeArgs(payload.args, maxBytes),
        overrides: payload.overrides === null ? undefined : encodeValue(payload.overrides, { root: "overrides", maxBytes }),
      },
      kept,
      events,
    };
  });
}

/** Makes the tasks, each with its events. */
export function addTasks(data: MemoryData, tasks: readonly PreparedTask[]): void {
  for (const { row, payload, kept, events } of tasks) {
    const record = data.tasks.add(row, payload);
    record.outcome = kept?.outcome;
    record.partialOutcome = kept?.partialOutcome;
    for (const event of events) data.log.append(event, record, record.run?.positions ?? null);
  }
}

function checkIds(table: TaskTable, creations: readonly TaskCreation[]): void {
  const seen = creations.length > 1 ? new Set<string>() : null;
  for (const { snapshot } of creations) {
    const { taskId } = snapshot;
    if (table.find(taskId) !== undefined || seen?.has(taskId) === true) {
      throw new StoreError(`a task with the id ${taskId} exists already: nothing was made. Give each task an id of its own.`);
    }
    seen?.add(taskId);
  }
}
