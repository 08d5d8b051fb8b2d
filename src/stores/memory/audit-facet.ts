import type { AttemptRecord } from "../../core/attempt.ts";
import type { TaskStatusChanged } from "../../core/events.ts";
import { checkInteger } from "../../core/options.ts";
import type { AuditFacet, FeedEntry } from "../../core/ports/store.ts";
import { firstNotBefore } from "./first-not-before.ts";
import type { MemoryData } from "./memory-data.ts";
import { readCursor } from "../page-cursor.ts";
import type { Session } from "./session.ts";

type FeedOptions = Parameters<AuditFacet["feed"]>[1];

/** The audit, in memory. Source §5.6. */
export class MemoryAudit implements AuditFacet {
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
  }

  async history(taskId: string, options: { readonly sinceVersion?: number } = {}): Promise<readonly TaskStatusChanged[]> {
    const { tasks, log } = this.#session.data();
    const record = tasks.find(taskId);
    if (record === undefined) return [];
    const steps: TaskStatusChanged[] = [];
    for (const position of log.ofThread(record, 0)) {
      const event = log.at(position);
      if (event?.type === "TaskStatusChanged" && event.statusVersion > (options.sinceVersion ?? -1)) steps.push(event);
    }
    return Object.freeze(steps);
  }

  async attempts(taskId: string): Promise<readonly AttemptRecord[]> {
    return Object.freeze(this.#session.data().tasks.find(taskId)?.attempts ?? []);
  }

  async feed(cursor: string | null, options: FeedOptions): Promise<readonly FeedEntry[]> {
    const data = this.#session.data();
    const limit = checkInteger(options.limit, "limit", 1);
    const start = readCursor(cursor, data.log.length);
    return data.log.entries(positionsFrom(data, start, limit, options));
  }

  async head(): Promise<string | null> {
    const { length } = this.#session.data().log;
    return length === 0 ? null : String(length);
  }
}

/** Where the next entries of the feed are, at most `limit`. */
function positionsFrom(data: MemoryData, start: number, limit: number, { taskId, pipelineRunId }: FeedOptions): readonly number[] {
  if (taskId !== undefined) {
    const record = data.tasks.find(taskId);
    if (record === undefined || (pipelineRunId !== undefined && record.row.pipelineRunId !== pipelineRunId)) return [];
    return data.log.ofThread(record, start).slice(0, limit);
  }
  if (pipelineRunId !== undefined) {
    const positions = data.tasks.findMembers(pipelineRunId)?.positions ?? [];
    const first = firstNotBefore(positions, start, (position) => position);
    return positions.slice(first, first + limit);
  }
  return Array.from({ length: Math.min(limit, data.log.length - start) }, (_, index) => start + index);
}
