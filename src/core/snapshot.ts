import type { Failure } from "./failure.ts";
import type { Progress } from "./progress.ts";
import type { RequestedAction, TaskStatus } from "./status.ts";

/** Where a pause began: in place (the slot is held), or before the task had begun. */
export type PausedFrom = "starting" | "running" | "queued" | "retry_wait";

/**
 * All that is known of a task at an instant: the status and the dimensions beside it, none folded into
 * another. Instants are epoch milliseconds. Never changed, only replaced. Source §2.4.
 */
export interface TaskSnapshot {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  /** The registered name of the task's definition. */
  readonly name: string;
  /** The node's name inside its run; `null` for a task on its own. */
  readonly node: string | null;
  readonly tags: readonly string[];
  readonly priority: number;
  readonly bucket: number | null;
  readonly bucketKey: string | null;

  readonly status: TaskStatus;
  /** Rises by one with every transition; progress and heartbeat never touch it. */
  readonly statusVersion: number;
  readonly requestedAction: RequestedAction | null;
  readonly pausedFrom: PausedFrom | null;
  readonly pausedBy: string | null;
  readonly skippedBy: string | null;
  /** A person set the status by force; cleared by the next revive. */
  readonly overridden: boolean;
  /** The orphan policy `manual` asks a person to decide. */
  readonly needsDecision: boolean;

  /** Attempts begun in this epoch. */
  readonly attempt: number;
  readonly maxAttempts: number;
  /** What a fresh budget grants: the retry policy's `maxAttempts`. */
  readonly attemptBudget: number;
  /** Rises with `reset`; older attempts and transitions stay in the audit under theirs. */
  readonly epoch: number;
  /** Not before this instant: backoff or delayed start. */
  readonly availableAt: number | null;

  readonly createdAt: number;
  readonly queuedAt: number | null;
  /** When the present attempt began (`starting`). */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly lastHeartbeatAt: number | null;

  readonly progress: Progress | null;
  readonly failure: Failure | null;
  /** The value the task returned. Lists leave it out; `get` and `wait` bring it. */
  readonly outcome: unknown;
  /** What a stopped task returned nevertheless. */
  readonly partialOutcome: unknown;
  /** Why a task that counts as succeeded has no outcome to read; `null` when it has. */
  readonly outcomeMissing: string | null;

  readonly executor: string | null;
  readonly pid: number | null;
  /** `nodeId:epoch` of the node that runs it; only while occupied. */
  readonly owner: string | null;
  /** The owner whose abandoned body may still run. */
  readonly abandonedBy: string | null;
  /** Monotone per task: pass it on with your own writes to fence off a stale attempt. */
  readonly fencingToken: number;
}

/** What is given when a task is made; the rest has its first value. */
export interface NewTask {
  readonly taskId: string;
  readonly name: string;
  readonly createdAt: number;
  readonly maxAttempts: number;
  readonly pipelineRunId?: string | null;
  readonly node?: string | null;
  readonly tags?: readonly string[];
  readonly priority?: number;
  readonly bucket?: number | null;
  readonly bucketKey?: string | null;
  readonly availableAt?: number | null;
}

/** The first snapshot of a task: `pending`, version 0. */
export function createSnapshot(task: NewTask): TaskSnapshot {
  return {
    taskId: task.taskId,
    pipelineRunId: task.pipelineRunId ?? null,
    name: task.name,
    node: task.node ?? null,
    tags: task.tags ?? [],
    priority: task.priority ?? 0,
    bucket: task.bucket ?? null,
    bucketKey: task.bucketKey ?? null,
    status: "pending",
    statusVersion: 0,
    requestedAction: null,
    pausedFrom: null,
    pausedBy: null,
    skippedBy: null,
    overridden: false,
    needsDecision: false,
    attempt: 0,
    maxAttempts: task.maxAttempts,
    attemptBudget: task.maxAttempts,
    epoch: 0,
    availableAt: task.availableAt ?? null,
    createdAt: task.createdAt,
    queuedAt: null,
    startedAt: null,
    endedAt: null,
    lastHeartbeatAt: null,
    progress: null,
    failure: null,
    outcome: undefined,
    partialOutcome: undefined,
    outcomeMissing: null,
    executor: null,
    pid: null,
    owner: null,
    abandonedBy: null,
    fencingToken: 0,
  };
}
