/** A body that was given up on and still runs. */
export interface Orphan {
  readonly taskId: string;
  /** The task's registered name. */
  readonly name: string;
  readonly attempt: number;
  readonly executor: string;
  /** When it was given up on, epoch milliseconds. */
  readonly since: number;
}

/** How a controller is. */
export interface Health {
  /** The store does not take what is written now; it is kept in order and tried again. */
  readonly degraded: boolean;
  /** How many writes it did not take at once, since opening. */
  readonly persistFailures: number;
  /** How many bodies were given up on and still run. */
  readonly orphans: number;
}
