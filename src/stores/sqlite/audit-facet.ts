import type { SQLInputValue } from "node:sqlite";
import type { AttemptRecord } from "../../core/attempt.ts";
import type { TaskStatusChanged } from "../../core/events.ts";
import { checkInteger } from "../../core/options.ts";
import type { AuditFacet, FeedEntry } from "../../core/ports/store.ts";
import { readCursor } from "../page-cursor.ts";
import { attemptOf, eventOf } from "../sql/row-codec.ts";
import type { EventColumns } from "../sql/row-codec.ts";
import type { Database } from "./database.ts";
import { lastPlace } from "./last-place.ts";

const EVENTS = "SELECT event.seq, event.type, task.id AS task_id, event.run_id, event.body FROM event LEFT JOIN task ON task.seq = event.task";
const OF_TASK = "event.task = (SELECT seq FROM task WHERE id = ?)";

/** The audit, in a file. Source §5.6. */
export class SqliteAudit implements AuditFacet {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async history(taskId: string, { sinceVersion = -1 }: { readonly sinceVersion?: number } = {}): Promise<readonly TaskStatusChanged[]> {
    const rows = this.#database.all(`${EVENTS} WHERE ${OF_TASK} AND event.version > ? ORDER BY event.seq`, taskId, sinceVersion);
    return Object.freeze(rows.map((row) => eventOf(row as unknown as EventColumns)).filter((event) => event.type === "TaskStatusChanged"));
  }

  async attempts(taskId: string): Promise<readonly AttemptRecord[]> {
    const rows = this.#database.all("SELECT body FROM attempt WHERE task = (SELECT seq FROM task WHERE id = ?) ORDER BY epoch, attempt", taskId);
    return Object.freeze(rows.map((row) => attemptOf(taskId, String(row["body"]))));
  }

  async feed(cursor: string | null, { limit, taskId, pipelineRunId }: Parameters<AuditFacet["feed"]>[1]): Promise<readonly FeedEntry[]> {
    const most = checkInteger(limit, "limit", 1);
    const start = readCursor(cursor, lastPlace(this.#database, "event"));
    const clauses = ["event.seq > ?"];
    const values: SQLInputValue[] = [start];
    if (taskId !== undefined) {
      clauses.push(OF_TASK);
      values.push(taskId);
    }
    if (pipelineRunId !== undefined) {
      clauses.push("event.run_id = ?");
      values.push(pipelineRunId);
    }
    const rows = this.#database.all(`${EVENTS} WHERE ${clauses.join(" AND ")} ORDER BY event.seq LIMIT ?`, ...values, most);
    return Object.freeze(rows.map((row) => Object.freeze({ cursor: String(row["seq"]), event: eventOf(row as unknown as EventColumns) })));
  }

  async head(): Promise<string | null> {
    const last = lastPlace(this.#database, "event");
    return last === 0 ? null : String(last);
  }
}
