import type { RunStatus, TaskStatus } from "../../core/status.ts";

/** A colour or manner of text. */
export type Style = "green" | "red" | "yellow" | "cyan" | "magenta" | "gray" | "bold" | "dim";

/** How a status looks: never by colour alone. */
export interface Look {
  readonly symbol: string;
  readonly style: Style;
  /** What is shown first where not all fit: the lowest. */
  readonly rank: number;
}

/** Every symbol is one column wide. */
export const STATUS_LOOKS: Readonly<Record<TaskStatus, Look>> = {
  failed: { symbol: "✗", style: "red", rank: 0 },
  lost: { symbol: "?", style: "red", rank: 0 },
  stopping: { symbol: "◌", style: "yellow", rank: 1 },
  running: { symbol: "●", style: "cyan", rank: 1 },
  pausing: { symbol: "●", style: "yellow", rank: 1 },
  starting: { symbol: "◌", style: "cyan", rank: 1 },
  retry_wait: { symbol: "↻", style: "yellow", rank: 2 },
  paused: { symbol: "‖", style: "yellow", rank: 2 },
  queued: { symbol: "○", style: "gray", rank: 3 },
  blocked: { symbol: "·", style: "gray", rank: 4 },
  pending: { symbol: "·", style: "gray", rank: 4 },
  stopped: { symbol: "■", style: "yellow", rank: 5 },
  cancelled: { symbol: "⊘", style: "yellow", rank: 5 },
  skipped: { symbol: "−", style: "gray", rank: 6 },
  succeeded: { symbol: "✓", style: "green", rank: 6 },
};

/** How the status of a run or a task is coloured. */
export function styleOf(status: TaskStatus | RunStatus): Style {
  return STATUS_LOOKS[status].style;
}
