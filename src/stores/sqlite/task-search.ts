import type { SQLInputValue } from "node:sqlite";
import type { Page, StatusCounts, TaskQuery } from "../../core/ports/store.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { TASK_STATUSES } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";
import { readCursor, readLimit } from "../page-cursor.ts";
import { snapshotOf } from "../sql/row-codec.ts";
import type { TaskColumns } from "../sql/row-codec.ts";
import type { Database } from "./database.ts";
import { lastPlace } from "./last-place.ts";

/** A part of a WHERE, and its values. */
interface Clause {
  readonly sql: string;
  readonly values: readonly SQLInputValue[];
}

/**
 * One page of the tasks that match, in the order in which they were made.
 * @throws ConfigurationError for a limit or cursor that is none
 */
export function findTasks(database: Database, query: TaskQuery): Page<TaskSnapshot> {
  const limit = readLimit(query.limit);
  const start = readCursor(query.cursor, lastPlace(database, "task"));
  const { sql, values } = where([...clausesOf(query), { sql: "seq > ?", values: [start] }]);
  // One more than the page holds: only then is there a page after it.
  const rows = database.all(`SELECT * FROM task${sql} ORDER BY seq LIMIT ?`, ...values, limit + 1);
  const items = rows.slice(0, limit).map((row) => snapshotOf(row as unknown as TaskColumns));
  const cursor = rows.length > limit ? String(rows[limit - 1]?.["seq"]) : null;
  return Object.freeze({ items: Object.freeze(items), cursor });
}

/** How many tasks match, in each status. */
export function countTasks(database: Database, query: Omit<TaskQuery, "limit" | "cursor">): StatusCounts {
  const { sql, values } = where(clausesOf(query));
  const counts = Object.fromEntries(TASK_STATUSES.map((status) => [status, 0])) as Record<TaskStatus, number>;
  for (const row of database.all(`SELECT status, count(*) AS count FROM task${sql} GROUP BY status`, ...values))
    counts[row["status"] as TaskStatus] = Number(row["count"]);
  return Object.freeze(counts);
}

/** How many tasks match, in each bucket. */
export function countBuckets(database: Database, query: Omit<TaskQuery, "limit" | "cursor">): ReadonlyMap<number, number> {
  const { sql, values } = where([...clausesOf(query), { sql: "bucket IS NOT NULL", values: [] }]);
  const rows = database.all(`SELECT bucket, count(*) AS count FROM task${sql} GROUP BY bucket`, ...values);
  return new Map(rows.map((row) => [Number(row["bucket"]), Number(row["count"])]));
}

function clausesOf(query: TaskQuery): readonly Clause[] {
  const { status, pipelineRunId, tag, name, namePrefix, idPrefix, bucket, owner, createdSince } = query;
  const clauses: (Clause | null)[] = [
    status === undefined ? null : { sql: `status IN (${status.map(() => "?").join(", ")})`, values: status },
    pipelineRunId === undefined ? null : { sql: "run_id = ?", values: [pipelineRunId] },
    name === undefined ? null : { sql: "name = ?", values: [name] },
    namePrefix === undefined ? null : { sql: "substr(name, 1, length(?)) = ?", values: [namePrefix, namePrefix] },
    // A range, for the index on ids.
    idPrefix === undefined || idPrefix === "" ? null : { sql: "id >= ? AND id < ? || char(0x10ffff)", values: [idPrefix, idPrefix] },
    bucket === undefined ? null : { sql: "bucket = ?", values: [bucket] },
    owner === undefined ? null : { sql: "owner = ?", values: [owner] },
    createdSince === undefined ? null : { sql: "created_at >= ?", values: [createdSince] },
    tag === undefined ? null : { sql: "EXISTS (SELECT 1 FROM json_each(tags) WHERE json_each.value = ?)", values: [tag] },
  ];
  return clauses.filter((clause) => clause !== null);
}

function where(clauses: readonly Clause[]): Clause {
  if (clauses.length === 0) return { sql: "", values: [] };
  return { sql: ` WHERE ${clauses.map(({ sql }) => sql).join(" AND ")}`, values: clauses.flatMap(({ values }) => values) };
}
