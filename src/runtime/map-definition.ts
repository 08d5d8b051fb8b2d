import { resolveRetryPolicy } from "../core/policies/retry.ts";
import { resolveTimeoutPolicy } from "../core/policies/timeout.ts";
import type { TaskDefinition } from "./task-definition.ts";

const ONE_ATTEMPT = resolveRetryPolicy(undefined);
const NO_TIMEOUT = resolveTimeoutPolicy(undefined);

/** The definition of the node of a map: its items are what is tried again, timed and tagged, and have the hooks. */
export function mapDefinition(item: TaskDefinition): TaskDefinition {
  return { ...item, run: () => undefined, module: null, retry: ONE_ATTEMPT, timeout: NO_TIMEOUT, tags: [], hooks: null };
}
