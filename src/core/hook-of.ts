import type { LifecycleEvent } from "./lifecycle-events.ts";
import type { HookName } from "./ports/hooks.ts";
import type { TaskSnapshot } from "./snapshot.ts";
import type { TaskStatus } from "./status.ts";

const BY_STATUS: Readonly<Partial<Record<TaskStatus, HookName>>> = Object.freeze({
  succeeded: "onSuccess",
  failed: "onFailure",
  lost: "onFailure",
  retry_wait: "onRetry",
  stopped: "onCancel",
  cancelled: "onCancel",
});

/** The hook that a step calls; `null`: none. What a person forces is no step of the task's own. */
export function hookOf(event: LifecycleEvent["type"], before: TaskSnapshot, after: TaskSnapshot): HookName | null {
  if (event === "force") return null;
  if (event === "launched") return "onStart";
  if (event === "retryLost") return "onRetry";
  return before.status === after.status ? null : (BY_STATUS[after.status] ?? null);
}
