import { formatDuration } from "../../core/duration.ts";
import { TASK_STATUSES } from "../../core/status.ts";
import { formatCounts, tellCounts } from "./counts.ts";
import { drawNodes } from "./node-lines.ts";
import type { DrawOptions } from "./node-lines.ts";
import type { RunBoard } from "./run-board.ts";
import { fit } from "./table.ts";

/** What a frame is drawn from. */
export interface FrameOptions extends DrawOptions {
  /** Lines that the frame may take, at least 1. */
  readonly height: number;
  /** What runs, already clean. */
  readonly title: string;
}

/** The lines of the live view: a line a node, one for those that do not fit, and one for all. Never more than `height`, never wider than `width`. */
export function drawFrame(board: RunBoard, options: FrameOptions): readonly string[] {
  const { width, height, title, nowMs, paint } = options;
  const total = paint("bold", fit(`${title}  ${totals(board)}  ${formatDuration(elapsed(board, nowMs))}`, width).trimEnd());
  if (board.size === 0 || height < 2) return [total];
  if (board.size <= height - 1) return [...drawNodes(board.select(board.size), options), total];
  const rows = board.select(Math.max(0, height - 2));
  const shown = new Map(TASK_STATUSES.map((status) => [status, 0]));
  for (const { status } of rows) shown.set(status, (shown.get(status) ?? 0) + 1);
  const rest = formatCounts((status) => board.count(status) - (shown.get(status) ?? 0));
  return [...drawNodes(rows, options), paint("dim", fit(`… ${board.size - rows.length} more: ${rest}`, width).trimEnd()), total];
}

/** Of the run's own time, as its end tells it; none while it has not begun. */
function elapsed({ startedAt, endedAt }: RunBoard, nowMs: number): number {
  return startedAt === null ? 0 : Math.max(0, (endedAt ?? nowMs) - startedAt);
}

function totals(board: RunBoard): string {
  const { runStatus } = board;
  const held = runStatus === "pausing" || runStatus === "paused" || runStatus === "stopping" ? runStatus : "";
  return [held, `${board.ended}/${board.size} ended`, tellCounts((status) => board.count(status))].filter((part) => part !== "").join(" · ");
}
