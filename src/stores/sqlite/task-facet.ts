import { ConcurrencyConflict, InternalError } from "../../core/errors.ts";
import { CHANGE_MADE } from "../../core/ports/store.ts";
import type { ChangeResult, Page, StatusCounts, StoredPayload, TaskChange, TaskCreation, TaskFacet, TaskQuery, Touch } from "../../core/ports/store.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { TERMINAL } from "../../core/transitions.ts";
import { decodeValue } from "../codec.ts";
import { decodeArgs, keepArgs, keepOutcome, keepSaved } from "../kept-values.ts";
import type { Tried } from "../kept-values.ts";
import { attemptText, columnsOf, snapshotOf } from "../sql/row-codec.ts";
import type { TaskColumns } from "../sql/row-codec.ts";
import type { Database, Row } from "./database.ts";
import { appendEvent } from "./event-writer.ts";
import { insertTasks, prepareTasks } from "./task-making.ts";
import { countBuckets, countTasks, findTasks } from "./task-search.ts";

/** A change whose values are encoded, before anything is locked. */
interface PreparedChange {
  readonly change: TaskChange;
  readonly columns: TaskColumns;
  readonly outcome: string | null;
  readonly partialOutcome: string | null;
  readonly args: Tried | null;
  readonly saved: Tried | null;
  readonly result: ChangeResult;
}

interface RankedEvent {
  readonly event: TaskChange["events"][number];
  readonly task: number;
  readonly rank: number;
}

const UPDATE = `
  UPDATE task SET status = ?, version = ?, owner = ?, attempt = ?, bucket = ?, heartbeat_at = ?, tags = ?, progress = ?, rest = ?
  WHERE id = ? AND version = ? AND name = ? AND node IS ? AND run_id IS ? RETURNING seq`;
const PUT_ATTEMPT = `
  INSERT INTO attempt (task, epoch, attempt, body) VALUES (?, ?, ?, ?)
  ON CONFLICT (task, epoch, attempt) DO UPDATE SET body = excluded.body`;
const GET = "SELECT task.*, outcome, partial_outcome FROM task JOIN payload ON payload.task = task.seq WHERE id = ?";
const PAYLOAD = "SELECT args, overrides, saved FROM payload JOIN task ON payload.task = task.seq WHERE id = ?";
const TOUCH = `
  UPDATE task SET progress = coalesce(?, progress), heartbeat_at = coalesce(?, heartbeat_at)
  WHERE id = ? AND owner = ? AND attempt = ? AND status NOT IN (${[...TERMINAL].map((status) => `'${status}'`).join(", ")})`;

/** Rows and their values, in a file. Source §5.6. */
export class SqliteTasks implements TaskFacet {
  readonly #database: Database;
  readonly #maxValueBytes: number;

  constructor(database: Database, maxValueBytes: number) {
    this.#database = database;
    this.#maxValueBytes = maxValueBytes;
  }

