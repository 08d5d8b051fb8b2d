import type { ResolvedRetryPolicy } from "../core/policies/retry.ts";
import type { ResolvedTimeoutPolicy } from "../core/policies/timeout.ts";
import type { TaskBody } from "../core/ports/executor.ts";
import type { TaskHooks } from "../core/ports/hooks.ts";

/** A registered task with its options checked and its defaults filled in. Holds no execution state. Source §13.3. */
export interface TaskDefinition {
  readonly name: string;
  readonly run: TaskBody;
  /** The kind of its executor. */
  readonly executor: string;
  /** The URL of the module that exports it; `null`: it can only run in this process. */
  readonly module: string | null;
  readonly retry: ResolvedRetryPolicy;
  readonly timeout: ResolvedTimeoutPolicy;
  readonly tags: readonly string[];
  /** What is called at its steps. */
  readonly hooks?: TaskHooks<never> | null;
}
