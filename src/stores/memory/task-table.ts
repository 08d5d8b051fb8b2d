import type { AttemptRecord } from "../../core/attempt.ts";
import { InternalError } from "../../core/errors.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { TASK_STATUSES } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";
import { NO_POSITION } from "./log-block.ts";
import type { LogThread } from "./log-block.ts";

/** One task: its row, its values as text, its audit. */
export interface TaskRecord extends LogThread {
  /** Frozen, and without values. Replaced through the table alone. */
  row: TaskSnapshot;
  /** How many tasks were made before it. */
  readonly place: number;
  /** Where it stands among the tasks of its status. */
  slot: number;
  /** The encoded values; `undefined` stands for itself. */
  args: string | undefined;
  readonly overrides: string | undefined;
  outcome: string | undefined;
  partialOutcome: string | undefined;
  saved: string | undefined;
  attempts: readonly AttemptRecord[];
  readonly run: RunMembers | null;
}

/** What belongs to one run. */
export interface RunMembers {
  /** Its tasks, in the order in which they were made. */
  readonly tasks: TaskRecord[];
  /** Where its events and its tasks' are in the log. */
  readonly positions: number[];
}

/** The encoded values that a task is made with. */
export interface EncodedPayload {
  readonly args: string | undefined;
  readonly overrides: string | undefined;
}

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([]);

/** All tasks, by id, in order, by status and by run. */
export class TaskTable {
  readonly #byId = new Map<string, TaskRecord>();
  readonly #inOrder: TaskRecord[] = [];
  readonly #byStatus: ReadonlyMap<TaskStatus, TaskRecord[]> = new Map(TASK_STATUSES.map((status) => [status, []]));
  readonly #byRun = new Map<string, RunMembers>();

  /** Every task, in the order in which they were made: the index is the record's `place`. */
  get inOrder(): readonly TaskRecord[] {
    return this.#inOrder;
  }

  find(taskId: string): TaskRecord | undefined {
    return this.#byId.get(taskId);
  }

  /** The tasks in that status, in no order. */
  inStatus(status: TaskStatus): readonly TaskRecord[] {
    return this.#bucket(status);
  }

  /** What belongs to the run; `undefined` where nothing does. */
  findMembers(runId: string): RunMembers | undefined {
    return this.#byRun.get(runId);
  }

  /** What belongs to the run, made where there is nothing yet. */
  membersOf(runId: string): RunMembers {
    const found = this.#byRun.get(runId);
    if (found !== undefined) return found;
    const made: RunMembers = { tasks: [], positions: [] };
    this.#byRun.set(runId, made);
    return made;
  }

  /** The caller has seen that the id is free. */
  add(row: TaskSnapshot, payload: EncodedPayload): TaskRecord {
    const bucket = this.#bucket(row.status);
    const record: TaskRecord = {
      row,
      place: this.#inOrder.length,
      slot: bucket.length,
      args: payload.args,
      overrides: payload.overrides,
      outcome: undefined,
      partialOutcome: undefined,
      saved: undefined,
      attempts: NO_ATTEMPTS,
      newest: NO_POSITION,
      run: row.pipelineRunId === null ? null : this.membersOf(row.pipelineRunId),
    };
    this.#byId.set(row.taskId, record);
    this.#inOrder.push(record);
    bucket.push(record);
    record.run?.tasks.push(record);
    return record;
  }

  /**
   * Gives the task a new row, and its place under the new status.
   * @throws InternalError where it would become another task
   */
  replace(record: TaskRecord, row: TaskSnapshot): void {
    const before = record.row;
    if (row.name !== before.name || row.node !== before.node || row.pipelineRunId !== before.pipelineRunId) {
      throw new InternalError(`task ${row.taskId}: its name, node and run never change.`);
    }
    const left = before.status;
    record.row = row;
    if (left === row.status) return;
    // The last one takes the gap: a set of this many objects would cost a hash of each.
    const bucket = this.#bucket(left);
    const last = bucket.pop();
    if (last !== undefined && last !== record) {
      bucket[record.slot] = last;
      last.slot = record.slot;
    }
    const entered = this.#bucket(row.status);
    record.slot = entered.length;
    entered.push(record);
  }

  #bucket(status: TaskStatus): TaskRecord[] {
    const bucket = this.#byStatus.get(status);
    if (bucket === undefined) throw new InternalError(`there is no status ${JSON.stringify(status)}.`);
    return bucket;
  }
}
