import type { Progress } from "../core/progress.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { frozenFailure } from "./frozen-failure.ts";

/**
 * A frozen copy without values, which are kept beside it as text. Written out, field by field, in the order of
 * `createSnapshot`: about twice as fast as a spread, and every row has the same shape.
 * @param outcomeMissing why it has no outcome to read
 */
export function frozenRow(snapshot: TaskSnapshot, outcomeMissing: string | null): TaskSnapshot {
  const row: TaskSnapshot = {
    taskId: snapshot.taskId,
    pipelineRunId: snapshot.pipelineRunId,
    name: snapshot.name,
    node: snapshot.node,
    tags: frozenTags(snapshot.tags),
    priority: snapshot.priority,
    bucket: snapshot.bucket,
    bucketKey: snapshot.bucketKey,
    status: snapshot.status,
    statusVersion: snapshot.statusVersion,
    requestedAction: snapshot.requestedAction,
    pausedFrom: snapshot.pausedFrom,
    pausedBy: snapshot.pausedBy,
    skippedBy: snapshot.skippedBy,
    overridden: snapshot.overridden,
    needsDecision: snapshot.needsDecision,
    attempt: snapshot.attempt,
    maxAttempts: snapshot.maxAttempts,
    attemptBudget: snapshot.attemptBudget,
    epoch: snapshot.epoch,
    availableAt: snapshot.availableAt,
    createdAt: snapshot.createdAt,
    queuedAt: snapshot.queuedAt,
    startedAt: snapshot.startedAt,
    endedAt: snapshot.endedAt,
    lastHeartbeatAt: snapshot.lastHeartbeatAt,
    progress: frozenProgress(snapshot.progress),
    failure: frozenFailure(snapshot.failure),
    outcome: undefined,
    partialOutcome: undefined,
    outcomeMissing,
    executor: snapshot.executor,
    pid: snapshot.pid,
    owner: snapshot.owner,
    abandonedBy: snapshot.abandonedBy,
    fencingToken: snapshot.fencingToken,
  };
  return Object.freeze(row);
}

const NO_TAGS: readonly string[] = Object.freeze([]);

function frozenTags(tags: readonly string[]): readonly string[] {
  if (tags.length === 0) return NO_TAGS;
  return Object.isFrozen(tags) ? tags : Object.freeze([...tags]);
}

function frozenProgress(progress: Progress | null): Progress | null {
  return progress === null || Object.isFrozen(progress) ? progress : Object.freeze({ ...progress });
}