  async create(creations: readonly TaskCreation[]): Promise<void> {
    this.#database.check();
    const prepared = prepareTasks(creations, this.#maxValueBytes);
    await this.#database.write(() => insertTasks(this.#database, prepared));
  }

  async commit(changes: readonly TaskChange[]): Promise<readonly ChangeResult[]> {
    this.#database.check();
    const prepared = changes.map((change) => this.#prepare(change));
    return await this.#database.write(() => {
      const events: RankedEvent[] = [];
      const results = prepared.map((each) => this.#apply(each, events));
      const isRanked = changes.some(({ ranks }) => ranks !== undefined);
      for (const { event, task } of isRanked ? events.toSorted((a, b) => a.rank - b.rank) : events) appendEvent(this.#database, event, task);
      return results;
    });
  }

  async get(taskId: string): Promise<TaskSnapshot | undefined> {
    const row = this.#database.get(GET, taskId);
    if (row === undefined) return undefined;
    const snapshot = snapshotOf(row as unknown as TaskColumns);
    const [outcome, partialOutcome] = [decodeOptional(row["outcome"]), decodeOptional(row["partial_outcome"])];
    return outcome === undefined && partialOutcome === undefined ? snapshot : Object.freeze({ ...snapshot, outcome, partialOutcome });
  }

  async payload(taskId: string): Promise<StoredPayload | undefined> {
    const row = this.#database.get(PAYLOAD, taskId);
    if (row === undefined) return undefined;
    const args = decodeArgs(textOf(row, "args"));
    return Object.freeze({ args, overrides: decodeOptional(row["overrides"]) ?? null, saved: decodeOptional(row["saved"]) });
  }

  async query(query: TaskQuery): Promise<Page<TaskSnapshot>> {
    return findTasks(this.#database, query);
  }

  async counts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<StatusCounts> {
    return countTasks(this.#database, query);
  }

  async bucketCounts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<ReadonlyMap<number, number>> {
    return countBuckets(this.#database, query);
  }

  async touch(touches: readonly Touch[]): Promise<void> {
    this.#database.check();
    if (touches.length === 0) return;
    await this.#database.write(() => {
      for (const { taskId, owner, attempt, progress, heartbeatAt } of touches)
        this.#database.run(TOUCH, progress === undefined ? null : JSON.stringify(progress), heartbeatAt ?? null, taskId, owner, attempt);
    });
  }

  #prepare(change: TaskChange): PreparedChange {
    const { snapshot } = change;
    const maxBytes = this.#maxValueBytes;
    const isWithoutValues = snapshot.outcome === undefined && snapshot.partialOutcome === undefined;
    const kept = isWithoutValues ? null : keepOutcome(snapshot, maxBytes);
    const args = change.args === undefined ? null : keepArgs(change.args, maxBytes);
    const saved = change.saved === undefined ? null : keepSaved(change.saved.value, maxBytes);
    const outcomeMissing = kept?.missing ?? null;
    const [argsMissing, savedMissing] = [args?.missing ?? null, saved?.missing ?? null];
    const isWhole = outcomeMissing === null && argsMissing === null && savedMissing === null;
    return {
      change,
      columns: columnsOf(snapshot, outcomeMissing ?? snapshot.outcomeMissing),
      outcome: kept?.outcome ?? null,
      partialOutcome: kept?.partialOutcome ?? null,
      args,
      saved,
      result: isWhole ? CHANGE_MADE : { conflict: null, outcomeMissing, argsMissing, savedMissing },
    };
  }

  #apply(prepared: PreparedChange, events: RankedEvent[]): ChangeResult {
    const { change, columns } = prepared;
    const { status, version, owner, attempt, bucket, heartbeat_at, tags, progress, rest, id, name, node, run_id } = columns;
    const values = [status, version, owner, attempt, bucket, heartbeat_at, tags, progress, rest, id, change.expectVersion, name, node, run_id];
    const made = this.#database.get(UPDATE, ...values);
    if (made === undefined) return { ...CHANGE_MADE, conflict: this.#conflict(change) };
    const task = Number(made["seq"]);
    this.#putValues(task, prepared);
    for (const record of change.attempts) this.#database.run(PUT_ATTEMPT, task, record.epoch, record.attempt, attemptText(record));
    for (const [index, event] of change.events.entries()) events.push({ event, task, rank: change.ranks?.[index] ?? 0 });
    return prepared.result;
  }

  #putValues(task: number, { outcome, partialOutcome, args, saved }: PreparedChange): void {
    const database = this.#database;
    // Most steps bring no value and find none: then the page is not written.
    database.run(
      "UPDATE payload SET outcome = ?2, partial_outcome = ?3 WHERE task = ?1 AND (outcome IS NOT ?2 OR partial_outcome IS NOT ?3)",
      task,
      outcome,
      partialOutcome,
    );
    if (args !== null) database.run("UPDATE payload SET args = ?2 WHERE task = ?1", task, args.text ?? null);
    if (saved?.missing === null) database.run("UPDATE payload SET saved = ?2 WHERE task = ?1", task, saved.text ?? null);
  }

  #conflict({ snapshot, expectVersion }: TaskChange): ConcurrencyConflict {
    const { taskId } = snapshot;
    const row = this.#database.get("SELECT version FROM task WHERE id = ?", taskId);
    const actual = row === undefined ? null : Number(row["version"]);
    if (actual === expectVersion) throw new InternalError(`task ${taskId}: its name, node and run never change.`);
    return new ConcurrencyConflict(taskId, expectVersion, actual);
  }
}

function decodeOptional(text: unknown): unknown {
  return typeof text === "string" ? decodeValue(text) : undefined;
}

function textOf(row: Row, column: string): string | undefined {
  const text = row[column];
  return typeof text === "string" ? text : undefined;
}
