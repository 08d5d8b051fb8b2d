import type { TaskEvent, TaskEventType } from "../../src/core/events.ts";
import type { FieldTexts } from "./fields.ts";

type Head = "type" | "eventId" | "at" | "taskId" | "pipelineRunId" | "name" | "node";

/** What every event has. */
export const HEAD_FIELDS: FieldTexts<Pick<Extract<TaskEvent, { readonly type: "TaskCreated" }>, Head>> = {
  type: ["string", "which event it is"],
  eventId: ["string", "the same event seen twice has the same one"],
  at: ["number", "when it happened, epoch milliseconds"],
  taskId: ["string | null", "the task; `null` only for an event of a run itself"],
  pipelineRunId: ["string | null", "its run; `null` for a task on its own"],
  name: ["string", "the task's registered name; of a run's own event the pipeline's"],
  node: ["string | null", "the node's name inside its run (not in a run's own event)"],
};

/** What each event has beside its head. */
export const EVENT_FIELDS: { readonly [T in TaskEventType]: FieldTexts<Omit<Extract<TaskEvent, { readonly type: T }>, Head>> } = {
  TaskCreated: {},
  TaskStatusChanged: {
    kind: ['"transition" | "revive" | "override"', "by an edge of the table, by a revive operation, or by force"],
    from: ["TaskStatus", "the status before"],
    to: ["TaskStatus", "the status now"],
    trigger: ["string", "what caused it: one of the triggers below"],
    actor: ["string", "who: what the caller gave as `actor`, else `user`, or `system`"],
    reason: ["string | null", "why, where somebody said so"],
    statusVersion: ["number", "the task's version after it: counts its steps"],
    attempt: ["number", "attempts begun so far"],
    epoch: ["number", "rises with `reset`"],
    commandId: ["string | null", "always `null` for now: reserved for commands of other processes"],
  },
  AttemptStarted: { attempt: ["AttemptRecord", "the attempt as it begins, before its launch: its `pid` is not known yet"] },
  AttemptFailed: {
    attempt: ["AttemptRecord", "the attempt as it ended"],
    failure: ["Failure", "why"],
    retryAt: ["number | null", "when the next attempt may begin, epoch milliseconds; `null`: there is none"],
  },
  ProgressUpdated: { progress: ["Progress", "how far it has come"] },
  TaskHeartbeat: {},
  TaskOutput: {
    kind: ["string", 'the first argument of `ctx.emit`; `"stdout"` or `"stderr"` for what a thread or child prints'],
    payload: ["unknown", "the second argument; a line of text for what was printed"],
  },
  TaskLogLine: {
    level: ['"debug" | "info" | "warn" | "error"', "which method of `ctx.log` it was"],
    message: ["string", "the first argument"],
    fields: ["Record<string, unknown>", "the second argument, `{}` where there is none"],
  },
  PipelineRunStatusChanged: {
    from: ["RunStatus", "the run's status before"],
    to: ["RunStatus", "the run's status now"],
    trigger: ["string", "what caused it"],
    actor: ["string", "who"],
    reason: ["string | null", "why, where somebody said so"],
    version: ["number", "the run's version after it"],
  },
  AdminOverride: {
    from: ["TaskStatus", "the status before"],
    to: ["TaskStatus", "the status that was set"],
    actor: ["string", "who set it"],
    reason: ["string", "why"],
  },
  TaskWarning: {
    code: ["WarningCode", "one of the warnings below"],
    message: ["string", "what happened, in words"],
    failure: ["Failure | null", "the error behind it, where there is one"],
  },
};
