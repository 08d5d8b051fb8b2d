/** How far a task has come. Every field but the time is the task's own word. Source §2.4. */
export interface Progress {
  readonly done: number | null;
  readonly total: number | null;
  readonly unit: string | null;
  readonly message: string | null;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

/** What a task reports; what it leaves out keeps its last value. */
export interface ProgressReport {
  readonly done?: number;
  readonly total?: number;
  readonly unit?: string;
  readonly message?: string;
}
