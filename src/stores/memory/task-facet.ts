import { ConcurrencyConflict } from "../../core/errors.ts";
import type { StoredEvent } from "../../core/events.ts";
import { CHANGE_MADE } from "../../core/ports/store.ts";
import type { ChangeResult, Page, StatusCounts, TaskChange, TaskCreation, TaskFacet, StoredPayload, TaskQuery, Touch } from "../../core/ports/store.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { isTerminal } from "../../core/transitions.ts";
import { decodeValue } from "../codec.ts";
import { withAttempts } from "./attempt-list.ts";
import { frozenRow } from "../frozen-row.ts";
import { decodeArgs, keepArgs, keepOutcome, keepSaved } from "../kept-values.ts";
import type { MemoryData } from "./memory-data.ts";
import type { Session } from "./session.ts";
import type { TaskRecord } from "./task-table.ts";
import { addTasks, prepareTasks } from "./task-making.ts";
import { countBuckets, countTasks, findTasks } from "./task-search.ts";

interface RankedEvent {
  readonly event: StoredEvent;
  readonly record: TaskRecord;
  readonly rank: number;
}

/** Rows and their values, in memory. Source §5.6. */
export class MemoryTasks implements TaskFacet {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async create(creations: readonly TaskCreation[]): Promise<void> {
    const data = this.#session.data();
    addTasks(data, prepareTasks(data.tasks, creations, this.#session.maxValueBytes));
  }

  async commit(changes: readonly TaskChange[]): Promise<readonly ChangeResult[]> {
    const data = this.#session.data();
    const results = changes.map((change) => this.#apply(data, change));
    const made = changes.filter((_change, index) => results[index]?.conflict === null);
    for (const { event, record } of this.#eventsInOrder(data, made)) data.log.append(event, record, record.run?.positions ?? null);
    return results;
  }

  async get(taskId: string): Promise<TaskSnapshot | undefined> {
    const record = this.#session.data().tasks.find(taskId);
    if (record === undefined) return undefined;
    const { row, outcome, partialOutcome } = record;
    return outcome === undefined && partialOutcome === undefined
      ? row
      : Object.freeze({ ...row, outcome: decodeOptional(outcome), partialOutcome: decodeOptional(partialOutcome) });
  }

  async payload(taskId: string): Promise<StoredPayload | undefined> {
    const record = this.#session.data().tasks.find(taskId);
    if (record === undefined) return undefined;
    const overrides = record.overrides === undefined ? null : decodeValue(record.overrides);
    return Object.freeze({ args: decodeArgs(record.args), overrides, saved: decodeOptional(record.saved) });
  }

  async query(query: TaskQuery): Promise<Page<TaskSnapshot>> {
    return findTasks(this.#session.data().tasks, query);
  }

  async counts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<StatusCounts> {
    return countTasks(this.#session.data().tasks, query);
  }

  async bucketCounts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<ReadonlyMap<number, number>> {
    return countBuckets(this.#session.data().tasks, query);
  }

  async touch(touches: readonly Touch[]): Promise<void> {
    const { tasks } = this.#session.data();
    for (const { taskId, owner, attempt, progress, heartbeatAt } of touches) {
      const record = tasks.find(taskId);
      if (record === undefined) continue;
      const { row } = record;
      if (row.owner !== owner || row.attempt !== attempt || isTerminal(row.status)) continue;
      const touched = { ...row, progress: progress ?? row.progress, lastHeartbeatAt: heartbeatAt ?? row.lastHeartbeatAt };
      tasks.replace(record, frozenRow(touched, row.outcomeMissing));
    }
  }

  #eventsInOrder(data: MemoryData, changes: readonly TaskChange[]): readonly RankedEvent[] {
    const entries: RankedEvent[] = [];
    let isRanked = false;
    for (const { snapshot, events, ranks } of changes) {
      const record = data.tasks.find(snapshot.taskId);
      if (record === undefined) continue;
      if (ranks !== undefined) isRanked = true;
      for (const [index, event] of events.entries()) entries.push({ event, record, rank: ranks?.[index] ?? 0 });
    }
    return isRanked ? entries.toSorted((a, b) => a.rank - b.rank) : entries;
  }

  #apply(data: MemoryData, change: TaskChange): ChangeResult {
    const { snapshot, expectVersion, attempts } = change;
    const record = data.tasks.find(snapshot.taskId);
    if (record === undefined || record.row.statusVersion !== expectVersion) {
      return { ...CHANGE_MADE, conflict: new ConcurrencyConflict(snapshot.taskId, expectVersion, record?.row.statusVersion ?? null) };
    }
    const isWithoutValues = snapshot.outcome === undefined && snapshot.partialOutcome === undefined;
    const kept = isWithoutValues ? null : keepOutcome(snapshot, this.#session.maxValueBytes);
    const missing = kept?.missing ?? null;
    data.tasks.replace(record, frozenRow(snapshot, missing ?? snapshot.outcomeMissing));
    record.outcome = kept?.outcome;
    record.partialOutcome = kept?.partialOutcome;
    const args = change.args === undefined ? null : keepArgs(change.args, this.#session.maxValueBytes);
    if (args !== null) record.args = args.text;
    if (attempts.length > 0) record.attempts = withAttempts(record.attempts, attempts);
    const saved = change.saved === undefined ? null : keepSaved(change.saved.value, this.#session.maxValueBytes);
    if (saved?.missing === null) record.saved = saved.text;
    const argsMissing = args?.missing ?? null;
    const savedMissing = saved?.missing ?? null;
    const isWhole = missing === null && argsMissing === null && savedMissing === null;
    return isWhole ? CHANGE_MADE : { conflict: null, outcomeMissing: missing, argsMissing, savedMissing };
  }
}

function decodeOptional(text: string | undefined): unknown {
  return text === undefined ? undefined : decodeValue(text);
}
