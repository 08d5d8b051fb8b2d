import { formatDuration } from "../../core/duration.ts";
import type { TaskEvent } from "../../core/events.ts";
import type { LineOptions } from "./event-lines.ts";
import { tellEvent } from "./item-lines.ts";
import type { Output } from "./output.ts";
import type { Reporter } from "./reporter.ts";
import { RunBoard } from "./run-board.ts";
import type { NodeRow } from "./run-board.ts";
import { drawSummary } from "./summary.ts";

/** Progress of one task is told at most so often. */
const PROGRESS_EVERY_MS = 2_000;

/** Lines for a pipe or a file, each with the time since the start of the run; the last one has the counts by status. */
export function createPlainReporter(stdout: Output, stderr: Output, options: LineOptions & { readonly quiet: boolean }): Reporter {
  const board = new RunBoard();
  const toldAt = new Map<string, number>();
  /** The progress of maps whose items have not told as much yet. */
  const held = new Map<NodeRow, TaskEvent>();
  const isDue = (event: TaskEvent): boolean => {
    if (event.type !== "ProgressUpdated") return true;
    const { done, total } = event.progress;
    if (event.at - (toldAt.get(event.taskId) ?? Number.NEGATIVE_INFINITY) < PROGRESS_EVERY_MS && (total === null || done !== total)) return false;
    toldAt.set(event.taskId, event.at);
    return true;
  };
  const tell = (event: TaskEvent, row: NodeRow | undefined, atMs = event.at): void => {
    const since = formatDuration(Math.max(0, atMs - (board.startedAt ?? atMs))).padStart(8);
    for (const line of tellEvent(event, row, options)) stdout.line(`${since}  ${line}`);
  };
  const tellHeld = (map: NodeRow, atMs: number): void => {
    const progress = held.get(map);
    if (progress === undefined || map.progress?.done !== map.items?.reported?.done) return;
    held.delete(map);
    tell(progress, map, atMs);
  };
  return {
    event(event) {
      const row = board.apply(event);
      if (options.quiet || !isDue(event)) return;
      if (event.type === "ProgressUpdated" && row !== undefined && row.items !== null) {
        held.set(row, event);
        return tellHeld(row, event.at);
      }
      tell(event, row);
      if (row?.map) tellHeld(row.map, event.at);
    },
    describe(snapshot) {
      board.describe(snapshot);
    },
    note(text) {
      if (!options.quiet) stderr.line(text);
    },
    interrupted() {
      if (stderr.isTerminal) stderr.line("");
    },
    end(summary) {
      for (const line of drawSummary(summary, options)) stdout.line(line);
    },
    restore() {},
  };
}
