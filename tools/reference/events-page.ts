import type { CancelTrigger } from "../../src/core/aggregation.ts";
import { EVENT_TYPES, WARNING_CODES } from "../../src/core/events.ts";
import type { StoredEvent, TaskEventType, WarningCode } from "../../src/core/events.ts";
import { FAILURE_KINDS } from "../../src/core/failure.ts";
import type { FailureKind } from "../../src/core/failure.ts";
import { TRIGGERS } from "../../src/core/lifecycle-events.ts";
import type { CloserTrigger, LifecycleEventType } from "../../src/core/lifecycle-events.ts";
import { EVENT_FIELDS, HEAD_FIELDS } from "./event-fields.ts";
import { fieldsTable, rowsOf } from "./fields.ts";
import { code, page, table } from "./markdown.ts";

/** `docs/reference/events.md`: events, warnings, triggers, failure kinds. */
export function eventsPage(): string {
  const triggers = [...Object.entries(TRIGGERS).map(([event, trigger]) => [trigger, WHEN[event as LifecycleEventType]]), ...Object.entries(MORE_TRIGGERS)];
  return page(
    "# Events",
    "Everything that happens to a task or a run can be observed: `handle.events()`, `run.events()`, `controller.events()`. The `type` of an event tells which it is. How to read them: [tasks](../guides/tasks.md#what-a-task-says).",
    table(
      ["type", "what it says", "kept in the store"],
      Object.entries(EVENT_TYPES).map(([type, says]) => [code(type), says, STORED[type as TaskEventType] ? "yes" : "no"]),
    ),
    "An event that is kept is stored first and published second. A subscriber that throws or is slow never touches a task.",
    "## Fields",
    "Every event has:",
    fieldsTable(HEAD_FIELDS),
    "Beside these, each type has its own. `AttemptRecord`, `Failure` and `Progress` are on the page of [records](records.md).",
    table(["type", "field", "value", "what it says"], fieldRows()),
    "## Warnings",
    "`TaskWarning` carries a `code`, a `message` and, where there is one, a `failure`.",
    table(
      ["code", "what happened"],
      WARNING_CODES.map((warning) => [code(warning), WARNINGS[warning]]),
    ),
    "## Triggers",
    "Each step in a task's history (`TaskStatusChanged`) says what caused it, by a name with its origin before the colon: `user` (a person or script), `scheduler`, `pipeline`, `executor` (what runs the code), `pause`, `retry`, `reconcile` (recovery after a crash, which comes with a store on disk). `actor` says who, `reason` why.",
    table(
      ["trigger", "when"],
      triggers.map(([trigger = "", when = ""]) => [code(trigger), when]),
    ),
    "## Failure kinds",
    "`failure.kind` says why a task failed. A timeout is a reason, never a status.",
    table(
      ["kind", "what happened"],
      FAILURE_KINDS.map((kind) => [code(kind), FAILURES[kind]]),
    ),
    "See also: [the life of a task](lifecycle.md), [records and queries](records.md), [errors](errors.md).",
  );
}

function fieldRows(): readonly (readonly string[])[] {
  return Object.entries(EVENT_FIELDS).flatMap(([type, texts]) => {
    const rows = rowsOf<Readonly<Record<string, unknown>>>(texts);
    return rows.length === 0 ? [[code(type), "", "", "nothing more"]] : rows.map((row) => [code(type), ...row]);
  });
}

/** Which events are kept: the compiler holds it against the type of what is stored. */
const STORED: { readonly [T in TaskEventType]: T extends StoredEvent["type"] ? true : false } = {
  TaskCreated: true,
  TaskStatusChanged: true,
  AttemptStarted: true,
  AttemptFailed: true,
  ProgressUpdated: false,
  TaskHeartbeat: false,
  TaskOutput: false,
  TaskLogLine: false,
  PipelineRunStatusChanged: true,
  AdminOverride: true,
  TaskWarning: true,
};

