/** Something that runs no-op tasks, ten at a time. */
export interface Pool {
  /** Gives it that many tasks at once and waits for the result of each. */
  readonly all: (count: number) => Promise<void>;
  /** Gives it one, waits for its result, then the next. */
  readonly oneByOne: (count: number) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** A pool that keeps what it is given in a queue of its own. */
export interface Queue {
  /** Queues that many tasks, none of which begins; resolves once all are queued. */
  readonly fill: (count: number) => Promise<void>;
  /** Lets them begin; resolves once all have ended and that is on record. */
  readonly drain: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export const MAX_PARALLEL = 10;
