import type { AttemptRecord } from "./attempt.ts";
import type { Failure } from "./failure.ts";
import type { Progress } from "./progress.ts";
import type { RunStatus, TaskStatus } from "./status.ts";

interface EventBase {
  /** Stable: the same event seen twice has the same id. */
  readonly eventId: string;
  /** Epoch milliseconds. */
  readonly at: number;
  /** `null` only for events of a run or of the controller itself. */
  readonly taskId: string | null;
  readonly pipelineRunId: string | null;
}

interface TaskEventBase extends EventBase {
  readonly taskId: string;
  /** The task's registered name. */
  readonly name: string;
  /** The node's name inside its run. */
  readonly node: string | null;
}

/** A task was stored. */
export interface TaskCreated extends TaskEventBase {
  readonly type: "TaskCreated";
}

/** How a status was left: by an edge of the table, by a revive operation, or by a person's force. */
export type TransitionKind = "transition" | "revive" | "override";

/** One step of a task's life: the audit's row and the observers' event in one. Source §4.1. */
export interface TaskStatusChanged extends TaskEventBase {
  readonly type: "TaskStatusChanged";
  readonly kind: TransitionKind;
  readonly from: TaskStatus;
  readonly to: TaskStatus;
  /** Namespaced: `user:stop`, `scheduler:dispatch`, `retry:exhausted`. */
  readonly trigger: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly statusVersion: number;
  readonly attempt: number;
  readonly epoch: number;
  /** The command of another process that asked for it. */
  readonly commandId: string | null;
}

/** An attempt began. */
export interface AttemptStarted extends TaskEventBase {
  readonly type: "AttemptStarted";
  readonly attempt: AttemptRecord;
}

/** An attempt failed; the task may be retried. */
export interface AttemptFailed extends TaskEventBase {
  readonly type: "AttemptFailed";
  readonly attempt: AttemptRecord;
  readonly failure: Failure;
  /** When the next attempt may begin, epoch milliseconds; `null` when there is none. */
  readonly retryAt: number | null;
}

/** Progress, throttled. */
export interface ProgressUpdated extends TaskEventBase {
  readonly type: "ProgressUpdated";
  readonly progress: Progress;
}

/** The carrier is alive. */
export interface TaskHeartbeat extends TaskEventBase {
  readonly type: "TaskHeartbeat";
}

/** A value the task emitted on its way. */
export interface TaskOutput extends TaskEventBase {
  readonly type: "TaskOutput";
  readonly kind: string;
  readonly payload: unknown;
}

/** How much a log line matters. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** A line of the task's log. */
export interface TaskLogLine extends TaskEventBase {
  readonly type: "TaskLogLine";
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** A run's status changed. */
export interface PipelineRunStatusChanged extends EventBase {
  readonly type: "PipelineRunStatusChanged";
  readonly taskId: null;
  readonly pipelineRunId: string;
  /** The pipeline's name. */
  readonly name: string;
  readonly from: RunStatus;
  readonly to: RunStatus;
  readonly trigger: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly version: number;
}

/** A person set a status by force. Source §3.1. */
export interface AdminOverride extends TaskEventBase {
  readonly type: "AdminOverride";
  readonly from: TaskStatus;
  readonly to: TaskStatus;
  readonly actor: string;
  readonly reason: string;
}

/** What a warning is about. */
export const WARNING_CODES = [
  "pause_rolled_back",
  "late_result_discarded",
  "abandoned_body_ended",
  "outcome_not_stored",
  "args_not_stored",
  "state_not_stored",
  "stray_error",
  "loop_stalled",
  "hook_failed",
] as const;

/** What a warning is about. */
export type WarningCode = (typeof WARNING_CODES)[number];

/** Something a person should know though nothing failed. */
export interface TaskWarning extends TaskEventBase {
  readonly type: "TaskWarning";
  readonly code: WarningCode;
  readonly message: string;
  readonly failure: Failure | null;
}

/** Everything that can be observed of tasks and runs: discriminated on `type`. Source §4.1. */
export type TaskEvent =
  | TaskCreated
  | TaskStatusChanged
  | AttemptStarted
  | AttemptFailed
  | ProgressUpdated
  | TaskHeartbeat
  | TaskOutput
  | TaskLogLine
  | PipelineRunStatusChanged
  | AdminOverride
  | TaskWarning;

/** The name of an event. */
export type TaskEventType = TaskEvent["type"];

/** Every event type, with what it says: the reference page is made from it. */
export const EVENT_TYPES = {
  TaskCreated: "a task was stored",
  TaskStatusChanged: "a task took a step of its life",
  AttemptStarted: "an attempt began",
  AttemptFailed: "an attempt failed",
  ProgressUpdated: "progress, throttled",
  TaskHeartbeat: "the carrier is alive",
  TaskOutput: "a value the task emitted",
  TaskLogLine: "a line of the task's log",
  PipelineRunStatusChanged: "a run's status changed",
  AdminOverride: "a person set a status by force",
  TaskWarning: "something a person should know though nothing failed",
} as const satisfies Record<TaskEventType, string>;

/** The events that are stored and fed to observers again; progress, heartbeats and output go beside. */
export type StoredEvent = TaskCreated | TaskStatusChanged | AttemptStarted | AttemptFailed | PipelineRunStatusChanged | AdminOverride | TaskWarning;
