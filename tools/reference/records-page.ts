import type { AttemptRecord } from "../../src/core/attempt.ts";
import type { Failure } from "../../src/core/failure.ts";
import type { Page, RunQuery, TaskQuery } from "../../src/core/ports/store.ts";
import type { Progress } from "../../src/core/progress.ts";
import type { RunPauseReport, RunSnapshot, UnpausedNode } from "../../src/core/run.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { fieldsTable } from "./fields.ts";
import type { FieldTexts } from "./fields.ts";
import { page } from "./markdown.ts";

/** `docs/reference/records.md`: the fields of what the library tells of tasks, and of what it is asked. */
export function recordsPage(): string {
  return page(
    "# Records and queries",
    "What you read of tasks are plain objects that never change: ask again for what is new. Every field is there; what does not apply is `null`. Instants are epoch milliseconds, lengths milliseconds.",
    "## The task: `TaskSnapshot`",
    "From `handle.snapshot()`, `controller.get(id)`, `wait`, the verbs, and the pages of `list`.",
    fieldsTable(SNAPSHOT),
    "## The attempt: `AttemptRecord`",
    "From `controller.attempts(id)`, in order; one that has not ended is among them. Also in the events `AttemptStarted` and `AttemptFailed`.",
    fieldsTable(ATTEMPT),
    "## `Failure`",
    "A plain record of what went wrong. `result()` throws errors instead; those of class `TaskExecutionError` carry it as `failure`. `isFailure(value)` says whether a value has exactly this form, such as one among the results of a map that keeps them.",
    fieldsTable(FAILURE),
    "## `Progress`",
    fieldsTable(PROGRESS),
    "## The run: `RunSnapshot`",
    "From `run.snapshot()`, `run.wait()`, and the pages of `controller.runs`.",
    fieldsTable(RUN),
    "## What became of a run's pause: `RunPauseReport`",
    "From `run.pause()`.",
    fieldsTable(PAUSE_REPORT),
    "Each of `unpaused` (`UnpausedNode`):",
    fieldsTable(UNPAUSED),
    "## Queries of tasks: `list`, `stats`, `bucketCounts` and `watch`",
    "`controller.list(query)` gives a page, in the order in which the tasks were made and without their outcomes. The others take the same but for `limit` and `cursor`: `controller.stats(query)` gives the number of tasks in each status, `controller.bucketCounts(query)` in each bucket, and `controller.watch(query)` follows them. Every part of a query may be left out; all that are given must hold.",
    fieldsTable(QUERY),
    "A page:",
    fieldsTable(PAGE),
    "## Queries of runs: `RunQuery`",
    "`controller.runs(query)` gives a page of `RunSnapshot`, in the order in which the runs were started; all parts that are given must hold.",
    fieldsTable(RUN_QUERY),
    "See also: [the life of a task](lifecycle.md), [events](events.md), [tasks](../guides/tasks.md#looking-at-tasks).",
  );
}

const SNAPSHOT: FieldTexts<TaskSnapshot> = {
  taskId: ["string", "its id, for ever"],
  pipelineRunId: ["string | null", "its run; `null` for a task on its own"],
  name: ["string", "the registered name of its definition"],
  node: ["string | null", "the node's name inside its run"],
  tags: ["string[]", "as defined or submitted"],
  priority: ["number", "higher first"],
  bucket: ["number | null", "its bucket, from 0; `null` where the controller has no `buckets`"],
  bucketKey: ["string | null", "what decided on its bucket: the `bucketKey` it was submitted with, else its id; `null` without buckets"],
  status: ["TaskStatus", "where it is in its life"],
  statusVersion: ["number", "rises by one with every step; progress and heartbeats never touch it"],
  requestedAction: ['"stop" | "pause" | "cancel" | null', "what is wished and not reached yet"],
  pausedFrom: ['"starting" | "running" | "queued" | "retry_wait" | null', "where its pause began"],
  pausedBy: ["string | null", "who paused it"],
  skippedBy: ["string | null", "who skipped it"],
  overridden: ["boolean", "its status was set by force; cleared by the next `retry`, `reset` or `skip`"],
  needsDecision: ["boolean", "always `false` for now: reserved"],
  attempt: ["number", "attempts begun in this epoch"],
  maxAttempts: ["number", "how many there may be; a person's `retry` of a task that has used them up raises it"],
  attemptBudget: ["number", "what a fresh budget grants: the `maxAttempts` of its retry policy"],
  epoch: ["number", "rises with `reset`"],
  availableAt: ["number | null", "it begins no attempt before this instant: its `delay` or `runAt`, or a backoff; `null`: at once"],
  createdAt: ["number", "when it was submitted"],
  queuedAt: ["number | null", "when it last joined the queue"],
  startedAt: ["number | null", "when its present or last attempt began"],
  endedAt: ["number | null", "when it ended; `null` while it has not"],
  lastHeartbeatAt: ["number | null", "when its carrier was last known to be alive"],
  progress: ["Progress | null", "what it last reported"],
  failure: ["Failure | null", "why it failed, or what became of it when it was stopped"],
  outcome: ["unknown", "what it returned; not in the pages of `list`"],
  partialOutcome: ["unknown", "what it returned although it was told to stop; not in the pages of `list`"],
  outcomeMissing: ["string | null", "why it counts as succeeded and has no outcome to read"],
  executor: ["string | null", "where its present or last attempt runs"],
  pid: ["number | null", "its process, while one runs for it alone"],
  owner: ["string | null", "the controller that runs it, while it holds a slot"],
  abandonedBy: ["string | null", "the controller whose body of it was given up on and may still run"],
  fencingToken: ["number", "rises with every attempt and every force: see `ctx.fencingToken`"],
};

