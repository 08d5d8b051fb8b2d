import type { StoredEvent } from "../../core/events.ts";
import { eventText } from "../sql/row-codec.ts";
import type { Database } from "./database.ts";

const INSERT = "INSERT INTO event (task, run_id, type, version, body) VALUES (?, ?, ?, ?, ?)";

/** Appends an event to the audit. @param task the task's place; `null` for an event of a run */
export function appendEvent(database: Database, event: StoredEvent, task: number | null): void {
  const version = event.type === "TaskStatusChanged" ? event.statusVersion : null;
  database.run(INSERT, task, event.pipelineRunId, event.type, version, eventText(event));
}
