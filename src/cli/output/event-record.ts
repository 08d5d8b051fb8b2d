import type { AttemptRecord } from "../../core/attempt.ts";
import type { TaskEvent } from "../../core/events.ts";
import { unreachable } from "../../core/unreachable.ts";
import type { EndSummary } from "./summary.ts";

/** A line of the NDJSON output. */
export type JsonRecord = Readonly<Record<string, unknown>>;

/** An event as it goes out: its own fields, instants as ISO 8601 in UTC. */
export function eventRecord(event: TaskEvent): JsonRecord {
  const base = { ...event, at: iso(event.at) };
  switch (event.type) {
    case "AttemptStarted":
      return { ...base, attempt: attemptRecord(event.attempt) };
    case "AttemptFailed":
      return { ...base, attempt: attemptRecord(event.attempt), retryAt: iso(event.retryAt) };
    case "ProgressUpdated":
      return { ...base, progress: { ...event.progress, updatedAt: iso(event.progress.updatedAt) } };
    case "TaskCreated":
    case "TaskStatusChanged":
    case "TaskHeartbeat":
    case "TaskOutput":
    case "TaskLogLine":
    case "PipelineRunStatusChanged":
    case "AdminOverride":
    case "TaskWarning":
      return base;
    default:
      return unreachable(event);
  }
}

/** The last object: how it ended. */
export function summaryRecord(summary: EndSummary): JsonRecord {
  const { kind, id, name, status, total, counts, maps, startedAt, endedAt, firstFailure, exitCode } = summary;
  const times = { startedAt: iso(startedAt), endedAt: iso(endedAt), durationMs: Math.max(0, endedAt - startedAt) };
  if (kind === "run") return { type: "RunSummary", runId: id, name, status, total, counts, maps, ...times, firstFailure, exitCode };
  const { attempt, maxAttempts, outcome } = summary;
  return {
    type: "TaskSummary",
    taskId: id,
    name,
    status,
    total,
    counts,
    ...times,
    attempt,
    maxAttempts,
    outcome: outcome ?? null,
    failure: firstFailure?.failure ?? null,
    exitCode,
  };
}

function attemptRecord(attempt: AttemptRecord): JsonRecord {
  return { ...attempt, startedAt: iso(attempt.startedAt), endedAt: iso(attempt.endedAt) };
}

/** Epoch milliseconds in ISO 8601; what no calendar holds is `null`. */
function iso(atMs: number | null): string | null {
  if (atMs === null || Math.abs(atMs) > 8.64e15) return null;
  return new Date(atMs).toISOString();
}
