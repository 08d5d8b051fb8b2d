import type { Failure } from "./failure.ts";
import type { TaskStatus } from "./status.ts";

/** Who did it and why: kept in the audit. Left out: the event's usual trigger, actor `system`, no reason. */
export interface By {
  readonly trigger?: string;
  readonly actor?: string;
  readonly reason?: string | null;
  readonly commandId?: string | null;
}

/** A value given by a person in place of the one the task would have returned. */
export interface GivenOutcome {
  readonly value: unknown;
}

/** What a person, a script or a run asks of the task. Source §3.1. */
export type VerbEvent = By &
  (
    | { readonly type: "start"; readonly depsOpen: boolean }
    | { readonly type: "stop" | "pause" | "resume" | "cancel" }
    | { readonly type: "retry" | "reset"; readonly force?: boolean }
    | { readonly type: "skip"; readonly outcome?: GivenOutcome }
  );

/** What the scheduler and the pipeline find. */
export type PlanEvent = By &
  (
    | { readonly type: "enqueue" | "block" | "backoffElapsed" }
    /** Begins an attempt: the design's `markStarting`. */
    | { readonly type: "dispatch"; readonly owner: string; readonly executor: string | null }
    | { readonly type: "conditionFalse"; readonly failure: Failure }
    | { readonly type: "dependencyFailed"; readonly to: "cancelled" | "skipped"; readonly failure: Failure }
    /** It can never run (again): its arguments were lost with their node. */
    | { readonly type: "unrunnable"; readonly failure: Failure }
  );

/** What the carrier reports. */
export type CarrierEvent = By &
  /** The code is about to run: the design's `markRunning`. */
  (
    | { readonly type: "launched"; readonly pid: number | null }
    /** `outcomeMissing`: why there is no value to read. */
    | { readonly type: "succeeded"; readonly outcome: unknown; readonly outcomeMissing?: string }
    /** `retryAt`: when the next attempt may begin; `null` when there is none. */
    | { readonly type: "failed"; readonly failure: Failure; readonly retryAt: number | null }
    /** The body ended under a stop or cancel that it may have noticed. */
    | { readonly type: "ended"; readonly failure: Failure; readonly partialOutcome?: unknown }
    | { readonly type: "lost"; readonly failure: Failure }
    | { readonly type: "pauseReached" }
    /** The pause was not reached in time: the design's `abortPause`. */
    | { readonly type: "pauseTimedOut" }
  );

/** What leads out of a terminal status without a person's verb, and the escape hatch. */
export type RecoveryEvent = By &
  (
    | { readonly type: "retryLost" | "requeue" | "rerun"; readonly force?: boolean }
    | { readonly type: "force"; readonly to: TaskStatus; readonly outcome?: GivenOutcome; readonly force?: boolean }
  );

/** Everything that can happen to a task. Source §1, §5.2. */
export type LifecycleEvent = VerbEvent | PlanEvent | CarrierEvent | RecoveryEvent;

/** The name of a lifecycle event. */
export type LifecycleEventType = LifecycleEvent["type"];

/** The trigger an event has in the audit where none is given. */
export const TRIGGERS = {
  start: "user:start",
  stop: "user:stop",
  pause: "user:pause",
  resume: "user:resume",
  cancel: "user:cancel",
  retry: "user:retry",
  skip: "user:skip",
  reset: "user:reset",
  enqueue: "scheduler:ready",
  block: "pipeline:waits",
  backoffElapsed: "retry:backoff-elapsed",
  dispatch: "scheduler:dispatch",
  conditionFalse: "pipeline:condition-false",
  dependencyFailed: "pipeline:dependency-failed",
  unrunnable: "reconcile:args-not-stored",
  launched: "executor:launched",
  succeeded: "executor:finished",
  failed: "executor:failed",
  ended: "executor:stopped",
  lost: "executor:lost",
  pauseReached: "pause:reached",
  pauseTimedOut: "pause:timed-out",
  retryLost: "retry:lost",
  requeue: "reconcile:requeue",
  rerun: "pipeline:rerun",
  force: "user:force",
} as const satisfies Record<LifecycleEventType, string>;

/** Triggers that stand in the place of the usual one where the cause is known more closely. */
export const CLOSER_TRIGGERS = [
  "pause:overtaken",
  "pause:all-reached",
  "pause:node-resumed",
  "retry:backoff",
  "retry:exhausted",
  "timeout:start",
  "timeout:attempt",
  "timeout:idle",
  "pipeline:function-threw",
  "pipeline:verdict",
  "pipeline:map",
  "controller:close",
] as const;

/** Such a trigger. */
export type CloserTrigger = (typeof CLOSER_TRIGGERS)[number];
