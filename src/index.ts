export { Controller } from "./api/controller.ts";
export type {
  Asking,
  ControllerOptions,
  EventOptions,
  FeedOptions,
  ForceOptions,
  PauseOptions,
  ResetOptions,
  RetryOptions,
  RunOptions,
  RunRetryOptions,
  SkipOptions,
  StopOptions,
  SubmitOptions,
  TaskSelector,
  WaitOptions,
  WatchOptions,
} from "./api/options.ts";
export { definePipeline } from "./api/pipeline.ts";
export type {
  AnyNode,
  AnyPipeline,
  AtOnce,
  Computed,
  ItemOf,
  MapOptions,
  MapResult,
  NodeOptions,
  NodeResult,
  Pipeline,
  PipelineBuilder,
  PipelineNode,
  PipelineOptions,
  TakesOneItem,
  Upstream,
} from "./api/pipeline.ts";
export { RunHandle } from "./api/run-handle.ts";
export type { FailureChain, ItemCounts, MapSummary, RunGraphNode, RunItem, RunSummary } from "./api/run-summary.ts";
export { runTask } from "./api/run-task.ts";
export type { RunTaskOptions, RunTaskRest } from "./api/run-task.ts";
export type { ParsedArgs, SchemaResult, StandardSchema, TupleSchema } from "./api/standard-schema.ts";
export { task } from "./api/task.ts";
export type { AnyTask, ArgsOf, CarrierChoice, HooksOf, OtherKind, ArgsThen, Task, TaskOptions, TaskResult } from "./api/task.ts";
export { TaskHandle } from "./api/task-handle.ts";
export type { AttemptRecord, AttemptTimes } from "./core/attempt.ts";
export type { BucketOptions, StartOptions } from "./api/scheduling.ts";
export type { Explanation, Reason, ReasonFact, SlotHolding, UpstreamWait } from "./core/explanation.ts";
export type { Hold, HoldTarget } from "./core/holds.ts";
export type { Limits, LimitsChange } from "./core/limits.ts";
export type { Duration } from "./core/duration.ts";
export * from "./core/errors.ts";
export { EVENT_TYPES, WARNING_CODES } from "./core/events.ts";
export type * from "./core/events.ts";
export { FAILURE_KINDS, isFailure } from "./core/failure.ts";
export type { Failure, FailureCause, FailureKind } from "./core/failure.ts";
export type { Join } from "./core/join.ts";
export type { FailedItems } from "./core/map-rules.ts";
export { allSettled, failFast, quorum } from "./core/policies/aggregation.ts";
export type { AggregationPolicy } from "./core/policies/aggregation.ts";
export { constant, exponential, linear } from "./core/policies/retry.ts";
export type { RetryPolicy } from "./core/policies/retry.ts";
export type { Backoff, BackoffFunction } from "./core/policies/backoff.ts";
export type { ConcurrencyPolicy } from "./core/policies/concurrency.ts";
export type { TimeoutPolicy } from "./core/policies/timeout.ts";
export type { CarrierOptions, ProcessOptions, ThreadOptions } from "./api/carrier-options.ts";
export type {
  CarriedTask,
  CarrierReports,
  ExecutionHandle,
  Executor,
  ExecutorSupports,
  LaunchRequest,
  Settlement,
  StopRequest,
  TaskBody,
} from "./core/ports/executor.ts";
export type { Clock, Timer } from "./core/ports/clock.ts";
export type { TaskHooks } from "./core/ports/hooks.ts";
export type { Logger } from "./core/ports/logger.ts";
export type * from "./core/ports/store.ts";
export type { Artifacts, TaskContext, TaskLog, TrackOptions } from "./core/ports/task-context.ts";
export type { Progress, ProgressReport } from "./core/progress.ts";
export type { RunPauseReport, RunSnapshot, UnpausedNode } from "./core/run.ts";
export type { RunVerb } from "./core/run-verbs.ts";
export type { TaskSnapshot } from "./core/snapshot.ts";
export { RUN_STATUSES, STATUS_FACTS, TASK_STATUSES, parseTaskStatus } from "./core/status.ts";
export type { RequestedAction, RunStatus, TaskStatus } from "./core/status.ts";
export { REVIVABLE, TERMINAL, TRANSITIONS, canTransition, isTerminal } from "./core/transitions.ts";
export { VERBS, VERB_TABLE } from "./core/verbs.ts";
export type { Verb, VerbAnswer, VerbCell, VerbRow } from "./core/verbs.ts";
export { memoryStore } from "./stores/memory/store.ts";
