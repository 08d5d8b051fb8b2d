import { AsyncLocalStorage } from "node:async_hooks";

/** The body of an attempt in this process, as one sees it who acts on its behalf. */
export interface ScopedBody {
  /** Does it still run? True for an abandoned one, too. */
  readonly running: boolean;
  /** It was asked to end. */
  readonly stopWished: boolean;
  /** What it reports to: tells it from every other attempt. */
  readonly reports: object;
  /**
   * Waits as at a checkpoint: a stop ends the waiting with `TaskCancelled`, a pause takes hold in it and may outlast it.
   * What was waited for never notices.
   */
  during<Value>(arrival: Promise<Value>): Promise<Value>;
}

/** Which attempt the code now on the stack belongs to. */
export interface TaskScope {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  readonly name: string;
  /** Takes a rejection or exception that nobody awaited, after the task or beside it. */
  readonly stray: (error: unknown) => void;
  /** `null`: in a thread or child, where there is no controller that could be waited with. */
  readonly body: ScopedBody | null;
}

/** Follows every await: for naming strays, and for refusing a task that would wait for itself. */
export const taskScope = new AsyncLocalStorage<TaskScope>();