const ATTEMPT: FieldTexts<AttemptRecord> = {
  taskId: ["string", "its task"],
  epoch: ["number", "the epoch it belongs to"],
  attempt: ["number", "its number in that epoch, from 1"],
  executor: ["string | null", "where it runs"],
  pid: ["number | null", "its process, as soon as its launch is known"],
  owner: ["string | null", "the controller that runs it"],
  startedAt: ["number", "when it began (`starting`)"],
  endedAt: ["number | null", "when it ended; `null` while it runs"],
  durationMs: ["number | null", "from `startedAt` to `endedAt`, pauses included"],
  endedAs: ["TaskStatus | null", "the status it led to; `null` while it runs"],
  failure: ["Failure | null", "why it failed"],
  forced: ["boolean", "its carrier was ended by force"],
  stopAskedAt: ["number | null", "when it was told to end"],
  stopSeenAt: ["number | null", "when its code met that: a checkpoint threw, or its signal was aborted"],
  pauseAskedAt: ["number | null", "when it was last told to pause"],
  pauseSeenAt: ["number | null", "when a checkpoint held it"],
};

const FAILURE: FieldTexts<Failure> = {
  kind: ["FailureKind", "one of the [failure kinds](events.md#failure-kinds)"],
  message: ["string", "what happened, in words"],
  name: ["string", "the class of the error that was thrown"],
  stack: ["string | null", "where it was thrown"],
  causes: ["{ name, message, stack }[]", "the chain of `cause`, nearest first, at most 10"],
  retryable: ["boolean", "whether another attempt can make sense"],
  exitCode: ["number | null", "of a child process or thread that ended by itself"],
  signal: ["string | null", "the signal that ended a child process"],
  forced: ["boolean", "the carrier was ended by force"],
  abandoned: ["boolean", "the body was given up on and may still run"],
};

const PROGRESS: FieldTexts<Progress> = {
  done: ["number | null", "finite and at least 0"],
  total: ["number | null", "finite and at least 0; `null` while it is not known"],
  unit: ["string | null", "of what"],
  message: ["string | null", "the task's own words"],
  updatedAt: ["number", "when"],
};

const RUN: FieldTexts<RunSnapshot> = {
  runId: ["string", "its id, for ever"],
  name: ["string", "the pipeline's registered name"],
  status: ["RunStatus", "where it is in its life"],
  version: ["number", "rises by one with every change"],
  requestedAction: ['"stop" | "cancel" | "pause" | null', "what is wished and not reached yet"],
  pausedBy: ["string | null", "who paused it: nothing of it begins until it is resumed"],
  pauseReason: ["string | null", "why, where whoever paused it said so"],
  aggregation: ["AggregationPolicy", "what a failed node means for it"],
  priority: ["number", "of its nodes"],
  nodeCount: ["number", "how many nodes it has"],
  createdAt: ["number", "when it was made"],
  startedAt: ["number | null", "when it began"],
  endedAt: ["number | null", "when it ended; `null` while it has not"],
};

const PAUSE_REPORT: FieldTexts<RunPauseReport> = {
  status: ["RunStatus", "`paused`: nothing of it runs; `pausing`: what is listed runs on; else it was resumed or stopped, or has ended, meanwhile"],
  unpaused: ["UnpausedNode[]", "the nodes that could not be paused; what has not begun is held nevertheless"],
};

const UNPAUSED: FieldTexts<UnpausedNode> = {
  name: ["string", "the node's name inside the run"],
  taskId: ["string", "its task"],
  status: ["TaskStatus", "where it is now"],
  reason: ["string", "why it runs on, in words"],
};

const QUERY: FieldTexts<TaskQuery> = {
  status: ["TaskStatus[]", "in one of these"],
  pipelineRunId: ["string", "the nodes of this run"],
  tag: ["string", "with this tag"],
  name: ["string", "of exactly this registered name"],
  namePrefix: ["string", "whose name begins so"],
  idPrefix: ["string", "whose id begins so"],
  bucket: ["number", "of this bucket"],
  owner: ["string", "run by this controller"],
  createdSince: ["number", "made at or after this instant"],
  limit: ["number", "at most so many on a page; default 100"],
  cursor: ["string", "go on after the page that gave it"],
};

const RUN_QUERY: FieldTexts<RunQuery> = {
  status: ["RunStatus[]", "in one of these"],
  name: ["string", "of exactly this registered pipeline"],
  idPrefix: ["string", "whose id begins so"],
  limit: ["number", "at most so many on a page; default 100"],
  cursor: ["string", "go on after the page that gave it"],
};

const PAGE: FieldTexts<Page<TaskSnapshot>> = {
  items: ["TaskSnapshot[]", "what was found"],
  cursor: ["string | null", "give it back for the next page; `null`: this was the last"],
};
