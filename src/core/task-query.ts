import type { TaskQuery } from "./ports/store.ts";
import type { TaskSnapshot } from "./snapshot.ts";
import type { TaskStatus } from "./status.ts";

/** Whether a task fits a query; its limit and cursor are no part of that. */
export type TaskMatcher = (row: TaskSnapshot) => boolean;

/** Reads a query once, for many tasks. */
export function taskMatcher(query: TaskQuery): TaskMatcher {
  const { status, pipelineRunId, tag, name, namePrefix, idPrefix, bucket, owner, createdSince } = query;
  const checks: TaskMatcher[] = [];
  if (status !== undefined) {
    const statuses: ReadonlySet<TaskStatus> = new Set(status);
    checks.push((row) => statuses.has(row.status));
  }
  if (pipelineRunId !== undefined) checks.push((row) => row.pipelineRunId === pipelineRunId);
  if (name !== undefined) checks.push((row) => row.name === name);
  if (namePrefix !== undefined) checks.push((row) => row.name.startsWith(namePrefix));
  if (idPrefix !== undefined) checks.push((row) => row.taskId.startsWith(idPrefix));
  if (bucket !== undefined) checks.push((row) => row.bucket === bucket);
  if (owner !== undefined) checks.push((row) => row.owner === owner);
  if (createdSince !== undefined) checks.push((row) => row.createdAt >= createdSince);
  if (tag !== undefined) checks.push((row) => row.tags.includes(tag));
  return (row) => checks.every((check) => check(row));
}
