import { ConfigurationError } from "../core/errors.ts";
import { createId } from "../core/ids.ts";
import type { TaskCreation } from "../core/ports/store.ts";
import { createSnapshot } from "../core/snapshot.ts";
import { apply } from "../core/state-machine.ts";
import { createdEvent, eventsOf } from "./audit-events.ts";
import { NO_BUCKET } from "./buckets.ts";
import type { BucketChoice } from "./buckets.ts";
import { Cell } from "./cell.ts";
import type { NodePlace } from "./cell.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { randomBytes } from "./random-source.ts";
import type { TaskDefinition } from "./task-definition.ts";

/** A task that is to be made. */
export interface TaskToMake {
  readonly definition: TaskDefinition;
  readonly args: readonly unknown[] | undefined;
  readonly priority: number;
  /** Epoch milliseconds. */
  readonly createdAt: number;
  /** Default: none. */
  readonly bucket?: BucketChoice | undefined;
  /** Not before this instant, epoch milliseconds. Default `null`: at once. */
  readonly availableAt?: number | null;
  /** The node's name and its run; `null`: a task on its own. */
  readonly node: { readonly name: string; readonly runId: string; readonly place: NodePlace } | null;
}

/** What is held of a task that is new, with an id of its own. Nothing of it is stored yet. */
export function makeCell({ definition, args, priority, createdAt, bucket = NO_BUCKET, availableAt = null, node }: TaskToMake): Cell {
  const taskId = createId(randomBytes);
  const snapshot = createSnapshot({
    taskId,
    ...bucket(taskId),
    availableAt,
    name: definition.name,
    node: node?.name ?? null,
    pipelineRunId: node?.runId ?? null,
    createdAt,
    maxAttempts: definition.retry.maxAttempts,
    tags: definition.tags,
    priority,
  });
  return new Cell({ definition, snapshot, args, place: node?.place ?? null });
}

/** The making of the task as one write, with its first step where it takes one. */
export function creationOf(cell: Cell, first: "enqueue" | "block" | null, now: number, overrides: unknown = null): TaskCreation {
  const created = createdEvent(cell.snapshot);
  const payload = { args: cell.args, overrides };
  if (first === null) return { snapshot: cell.snapshot, payload, events: [created] };
  const applied = apply(cell.snapshot, { type: first }, now);
  if (!applied.ok) throw applied.error;
  cell.snapshot = applied.snapshot;
  return { snapshot: applied.snapshot, payload, events: [created, ...eventsOf(applied, now)] };
}

/** Writes the making of these tasks as one; held before it is stored, so that a close that comes meanwhile sees them and ends them. */
export async function storeCells(lifecycle: Lifecycle, cells: readonly Cell[], write: (stored: (problem: Error | null) => void) => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const made = cells.map((cell) => cell.snapshot);
  for (const cell of cells) lifecycle.hold(cell);
  write((problem) => {
    if (problem === null) {
      for (const [index, cell] of cells.entries()) cell.stored ??= made[index] ?? null;
      resolve();
    } else {
      for (const cell of cells) lifecycle.forget(cell);
      reject(problem);
    }
  });
  await promise;
}

/** Why a task could not be made: which it is, where what it was given is to blame. */
export function notMade(task: string, problem: Error): Error {
  return problem instanceof ConfigurationError ? new ConfigurationError(`${task} could not be stored: ${problem.message}`, { cause: problem }) : problem;
}
