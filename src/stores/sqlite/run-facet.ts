import type { SQLInputValue } from "node:sqlite";
import { ConcurrencyConflict, StoreError } from "../../core/errors.ts";
import type { StoredEvent } from "../../core/events.ts";
import type { Page, RunChange, RunFacet, RunQuery, TaskCreation } from "../../core/ports/store.ts";
import type { RunSnapshot } from "../../core/run.ts";
import { encodeValue } from "../codec.ts";
import { readCursor, readLimit } from "../page-cursor.ts";
import { runOf, runText } from "../sql/row-codec.ts";
import type { Database } from "./database.ts";
import { appendEvent } from "./event-writer.ts";
import { lastPlace } from "./last-place.ts";
import { insertTasks, prepareTasks } from "./task-making.ts";

const INSERT = "INSERT INTO run (id, name, version, params, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING";

/** Runs, in a file. Source §5.6. */
export class SqliteRuns implements RunFacet {
  readonly #database: Database;
  readonly #maxValueBytes: number;

  constructor(database: Database, maxValueBytes: number) {
    this.#database = database;
    this.#maxValueBytes = maxValueBytes;
  }

  async create(run: RunSnapshot, params: readonly unknown[], creations: readonly TaskCreation[], events: readonly StoredEvent[]): Promise<void> {
    const database = this.#database;
    database.check();
    const maxBytes = this.#maxValueBytes;
    const paramText = encodeValue(params, { root: "params", maxBytes });
    const tasks = prepareTasks(creations, maxBytes);
    const body = runText(run);
    await database.write(() => {
      const made = database.run(INSERT, run.runId, run.name, run.version, paramText, body);
      if (made === 0) throw new StoreError(`a run with the id ${run.runId} exists already: nothing was made. Give each run an id of its own.`);
      for (const event of events) appendEvent(database, event, null);
      insertTasks(database, tasks);
    });
  }

  async commit({ snapshot, expectVersion, events }: RunChange): Promise<ConcurrencyConflict | null> {
    const database = this.#database;
    database.check();
    const body = runText(snapshot);
    return await database.write(() => {
      const made = database.run("UPDATE run SET version = ?, body = ? WHERE id = ? AND version = ?", snapshot.version, body, snapshot.runId, expectVersion);
      if (made === 0) {
        const row = database.get("SELECT version FROM run WHERE id = ?", snapshot.runId);
        return new ConcurrencyConflict(snapshot.runId, expectVersion, row === undefined ? null : Number(row["version"]));
      }
      for (const event of events) appendEvent(database, event, null);
      return null;
    });
  }

  async get(runId: string): Promise<RunSnapshot | undefined> {
    const row = this.#database.get("SELECT body FROM run WHERE id = ?", runId);
    return row === undefined ? undefined : runOf(String(row["body"]));
  }

  async query({ status, name, idPrefix = "", limit, cursor }: RunQuery): Promise<Page<RunSnapshot>> {
    const most = readLimit(limit);
    const start = readCursor(cursor, lastPlace(this.#database, "run"));
    const values: SQLInputValue[] = [start, idPrefix, idPrefix, ...(name === undefined ? [] : [name]), ...(status ?? [])];
    const ofName = name === undefined ? "" : " AND name = ?";
    const inStatus = status === undefined ? "" : ` AND json_extract(body, '$.status') IN (${status.map(() => "?").join(", ")})`;
    const sql = `SELECT seq, body FROM run WHERE seq > ? AND id >= ? AND id < ? || char(0x10ffff)${ofName}${inStatus} ORDER BY seq LIMIT ?`;
    const rows = this.#database.all(sql, ...values, most + 1);
    const items = Object.freeze(rows.slice(0, most).map((row) => runOf(String(row["body"]))));
    return Object.freeze({ items, cursor: rows.length > most ? String(rows[most - 1]?.["seq"]) : null });
  }
}
