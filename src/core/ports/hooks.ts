import type { Failure } from "../failure.ts";
import type { TaskSnapshot } from "../snapshot.ts";

/**
 * What is called when a task has taken one of these steps and that is stored: once for each step, in their order. What a
 * hook returns or throws changes nothing for the task, and the task does not wait for it; what it throws, or rejects with,
 * is logged and put on the task's record (`TaskWarning`, `hook_failed`). A forced status calls none. Source §7.2 (P4).
 */
export interface TaskHooks<Result = unknown> {
  /** The code of an attempt has begun; `snapshot.attempt` says which. */
  readonly onStart?: (snapshot: TaskSnapshot) => unknown;
  /** It has succeeded, with what it returned: by reference, as `result()` gives it. */
  readonly onSuccess?: (snapshot: TaskSnapshot, result: Result) => unknown;
  /** It is `failed` or `lost`, and no attempt follows by itself; a lost one may follow later (`retryLost`). */
  readonly onFailure?: (snapshot: TaskSnapshot, failure: Failure) => unknown;
  /** An attempt has failed and another one follows by itself: after `snapshot.availableAt`, or at once where that is `null`. */
  readonly onRetry?: (snapshot: TaskSnapshot, failure: Failure) => unknown;
  /** It is `stopped` or `cancelled`, begun or not. */
  readonly onCancel?: (snapshot: TaskSnapshot) => unknown;
}

/** The name of a hook. */
export type HookName = keyof TaskHooks;

/** Every hook, in the order in which a task may call them. */
export const HOOK_NAMES = ["onStart", "onSuccess", "onFailure", "onRetry", "onCancel"] as const satisfies readonly HookName[];
