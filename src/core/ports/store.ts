import type { AttemptRecord } from "../attempt.ts";
import type { ConcurrencyConflict } from "../errors.ts";
import type { StoredEvent, TaskStatusChanged } from "../events.ts";
import type { Progress } from "../progress.ts";
import type { RunSnapshot } from "../run.ts";
import type { TaskSnapshot } from "../snapshot.ts";
import type { RunStatus, TaskStatus } from "../status.ts";

/** Values kept beside a task's row: read only when they are needed. Plain values; the store encodes them. */
export interface TaskPayload {
  /** The tuple of arguments; `undefined` while a node's arguments are not worked out yet. */
  readonly args: readonly unknown[] | undefined;
  /** What this submit overrides of the task's policies, as plain data; `null` for nothing. */
  readonly overrides: unknown;
}

/** A task's values as stored. */
export interface StoredPayload extends TaskPayload {
  /** What its last attempts saved to go on from; `undefined`: nothing. */
  readonly saved: unknown;
}

/** A task to be made: its row, its values, and the events that tell of it. */
export interface TaskCreation {
  readonly snapshot: TaskSnapshot;
  readonly payload: TaskPayload;
  readonly events: readonly StoredEvent[];
}

/** A change of one task: all of it or nothing. Source §5.6. */
export interface TaskChange {
  /** The row as it is to be. */
  readonly snapshot: TaskSnapshot;
  /** The version the row must have now. */
  readonly expectVersion: number;
  readonly events: readonly StoredEvent[];
  /**
   * Where each of its events stands among all events of one `commit`, where that is not the order of the changes: the feed
   * then tells a cause before its effects. Left out: behind those of the changes before it.
   */
  readonly ranks?: readonly number[];
  /** Attempts opened or closed by it; one that exists is replaced. */
  readonly attempts: readonly AttemptRecord[];
  /** A node's arguments, worked out when its upstreams had ended. */
  readonly args?: readonly unknown[];
  /** What its attempt saved for the next one, `undefined` to forget it; left out: what is stored stays. */
  readonly saved?: { readonly value: unknown };
}

/** What became of one change; the others are not touched by it. */
export interface ChangeResult {
  /** Why it was not made: somebody else was first. `null`: it was made. */
  readonly conflict: ConcurrencyConflict | null;
  /** It was made, but its outcome or partial outcome cannot be stored: why, as the row's `outcomeMissing` now says. Else `null`. */
  readonly outcomeMissing: string | null;
  /** It was made, but the arguments worked out for it cannot be stored: why. They still flow in memory. Else `null`. */
  readonly argsMissing: string | null;
  /** It was made, but what the attempt saved cannot be stored: why. The state stored before stays. Else `null`. */
  readonly savedMissing: string | null;
}

/** The change was made as it was given. */
export const CHANGE_MADE: ChangeResult = Object.freeze({ conflict: null, outcomeMissing: null, argsMissing: null, savedMissing: null });

/** The high-rate side path: never checks or raises the version, never wakes a terminal task. Source §5.6. */
export interface Touch {
  readonly taskId: string;
  readonly owner: string;
  readonly attempt: number;
  readonly progress?: Progress;
  readonly heartbeatAt?: number;
}

/** Which tasks; every part given must hold. */
export interface TaskQuery {
  readonly status?: readonly TaskStatus[];
  readonly pipelineRunId?: string;
  readonly tag?: string;
  readonly name?: string;
  readonly namePrefix?: string;
  readonly idPrefix?: string;
  readonly bucket?: number;
  readonly owner?: string;
  /** Made at or after this instant, epoch milliseconds. */
  readonly createdSince?: number;
  /** At most so many; default 100. */
  readonly limit?: number;
  /** Go on after the page that gave this cursor. */
  readonly cursor?: string;
}

/** A page of what was found, in the order in which it was made. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Give it back to get the next page; `null` at the end. */
  readonly cursor: string | null;
}