const WARNINGS: Readonly<Record<WarningCode, string>> = {
  pause_rolled_back: "No checkpoint was reached in time, so the task runs on as if it had not been asked to pause.",
  late_result_discarded: "A result came after the verdict. The verdict stays.",
  abandoned_body_ended: "A body that was given up on has ended after all.",
  outcome_not_stored: "The task succeeded, but the value it returned could not be stored.",
  state_not_stored:
    "What an attempt saved could not be stored. The next attempt here has it; one that a person's `retry` begins later, from what is stored, has the state saved before.",
  args_not_stored: "A node's arguments could not be stored. It runs with those in memory, which go with this process.",
  stray_error: "A promise that the task did not await was rejected, or a callback of it threw.",
  hook_failed: "A hook of the task, or of the controller for it, threw or rejected. The task is not touched by it.",
  loop_stalled: "The task blocked the event loop: nothing else could run, be paused or be stopped meanwhile.",
};

const WHEN: Readonly<Record<LifecycleEventType, string>> = {
  start: "`start` was called",
  stop: "`stop` was called",
  pause: "`pause` was called",
  resume: "`resume` was called",
  cancel: "`cancel` was called",
  retry: "`retry` was called",
  skip: "`skip` was called",
  reset: "`reset` was called",
  enqueue: "its dependencies are met",
  block: "it has upstream tasks that have not ended",
  backoffElapsed: "its backoff has ended, and it has to wait for its turn",
  dispatch: "it got a slot: an attempt begins",
  conditionFalse: "its `when` was false, or an upstream task was skipped",
  dependencyFailed: "an upstream task did not end as it needs",
  unrunnable: "reserved for a store on disk: its arguments were not stored and their node is gone",
  launched: "its code is about to run",
  succeeded: "its code returned",
  failed: "its code threw, or its carrier died",
  ended: "its code ended under a stop or cancel",
  lost: "its carrier is out of contact",
  pauseReached: "it reached a checkpoint and is held there",
  pauseTimedOut: "it reached no checkpoint in time and runs on",
  retryLost: "it was lost, and its retry policy says `retryLost`",
  requeue: "reserved for a store on disk: its node died, and it is queued again",
  rerun: "a task upstream of it was retried",
  force: "`forceTransition` was called",
};

const MORE_TRIGGERS: Readonly<Record<CancelTrigger | CloserTrigger, string>> = {
  "pause:overtaken": "it ended before the pause took hold",
  "pause:all-reached": "nothing of the paused run is under way any more",
  "pause:node-resumed": "a node of a paused run was resumed by itself",
  "retry:backoff": "the attempt failed, and another follows after the backoff",
  "retry:exhausted": "the attempt failed, and it was the last one",
  "timeout:start": "it was not launched in time",
  "timeout:attempt": "the attempt took too long",
  "timeout:idle": "it gave no sign of work for too long",
  "pipeline:function-threw": "the node's `when`, `args` or `items` function threw; its task never ran",
  "pipeline:map": "the map it belongs to was asked the same, or began again; on a map: one of its items made it so",
  "pipeline:verdict": "all nodes of the run have ended",
  "controller:close": "the controller closes",
  "pipeline:fail-fast": "another task of its run failed, and the run fails fast",
  "pipeline:quorum-unreachable": "too few tasks of its run can still succeed",
};

const FAILURES: Readonly<Record<FailureKind, string>> = {
  exception: "The task's code threw.",
  nonzero_exit: "The child process or thread ended without a verdict.",
  timeout_start: "It was not launched in time.",
  timeout_attempt: "The attempt took too long.",
  timeout_idle: "It gave no sign of work for too long.",
  cancelled: "What it threw or left behind when it was stopped or cancelled. Never retried.",
  lost: "Its carrier is out of contact; the outcome is unknown.",
  dependency_failed: "An upstream task did not end as this one needs. It did not run.",
  condition_false: "Its `when` was false, or an upstream task was skipped. It did not run.",
};
