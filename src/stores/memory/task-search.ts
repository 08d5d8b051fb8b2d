import type { Page, StatusCounts, TaskQuery } from "../../core/ports/store.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { TASK_STATUSES } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";
import { taskMatcher } from "../../core/task-query.ts";
import { firstNotBefore } from "./first-not-before.ts";
import { readCursor, readLimit } from "../page-cursor.ts";
import type { TaskRecord, TaskTable } from "./task-table.ts";

/** Gathering by status and sorting is worth it where it leaves out all but this part of the tasks. */
const SORTED_PART = 1 / 16;

/**
 * One page of the tasks that match, in the order in which they were made.
 * @throws ConfigurationError for a limit or cursor that is none
 */
export function findTasks(table: TaskTable, query: TaskQuery): Page<TaskSnapshot> {
  const limit = readLimit(query.limit);
  const start = readCursor(query.cursor, table.inOrder.length);
  const matches = taskMatcher(query);
  const candidates = orderedCandidates(table, query, start);
  const items: TaskSnapshot[] = [];
  let passed = start;
  for (let index = firstNotBefore(candidates, start, (record) => record.place); index < candidates.length; index += 1) {
    const record = candidates[index];
    if (record === undefined || !matches(record.row)) continue;
    // One more than the page holds: only then is there a page after it.
    if (items.length === limit) return page(items, String(passed));
    items.push(record.row);
    passed = record.place + 1;
  }
  return page(items, null);
}

/** How many tasks match, in each status. */
export function countTasks(table: TaskTable, query: Omit<TaskQuery, "limit" | "cursor">): StatusCounts {
  const counts = emptyCounts();
  const statuses = query.status ?? TASK_STATUSES;
  if (isByStatusAlone(query)) {
    for (const status of statuses) counts[status] = table.inStatus(status).length;
    return Object.freeze(counts);
  }
  const matches = taskMatcher(query);
  for (const record of unorderedCandidates(table, query)) {
    if (matches(record.row)) counts[record.row.status] += 1;
  }
  return Object.freeze(counts);
}

/** How many tasks match, in each bucket. */
export function countBuckets(table: TaskTable, query: Omit<TaskQuery, "limit" | "cursor">): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  const matches = taskMatcher(query);
  for (const { row } of unorderedCandidates(table, query)) {
    if (row.bucket !== null && matches(row)) counts.set(row.bucket, (counts.get(row.bucket) ?? 0) + 1);
  }
  return counts;
}

function page(items: readonly TaskSnapshot[], cursor: string | null): Page<TaskSnapshot> {
  return Object.freeze({ items: Object.freeze(items), cursor });
}

function emptyCounts(): Record<TaskStatus, number> {
  return {
    pending: 0,
    blocked: 0,
    queued: 0,
    starting: 0,
    running: 0,
    pausing: 0,
    paused: 0,
    retry_wait: 0,
    stopping: 0,
    succeeded: 0,
    failed: 0,
    stopped: 0,
    cancelled: 0,
    skipped: 0,
    lost: 0,
  };
}

function isByStatusAlone(query: TaskQuery): boolean {
  return Object.entries(query).every(([part, value]) => part === "status" || value === undefined);
}

/** What may match, in order: of the run, of few enough tasks in the statuses, or all. */
function orderedCandidates(table: TaskTable, query: TaskQuery, start: number): readonly TaskRecord[] {
  if (query.pipelineRunId !== undefined) return table.findMembers(query.pipelineRunId)?.tasks ?? [];
  if (query.status === undefined) return table.inOrder;
  const statuses = [...new Set(query.status)];
  const size = statuses.reduce((sum, status) => sum + table.inStatus(status).length, 0);
  if (size > (table.inOrder.length - start) * SORTED_PART) return table.inOrder;
  return statuses.flatMap((status) => table.inStatus(status)).sort((a, b) => a.place - b.place);
}

function unorderedCandidates(table: TaskTable, query: TaskQuery): readonly TaskRecord[] {
  if (query.pipelineRunId !== undefined) return table.findMembers(query.pipelineRunId)?.tasks ?? [];
  if (query.status === undefined) return table.inOrder;
  return [...new Set(query.status)].flatMap((status) => table.inStatus(status));
}
