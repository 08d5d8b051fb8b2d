import { createFailure } from "../core/failure.ts";
import type { Failure } from "../core/failure.ts";
import { hookOf } from "../core/hook-of.ts";
import type { LifecycleEvent } from "../core/lifecycle-events.ts";
import type { HookName, TaskHooks } from "../core/ports/hooks.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { failureOf } from "../core/thrown.ts";
import { taskScope } from "./task-scope.ts";
import type { TaskScope } from "./task-scope.ts";

/** What hooks work with. */
export interface HooksParts {
  readonly logger: Logger;
  /** Of the controller: called for each of its tasks, after the task's own. */
  readonly common: TaskHooks<never> | null;
  /** Puts on the task's record that one of them failed. */
  readonly failed: (taskId: string, message: string, failure: Failure) => void;
}

/** A hook that is to be called once its step is stored. */
export interface HookCall {
  readonly name: HookName;
  readonly hooks: TaskHooks<never> | null;
  readonly failure: Failure | null;
}

const NO_FAILURE = createFailure({ kind: "exception", message: "no reason is on record" });

/** Calls the hooks of tasks and of the controller. A hook can hurt nobody: not its task, not the library, not the other hooks. */
export class Hooks {
  readonly #parts: HooksParts;
  /** Those under way, by the scope they run in. */
  readonly #running = new Map<TaskScope, PromiseWithResolvers<void>>();

  constructor(parts: HooksParts) {
    this.#parts = parts;
  }

  /** What is to be called for a step once it is stored; `null`, at little cost: nothing. */
  of(
    own: TaskHooks<never> | null,
    event: LifecycleEvent["type"],
    { before, after }: { readonly before: TaskSnapshot; readonly after: TaskSnapshot },
  ): HookCall | null {
    const { common } = this.#parts;
    if (own === null && common === null) return null;
    const name = hookOf(event, before, after);
    if (name === null || (own?.[name] === undefined && common?.[name] === undefined)) return null;
    return { name, hooks: own, failure: after.failure ?? before.failure };
  }

  /** The step is stored: the task's own hook, then the controller's. */
  call(call: HookCall, snapshot: TaskSnapshot, result: unknown): void {
    const told = Object.freeze({ ...snapshot });
    for (const hooks of [call.hooks, this.#parts.common]) if (hooks !== null) this.#run(call, { hooks, snapshot: told, result });
  }

  /** Is it a hook that asks? Then nobody waits for that one. */
  excuse(): void {
    const asking = taskScope.getStore();
    if (asking !== undefined) this.#end(asking);
  }

  /** Resolves when those that are under way have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(async ({ promise }) => await promise));
  }

  #run(
    { name, failure }: HookCall,
    { hooks, snapshot, result }: { readonly hooks: TaskHooks<never>; readonly snapshot: TaskSnapshot; readonly result: unknown },
  ): void {
    const hook = hooks[name];
    if (hook === undefined) return;
    const { taskId } = snapshot;
    const report = (error: unknown): void => this.#report(name, taskId, error);
    // A scope of its own: what it leaves behind is told as the hook's, and it may do to its task what others may.
    const scope: TaskScope = { taskId, pipelineRunId: null, name: snapshot.name, stray: report, body: null };
    const detail = name === "onSuccess" ? [result] : name === "onFailure" || name === "onRetry" ? [failure ?? NO_FAILURE] : [];
    this.#running.set(scope, Promise.withResolvers());
    taskScope.run(scope, () => {
      try {
        const answer: unknown = Reflect.apply(hook, undefined, [snapshot, ...detail]);
        if (!isThenable(answer)) return this.#end(scope);
        Promise.resolve(answer).then(
          () => this.#end(scope),
          (error: unknown) => {
            report(error);
            this.#end(scope);
          },
        );
      } catch (error) {
        report(error);
        this.#end(scope);
      }
    });
  }

  #end(scope: TaskScope): void {
    this.#running.get(scope)?.resolve();
    this.#running.delete(scope);
  }

  #report(name: HookName, taskId: string, error: unknown): void {
    const failure = failureOf(error);
    this.#parts.logger.error("a hook failed", { hook: name, taskId, problem: failure.message });
    this.#parts.failed(taskId, `its hook ${name} failed: ${failure.message}`, failure);
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
