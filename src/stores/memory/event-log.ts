import type { StoredEvent, TaskStatusChanged } from "../../core/events.ts";
import type { FeedEntry } from "../../core/ports/store.ts";
import { frozenAttempt } from "../frozen-attempt.ts";
import { frozenEvent } from "../frozen-event.ts";
import { BLOCK_SIZE, LogBlock, NO_POSITION } from "./log-block.ts";
import type { LogContent, LogThread } from "./log-block.ts";
import { StepManners } from "./step-manner.ts";

const CREATED: LogContent = { type: "created" };

/** Everything that was stored, in order: append-only, so a position is a cursor for ever. */
export class EventLog {
  readonly #blocks: LogBlock[] = [];
  readonly #manners = new StepManners();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /**
   * @param thread the task it tells of; `null` for a run's own
   * @param runPositions the positions of its run's events, to be added to
   */
  append(event: StoredEvent, thread: LogThread | null, runPositions: number[] | null): void {
    const position = this.#length;
    const index = position % BLOCK_SIZE;
    const block = this.#blocks[(position - index) / BLOCK_SIZE] ?? this.#addBlock();
    const content = this.#contentOf(event, thread);
    block.content[index] = content;
    block.thread[index] = thread;
    block.eventId[index] = event.eventId;
    block.at[index] = event.at;
    block.previous[index] = thread === null ? NO_POSITION : thread.newest;
    if (content.type === "step" && event.type === "TaskStatusChanged") {
      block.statusVersion[index] = event.statusVersion;
      block.attempt[index] = event.attempt;
      block.epoch[index] = event.epoch;
    }
    this.#length = position + 1;
    if (thread !== null) thread.newest = position;
    runPositions?.push(position);
  }

  /** The task's events from this position on, in order. */
  ofThread(thread: LogThread, start: number): readonly number[] {
    const positions: number[] = [];
    let position = thread.newest;
    while (position >= start) {
      positions.push(position);
      position = this.#blockOf(position)?.previous[position % BLOCK_SIZE] ?? NO_POSITION;
    }
    return positions.reverse();
  }

  at(position: number): StoredEvent | undefined {
    return this.#blockOf(position)?.read(position % BLOCK_SIZE);
  }

  /** The entries at these positions. */
  entries(positions: readonly number[]): readonly FeedEntry[] {
    const entries: FeedEntry[] = [];
    for (const position of positions) {
      const event = this.at(position);
      if (event !== undefined) entries.push(Object.freeze({ cursor: String(position + 1), event }));
    }
    return Object.freeze(entries);
  }

  #addBlock(): LogBlock {
    const block = new LogBlock();
    this.#blocks.push(block);
    return block;
  }

  #blockOf(position: number): LogBlock | undefined {
    return this.#blocks[Math.floor(position / BLOCK_SIZE)];
  }

  #contentOf(event: StoredEvent, thread: LogThread | null): LogContent {
    if (thread !== null && isOf(event, thread)) {
      if (event.type === "TaskStatusChanged" && fitsColumns(event)) return this.#manners.of(event);
      if (event.type === "TaskCreated") return CREATED;
      if (event.type === "AttemptStarted") return { type: "attempt", attempt: frozenAttempt(event.attempt) };
    }
    return { type: "whole", event: frozenEvent(event) };
  }
}

/** Does the event say of the task what its row says? */
function isOf(event: StoredEvent, { row }: LogThread): boolean {
  if (event.type === "PipelineRunStatusChanged") return false;
  return event.taskId === row.taskId && event.name === row.name && event.node === row.node && event.pipelineRunId === row.pipelineRunId;
}

function fitsColumns({ statusVersion, attempt, epoch }: TaskStatusChanged): boolean {
  return (statusVersion | 0) === statusVersion && (attempt | 0) === attempt && (epoch | 0) === epoch;
}
