import type { AttemptRecord } from "../../core/attempt.ts";
import type { StoredEvent } from "../../core/events.ts";
import type { RunSnapshot } from "../../core/run.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { frozenAttempt } from "../frozen-attempt.ts";
import { frozenEvent } from "../frozen-event.ts";
import { frozenRow } from "../frozen-row.ts";

/** What stands in columns of its own, or beside the row: the rest of a snapshot is one text. */
type InColumns =
  | "taskId"
  | "pipelineRunId"
  | "name"
  | "node"
  | "tags"
  | "status"
  | "statusVersion"
  | "owner"
  | "attempt"
  | "bucket"
  | "createdAt"
  | "lastHeartbeatAt"
  | "progress"
  | "outcome"
  | "partialOutcome"
  | "outcomeMissing";

type Rest = Omit<TaskSnapshot, InColumns>;

/** What a row of `task` holds. */
export interface TaskColumns {
  readonly id: string;
  readonly run_id: string | null;
  readonly name: string;
  readonly node: string | null;
  readonly status: string;
  readonly version: number;
  readonly owner: string | null;
  readonly attempt: number;
  readonly bucket: number | null;
  readonly created_at: number;
  readonly heartbeat_at: number | null;
  readonly tags: string;
  readonly progress: string | null;
  readonly rest: string;
}

const NO_TAGS = "[]";

/**
 * A snapshot as columns, without its values.
 * @param outcomeMissing why it has no outcome to read
 */
export function columnsOf(snapshot: TaskSnapshot, outcomeMissing: string | null): TaskColumns {
  const {
    taskId,
    pipelineRunId,
    name,
    node,
    tags,
    status,
    statusVersion,
    owner,
    attempt,
    bucket,
    createdAt,
    lastHeartbeatAt,
    progress,
    outcome: _outcome,
    partialOutcome: _partialOutcome,
    outcomeMissing: _outcomeMissing,
    ...rest
  } = snapshot;
  return {
    id: taskId,
    run_id: pipelineRunId,
    name,
    node,
    status,
    version: statusVersion,
    owner,
    attempt,
    bucket,
    created_at: createdAt,
    heartbeat_at: lastHeartbeatAt,
    tags: tags.length === 0 ? NO_TAGS : JSON.stringify(tags),
    progress: progress === null ? null : JSON.stringify(progress),
    rest: JSON.stringify({ ...(rest satisfies Rest), outcomeMissing }),
  };
}

/** The snapshot that the columns hold, frozen and without its values. */
export function snapshotOf(row: TaskColumns): TaskSnapshot {
  const rest = JSON.parse(row.rest) as Rest & Pick<TaskSnapshot, "outcomeMissing">;
  const snapshot: TaskSnapshot = {
    ...rest,
    taskId: row.id,
    pipelineRunId: row.run_id,
    name: row.name,
    node: row.node,
    tags: row.tags === NO_TAGS ? [] : (JSON.parse(row.tags) as readonly string[]),
    status: row.status as TaskSnapshot["status"],
    statusVersion: row.version,
    owner: row.owner,
    attempt: row.attempt,
    bucket: row.bucket,
    createdAt: row.created_at,
    lastHeartbeatAt: row.heartbeat_at,
    progress: row.progress === null ? null : (JSON.parse(row.progress) as TaskSnapshot["progress"]),
    outcome: undefined,
    partialOutcome: undefined,
  };
  return frozenRow(snapshot, rest.outcomeMissing);
}

/** An event without what its columns say. */
export function eventText(event: StoredEvent): string {
  const { type: _type, taskId: _taskId, pipelineRunId: _pipelineRunId, ...body } = event;
  return JSON.stringify(body);
}

/** What a row of `event` holds, with its task's id. */
export interface EventColumns {
  readonly type: string;
  readonly task_id: string | null;
  readonly run_id: string | null;
  readonly body: string;
}

export function eventOf({ type, task_id, run_id, body }: EventColumns): StoredEvent {
  const rest = JSON.parse(body) as Omit<StoredEvent, "type" | "taskId" | "pipelineRunId">;
  return frozenEvent({ type, ...rest, taskId: task_id, pipelineRunId: run_id } as StoredEvent);
}

export function attemptText(record: AttemptRecord): string {
  const { taskId: _taskId, ...body } = record;
  return JSON.stringify(body);
}

export function attemptOf(taskId: string, body: string): AttemptRecord {
  return frozenAttempt({ taskId, ...(JSON.parse(body) as Omit<AttemptRecord, "taskId">) });
}

export function runText(run: RunSnapshot): string {
  return JSON.stringify(run);
}

export function runOf(body: string): RunSnapshot {
  const run = JSON.parse(body) as RunSnapshot;
  return Object.freeze({ ...run, aggregation: Object.freeze(run.aggregation) });
}
