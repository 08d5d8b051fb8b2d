import { formatDuration } from "../../core/duration.ts";
import { isTerminal } from "../../core/transitions.ts";
import { formatProgress, formatRate, shareOf } from "./amounts.ts";
import { cleanLine } from "./clean-text.ts";
import type { Paint } from "./paint.ts";
import type { NodeRow } from "./run-board.ts";
import { STATUS_LOOKS } from "./status-look.ts";
import type { Style } from "./status-look.ts";
import { fit, widthOf } from "./table.ts";

/** What the lines are drawn with. */
export interface DrawOptions {
  /** Columns that a line may take. */
  readonly width: number;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly paint: Paint;
}

const BAR_WIDTH = 10;
const LONGEST_NAME = 40;
const SHORTEST_NAME = 8;
const GAP = 2;

interface Column {
  readonly align: "left" | "right";
  /** The lower, the later it goes when the terminal is narrow. */
  readonly importance: number;
  /** So that it does not jump as its text grows. */
  readonly minWidth: number;
  readonly text: (row: NodeRow, nowMs: number) => string;
  readonly style: (row: NodeRow) => Style | null;
}

/** In the order in which they stand, after symbol and name. */
const COLUMNS: readonly Column[] = [
  { align: "left", importance: 1, minWidth: 10, text: (row) => row.status, style: (row) => STATUS_LOOKS[row.status].style },
  { align: "left", importance: 3, minWidth: 0, text: bar, style: () => "cyan" },
  { align: "right", importance: 2, minWidth: 0, text: (row) => formatProgress(row.progress), style: () => null },
  { align: "right", importance: 6, minWidth: 0, text: (row) => (isTerminal(row.status) ? "" : formatRate(row.rate.perSecond())), style: () => "dim" },
  { align: "right", importance: 5, minWidth: 0, text: eta, style: () => "dim" },
  { align: "right", importance: 4, minWidth: 0, text: attempt, style: () => "yellow" },
  { align: "right", importance: 0, minWidth: 7, text: elapsed, style: () => "dim" },
];

/** One line for each node, its columns aligned among them; what does not fit the width goes by importance. */
export function drawNodes(rows: readonly NodeRow[], { width, nowMs, paint }: DrawOptions): readonly string[] {
  const names = rows.map((row) => cleanLine(row.name, 400));
  const cells = rows.map((row) => COLUMNS.map((column) => column.text(row, nowMs)));
  const longest = Math.min(LONGEST_NAME, Math.max(1, ...names.map(widthOf)));
  const { nameWidth, widths } = layOut(cells, longest, width);
  return rows.map((row, index) => {
    const { symbol, style } = STATUS_LOOKS[row.status];
    const parts = COLUMNS.map((column, at) => {
      const columns = widths[at] ?? 0;
      if (columns === 0) return "";
      const text = " ".repeat(GAP) + fit(cells[index]?.[at] ?? "", columns, column.align);
      const look = column.style(row);
      return look === null || text.trim() === "" ? text : paint(look, text);
    });
    return `${paint(style, symbol)} ${fit(names[index] ?? "", nameWidth)}${parts.join("")}`;
  });
}

/** A width of 0: the column is left out. */
function layOut(cells: readonly (readonly string[])[], longest: number, width: number): { readonly nameWidth: number; readonly widths: readonly number[] } {
  const wanted = COLUMNS.map((column, at) => {
    const content = Math.max(0, ...cells.map((row) => widthOf(row[at] ?? "")));
    return content === 0 ? 0 : Math.max(column.minWidth, content);
  });
  const shortest = Math.min(longest, SHORTEST_NAME);
  let room = width - 2 - shortest;
  const widths = wanted.map(() => 0);
  const byImportance = [...COLUMNS.keys()].toSorted((a, b) => (COLUMNS[a]?.importance ?? 0) - (COLUMNS[b]?.importance ?? 0));
  for (const at of byImportance) {
    const columns = wanted[at] ?? 0;
    if (columns === 0 || room < columns + GAP) continue;
    widths[at] = columns;
    room -= columns + GAP;
  }
  const nameWidth = Math.max(1, shortest + Math.min(room, longest - shortest));
  return { nameWidth, widths };
}

function bar(row: NodeRow): string {
  const share = shareOf(row.progress);
  if (share === null) return "";
  const full = Math.floor(share * BAR_WIDTH);
  return "━".repeat(full) + "─".repeat(BAR_WIDTH - full);
}

function eta(row: NodeRow): string {
  if (isTerminal(row.status) || row.progress === null || row.progress.total === null) return "";
  const leftMs = row.rate.etaMs(row.progress.total);
  return leftMs === null ? "" : `ETA ${formatDuration(leftMs < 1_000 ? 1_000 : leftMs)}`;
}

function attempt({ attempt: number, maxAttempts }: NodeRow): string {
  if (number <= 1 && (maxAttempts ?? 1) <= 1) return "";
  return number === 0 ? "" : `try ${number}/${Math.max(number, maxAttempts ?? number)}`;
}

function elapsed({ startedAt, endedAt }: NodeRow, nowMs: number): string {
  return startedAt === null ? "" : formatDuration(Math.max(0, (endedAt ?? nowMs) - startedAt));
}
