import { StoreError } from "../../core/errors.ts";
import type { TaskCreation } from "../../core/ports/store.ts";
import { encodeValue } from "../codec.ts";
import { encodeArgs, keepOutcome } from "../kept-values.ts";
import type { KeptOutcome } from "../kept-values.ts";
import { columnsOf } from "../sql/row-codec.ts";
import type { TaskColumns } from "../sql/row-codec.ts";
import type { Database } from "./database.ts";
import { appendEvent } from "./event-writer.ts";

/** A task whose values are encoded: only its id can still be refused. */
export interface PreparedTask {
  readonly columns: TaskColumns;
  readonly args: string | null;
  readonly overrides: string | null;
  readonly kept: KeptOutcome | null;
  readonly events: TaskCreation["events"];
}

const INSERT_TASK = `
  INSERT INTO task (id, run_id, name, node, status, version, owner, attempt, bucket, created_at, heartbeat_at, tags, progress, rest)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO NOTHING RETURNING seq`;
const INSERT_PAYLOAD = "INSERT INTO payload (task, args, overrides, outcome, partial_outcome) VALUES (?, ?, ?, ?, ?)";

/**
 * Encodes what is to be made, before anything is locked.
 * @throws ConfigurationError for a value that cannot be stored
 */
export function prepareTasks(creations: readonly TaskCreation[], maxBytes: number): readonly PreparedTask[] {
  return creations.map(({ snapshot, payload, events }) => {
    const kept = snapshot.outcome === undefined && snapshot.partialOutcome === undefined ? null : keepOutcome(snapshot, maxBytes);
    return {
      columns: columnsOf(snapshot, kept?.missing ?? snapshot.outcomeMissing),
      args: encodeArgs(payload.args, maxBytes) ?? null,
      overrides: payload.overrides === null ? null : encodeValue(payload.overrides, { root: "overrides", maxBytes }),
      kept,
      events,
    };
  });
}

/**
 * Makes the tasks, each with its events, inside a write.
 * @throws StoreError for an id that exists
 */
export function insertTasks(database: Database, tasks: readonly PreparedTask[]): void {
  for (const { columns, args, overrides, kept, events } of tasks) {
    const { id, run_id, name, node, status, version, owner, attempt, bucket, created_at, heartbeat_at, tags, progress, rest } = columns;
    const values = [id, run_id, name, node, status, version, owner, attempt, bucket, created_at, heartbeat_at, tags, progress, rest];
    const made = database.get(INSERT_TASK, ...values);
    if (made === undefined) throw new StoreError(`a task with the id ${id} exists already: nothing was made. Give each task an id of its own.`);
    const seq = Number(made["seq"]);
    database.run(INSERT_PAYLOAD, seq, args, overrides, kept?.outcome ?? null, kept?.partialOutcome ?? null);
    for (const event of events) appendEvent(database, event, seq);
  }
}
