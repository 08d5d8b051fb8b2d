import type { AttemptRecord } from "../../core/attempt.ts";
import type { AttemptStarted, StoredEvent, TaskCreated, TaskStatusChanged } from "../../core/events.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import { unreachable } from "../../core/unreachable.ts";
import type { StepManner } from "./step-manner.ts";

/** How many events one block holds. */
export const BLOCK_SIZE = 1_024;

/** No earlier event of the same task. */
export const NO_POSITION = -1;

/** What the log knows of a task: who it is, and where its newest event is. */
export interface LogThread {
  readonly row: Pick<TaskSnapshot, "taskId" | "pipelineRunId" | "name" | "node">;
  newest: number;
}

/** What an event says beside the columns; `whole`: all of it. */
export type LogContent =
  | StepManner
  | { readonly type: "created" }
  | { readonly type: "attempt"; readonly attempt: AttemptRecord }
  | { readonly type: "whole"; readonly event: StoredEvent };

/**
 * A thousand events in columns. As objects the six of a small task would be most of what it takes, and the
 * collector would move each of them twice.
 */
export class LogBlock {
  readonly at = new Float64Array(BLOCK_SIZE);
  /** Where the event before of the same task is. */
  readonly previous = new Int32Array(BLOCK_SIZE);
  readonly statusVersion = new Int32Array(BLOCK_SIZE);
  readonly attempt = new Int32Array(BLOCK_SIZE);
  readonly epoch = new Int32Array(BLOCK_SIZE);
  readonly eventId: string[] = [];
  readonly thread: (LogThread | null)[] = [];
  readonly content: LogContent[] = [];

  /** The event, frozen, made anew. */
  read(index: number): StoredEvent | undefined {
    const content = this.content[index];
    if (content === undefined) return undefined;
    if (content.type === "whole") return content.event;
    const thread = this.thread[index];
    const eventId = this.eventId[index];
    const at = this.at[index];
    if (thread === undefined || thread === null || eventId === undefined || at === undefined) return undefined;
    const { taskId, pipelineRunId, name, node } = thread.row;
    switch (content.type) {
      case "created":
        return Object.freeze<TaskCreated>({ type: "TaskCreated", eventId, at, taskId, pipelineRunId, name, node });
      case "attempt":
        return Object.freeze<AttemptStarted>({ type: "AttemptStarted", eventId, at, taskId, pipelineRunId, name, node, attempt: content.attempt });
      case "step":
        return this.#readStep(index, content, { eventId, at, taskId, pipelineRunId, name, node });
      default:
        return unreachable(content);
    }
  }

  #readStep(
    index: number,
    manner: StepManner,
    base: Pick<TaskStatusChanged, "eventId" | "at" | "taskId" | "pipelineRunId" | "name" | "node">,
  ): TaskStatusChanged {
    const { kind, from, to, trigger, actor, reason, commandId } = manner;
    const statusVersion = this.statusVersion[index] ?? 0;
    const attempt = this.attempt[index] ?? 0;
    const epoch = this.epoch[index] ?? 0;
    return Object.freeze<TaskStatusChanged>({
      type: "TaskStatusChanged",
      ...base,
      kind,
      from,
      to,
      trigger,
      actor,
      reason,
      statusVersion,
      attempt,
      epoch,
      commandId,
    });
  }
}
