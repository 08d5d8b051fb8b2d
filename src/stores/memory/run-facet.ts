import { ConcurrencyConflict, StoreError } from "../../core/errors.ts";
import type { StoredEvent } from "../../core/events.ts";
import type { Page, RunChange, RunFacet, RunQuery, TaskCreation } from "../../core/ports/store.ts";
import type { RunSnapshot } from "../../core/run.ts";
import { encodeValue } from "../codec.ts";
import { readCursor, readLimit } from "../page-cursor.ts";
import type { RunTable } from "./run-table.ts";
import type { Session } from "./session.ts";
import { addTasks, prepareTasks } from "./task-making.ts";

/** Runs, in memory. */
export class MemoryRuns implements RunFacet {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async create(run: RunSnapshot, params: readonly unknown[], creations: readonly TaskCreation[], events: readonly StoredEvent[]): Promise<void> {
    const data = this.#session.data();
    const maxBytes = this.#session.maxValueBytes;
    if (data.runs.find(run.runId) !== undefined) {
      throw new StoreError(`a run with the id ${run.runId} exists already: nothing was made. Give each run an id of its own.`);
    }
    const paramText = encodeValue(params, { root: "params", maxBytes });
    const tasks = prepareTasks(data.tasks, creations, maxBytes);
    data.runs.add({ row: frozenRun(run), params: paramText });
    const { positions } = data.tasks.membersOf(run.runId);
    for (const event of events) data.log.append(event, null, positions);
    addTasks(data, tasks);
  }

  async commit(change: RunChange): Promise<ConcurrencyConflict | null> {
    const data = this.#session.data();
    const { runId } = change.snapshot;
    const record = data.runs.find(runId);
    if (record === undefined || record.row.version !== change.expectVersion) {
      return new ConcurrencyConflict(runId, change.expectVersion, record?.row.version ?? null);
    }
    record.row = frozenRun(change.snapshot);
    const { positions } = data.tasks.membersOf(runId);
    for (const event of change.events) data.log.append(event, null, positions);
    return null;
  }

  async get(runId: string): Promise<RunSnapshot | undefined> {
    return this.#session.data().runs.find(runId)?.row;
  }

  async query(query: RunQuery): Promise<Page<RunSnapshot>> {
    return findRuns(this.#session.data().runs, query);
  }
}

function frozenRun(run: RunSnapshot): RunSnapshot {
  return Object.freeze({ ...run, aggregation: Object.freeze({ ...run.aggregation }) });
}

function findRuns(table: RunTable, query: RunQuery): Page<RunSnapshot> {
  const limit = readLimit(query.limit);
  const start = readCursor(query.cursor, table.inOrder.length);
  const items: RunSnapshot[] = [];
  let passed = start;
  for (const [index, { row }] of table.inOrder.entries().drop(start)) {
    if (!fits(row, query)) continue;
    if (items.length === limit) return Object.freeze({ items: Object.freeze(items), cursor: String(passed) });
    items.push(row);
    passed = index + 1;
  }
  return Object.freeze({ items: Object.freeze(items), cursor: null });
}

function fits({ runId, name, status }: RunSnapshot, query: RunQuery): boolean {
  return (query.name ?? name) === name && runId.startsWith(query.idPrefix ?? "") && (query.status?.includes(status) ?? true);
}
