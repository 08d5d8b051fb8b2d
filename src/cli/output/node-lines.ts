import { formatDuration } from "../../core/duration.ts";
import type { Progress } from "../../core/progress.ts";
import { isTerminal } from "../../core/transitions.ts";
import { formatProgress, formatRate, shareOf } from "./amounts.ts";
import type { AmountForm } from "./amounts.ts";
import { cleanLine } from "./clean-text.ts";
import { tellCounts } from "./counts.ts";
import { chooseForm, LONGEST_BAR, LONGEST_NAME } from "./node-form.ts";
import type { NodeForm } from "./node-form.ts";
import type { Paint } from "./paint.ts";
import type { NodeRow } from "./run-board.ts";
import { STATUS_LOOKS } from "./status-look.ts";
import type { Style } from "./status-look.ts";
import { fit, fitMiddle, widthOf } from "./table.ts";

/** What the lines are drawn with. */
export interface DrawOptions {
  /** Columns that a line may take. */
  readonly width: number;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  readonly paint: Paint;
}

const GAP = 2;
/** Symbol and space. */
const LEAD = 2;

interface Column {
  readonly align: "left" | "right";
  readonly width: number;
  readonly texts: readonly string[];
  readonly style: (row: NodeRow) => Style | null;
}

/** One line for each node, its columns aligned among them; what does not fit the width is shortened, then left out. */
export function drawNodes(rows: readonly NodeRow[], { width, nowMs, paint }: DrawOptions): readonly string[] {
  const names = rows.map((row) => cleanLine(row.name, 400));
  const longest = Math.min(LONGEST_NAME, Math.max(1, ...names.map(widthOf)));
  const needed = (form: NodeForm): number => LEAD + Math.min(longest, form.name) + widthOfAll(columnsOf(rows, form, nowMs));
  const form = chooseForm((candidate) => needed(candidate) <= width);
  // What is left over goes to the names, then to the bar.
  const room = width - needed(form);
  const nameWidth = Math.max(1, Math.min(longest, Math.min(longest, form.name) + room));
  const left = Math.max(0, room - (longest - Math.min(longest, form.name)));
  const barWidth = form.bar === 0 ? 0 : Math.min(LONGEST_BAR, form.bar + left);
  const columns = columnsOf(rows, { ...form, bar: barWidth }, nowMs);
  return rows.map((row, index) => {
    const { symbol, style } = STATUS_LOOKS[row.status];
    const parts = columns.map((column) => {
      const text = " ".repeat(GAP) + fit(column.texts[index] ?? "", column.width, column.align);
      const look = column.style(row);
      return look === null || text.trim() === "" ? text : paint(look, text);
    });
    return `${paint(style, symbol)} ${fitMiddle(names[index] ?? "", nameWidth)}${parts.join("")}`;
  });
}

function widthOfAll(columns: readonly Column[]): number {
  return columns.reduce((sum, column) => sum + column.width + GAP, 0);
}

/** In the order in which they stand, after symbol and name; without those that are empty in every row. */
function columnsOf(rows: readonly NodeRow[], form: NodeForm, nowMs: number): readonly Column[] {
  const { amount, rate } = form;
  const column = (align: Column["align"], style: Column["style"], text: (row: NodeRow) => string, minWidth = 0, widest = text): Column => {
    const texts = rows.map(text);
    const width = Math.max(0, ...texts.map(widthOf), ...rows.map((row) => widthOf(widest(row))));
    return { align, style, texts, width: width === 0 ? 0 : Math.max(width, minWidth) };
  };
  const columns = [
    column(
      "left",
      (row) => STATUS_LOOKS[row.status].style,
      (row) => (form.status === "none" ? "" : row.status),
      form.status === "aligned" ? 10 : 0,
    ),
    column(
      "left",
      () => "cyan",
      (row) => bar(row, form.bar),
    ),
    column(
      "right",
      () => null,
      (row) => (amount === "none" ? "" : amountOf(row, row.progress, amount)),
      0,
      // So wide from the beginning as it will be in the end: the columns do not jump.
      (row) => (amount === "none" ? "" : amountOf(row, row.progress && { ...row.progress, done: row.progress.total ?? row.progress.done }, amount)),
    ),
    column(
      "left",
      () => null,
      (row) => (form.tally ? tally(row) : ""),
    ),
    column(
      "right",
      () => "dim",
      (row) => (rate === "none" || isTerminal(row.status) ? "" : formatRate(row.rate.perSecond(), rate)),
    ),
    column(
      "right",
      () => "dim",
      (row) => (form.eta ? eta(row) : ""),
    ),
    column(
      "right",
      () => "yellow",
      (row) => attempt(row, form.attempt),
    ),
    column(
      "right",
      () => "dim",
      (row) => (form.elapsed ? elapsed(row, nowMs) : ""),
      7,
    ),
  ];
  return columns.filter(({ width }) => width > 0);
}

/** A map's are items, and stand beside the counts of them: they need no unit. */
function amountOf({ items }: NodeRow, progress: Progress | null, form: AmountForm): string {
  if (items === null || progress === null || form === "percent") return formatProgress(progress, form);
  return formatProgress({ ...progress, unit: null }, form === "short" ? "full" : form);
}

/** `· 8 running · 2 failed`: of the items of a map. */
function tally({ items }: NodeRow): string {
  const told = items === null ? "" : tellCounts((status) => items.counts.get(status) ?? 0);
  return told === "" ? "" : `· ${told}`;
}

function bar(row: NodeRow, width: number): string {
  const share = shareOf(row.progress);
  if (share === null) return "";
  const full = Math.floor(share * width);
  return "━".repeat(full) + "─".repeat(width - full);
}

/** In whole seconds: more would only flicker. */
function eta(row: NodeRow): string {
  if (isTerminal(row.status) || row.progress === null || row.progress.total === null) return "";
  const leftMs = row.rate.etaMs(row.progress.total);
  return leftMs === null ? "" : `ETA ${formatDuration(Math.max(1, Math.ceil(leftMs / 1_000)) * 1_000)}`;
}

function attempt({ attempt: number, maxAttempts }: NodeRow, form: NodeForm["attempt"]): string {
  if (form === "none" || number === 0 || (number === 1 && (form === "short" || (maxAttempts ?? 1) <= 1))) return "";
  return `try ${number}/${Math.max(number, maxAttempts ?? number)}`;
}

function elapsed({ startedAt, endedAt }: NodeRow, nowMs: number): string {
  return startedAt === null ? "" : formatDuration(Math.max(0, (endedAt ?? nowMs) - startedAt));
}