/** How many tasks are in each status. */
export type StatusCounts = Readonly<Record<TaskStatus, number>>;

/** Rows and their values. */
export interface TaskFacet {
  /** Makes the tasks, all or none; an id that exists is a `StoreError`, values that cannot be stored a `ConfigurationError`. */
  create(creations: readonly TaskCreation[]): Promise<void>;
  /**
   * One durable write; the answers are in the order of the changes, each made on what those before it left. The
   * row becomes what the change says, values included: start from `get`, since `query` leaves them out. An outcome,
   * arguments or a saved state that cannot be stored hold no step up: the answer says why they are missing.
   */
  commit(changes: readonly TaskChange[]): Promise<readonly ChangeResult[]>;
  /** With its outcome; `undefined` when there is no such task. */
  get(taskId: string): Promise<TaskSnapshot | undefined>;
  payload(taskId: string): Promise<StoredPayload | undefined>;
  /** Without outcomes. In the order in which the tasks were made; what is made meanwhile comes last. */
  query(query: TaskQuery): Promise<Page<TaskSnapshot>>;
  counts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<StatusCounts>;
  /** How many of the tasks that match are in each bucket; those in none are left out. */
  bucketCounts(query: Omit<TaskQuery, "limit" | "cursor">): Promise<ReadonlyMap<number, number>>;
  touch(touches: readonly Touch[]): Promise<void>;
}

/** One entry of the feed. */
export interface FeedEntry {
  /** Where to go on after it. */
  readonly cursor: string;
  readonly event: StoredEvent;
}

/** The audit: append-only. */
export interface AuditFacet {
  /** Every step of a task, by version; those after `sinceVersion` only. */
  history(taskId: string, options?: { readonly sinceVersion?: number }): Promise<readonly TaskStatusChanged[]>;
  attempts(taskId: string): Promise<readonly AttemptRecord[]>;
  /** What was stored after `cursor` (`null`: from the start): no gap, by version within a task. */
  feed(cursor: string | null, options: { readonly limit: number; readonly taskId?: string; readonly pipelineRunId?: string }): Promise<readonly FeedEntry[]>;
  /** The cursor of the newest entry; `null` when there is none. */
  head(): Promise<string | null>;
}

/** A change of a run, guarded by its version like a task's. */
export interface RunChange {
  readonly snapshot: RunSnapshot;
  readonly expectVersion: number;
  readonly events: readonly StoredEvent[];
}

/** Which runs; every part given must hold. */
export interface RunQuery {
  /** In one of these. */
  readonly status?: readonly RunStatus[];
  /** Of exactly this pipeline. */
  readonly name?: string;
  readonly idPrefix?: string;
  /** At most so many on a page; default 100. */
  readonly limit?: number;
  /** Go on after the page that gave it. */
  readonly cursor?: string;
}

/** Runs. */
export interface RunFacet {
  /** Makes the run together with its nodes' tasks, all or none. */
  create(run: RunSnapshot, params: readonly unknown[], creations: readonly TaskCreation[], events: readonly StoredEvent[]): Promise<void>;
  /** `null`: it was made; else why it was not. */
  commit(change: RunChange): Promise<ConcurrencyConflict | null>;
  get(runId: string): Promise<RunSnapshot | undefined>;
  /** In the order in which the runs were made. */
  query(query: RunQuery): Promise<Page<RunSnapshot>>;
}

/** What a store can do beyond the contract every store keeps. */
export interface StoreSupports {
  /** What it holds outlives the process. */
  readonly durability: boolean;
  /** Several processes may open it at once. */
  readonly sharing: boolean;
}

/** Where tasks, their audit and their runs are kept. Source §5.6. */
export interface TaskStore {
  readonly supports: StoreSupports;
  readonly tasks: TaskFacet;
  readonly audit: AuditFacet;
  readonly runs: RunFacet;
  /** Called once before anything else. */
  open(): Promise<void>;
  close(): Promise<void>;
}
