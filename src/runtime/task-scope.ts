import { AsyncLocalStorage } from "node:async_hooks";

/** Which attempt the code now on the stack belongs to. */
export interface TaskScope {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  readonly name: string;
  /** Takes a rejection or exception that nobody awaited, after the task or beside it. */
  readonly stray: (error: unknown) => void;
}

/** Follows every await: for naming strays, and for refusing a task that would wait for itself. */
export const taskScope = new AsyncLocalStorage<TaskScope>();
