import { formatDuration } from "../../core/duration.ts";
import type { AttemptFailed, TaskEvent, TaskLogLine, TaskOutput, TaskStatusChanged, TaskWarning } from "../../core/events.ts";
import { STATUS_FACTS } from "../../core/status.ts";
import type { TaskStatus } from "../../core/status.ts";
import { isTerminal } from "../../core/transitions.ts";
import { unreachable } from "../../core/unreachable.ts";
import { formatProgress, formatRate, shareOf } from "./amounts.ts";
import { tellCounts } from "./counts.ts";
import { cleanLine, cleanText } from "./clean-text.ts";
import type { Paint } from "./paint.ts";
import type { NodeRow } from "./run-board.ts";
import { userStall } from "./stack-frames.ts";
import { STATUS_LOOKS } from "./status-look.ts";
import { valueText } from "./value-text.ts";

/** How much is told. */
export interface LineOptions {
  readonly paint: Paint;
  /** Each step of each task, and log lines of level `debug`. */
  readonly verbose: boolean;
}

/** The steps that everybody passes through: told only when asked for. */
const QUIET_STEPS: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["pending", "blocked", "queued", "starting", "pausing"]);

/** An event in words, a line or more, each safe to show; none where it says nothing to a person. */
export function eventLines(event: TaskEvent, row: NodeRow | undefined, options: LineOptions): readonly string[] {
  const { paint, verbose } = options;
  switch (event.type) {
    case "TaskStatusChanged":
      return verbose || !(QUIET_STEPS.has(event.to) || endsAttempt(event)) ? [`${nameOf(event)} ${stepText(event, row, options)}`] : [];
    case "AttemptFailed":
      return [`${nameOf(event)} ${attemptText(event, row, paint)}`];
    case "TaskWarning":
      return [`${nameOf(event)} ${paint("yellow", "warning")} (${event.code}): ${cleanLine(warningText(event, verbose))}`];
    case "TaskLogLine":
      return event.level === "debug" && !verbose ? [] : logLines(event, paint);
    case "ProgressUpdated":
      return [`${nameOf(event)} ${progressText(row)}`];
    case "TaskOutput":
      return outputLines(event, paint);
    case "AdminOverride":
      return [`${nameOf(event)} set from ${event.from} to ${event.to} by ${cleanLine(event.actor, 100)}: ${cleanLine(event.reason)}`];
    case "PipelineRunStatusChanged":
      return [`run ${cleanLine(event.name)} ${paint(STATUS_LOOKS[event.to].style, event.to)}${why(event.reason)}`];
    case "TaskCreated":
    case "AttemptStarted":
    case "TaskHeartbeat":
      return [];
    default:
      return unreachable(event);
  }
}

/** Does the failed attempt follow, and tell it with its reason? */
function endsAttempt({ from, to, kind }: TaskStatusChanged): boolean {
  return kind === "transition" && (to === "failed" || to === "lost" || to === "retry_wait") && STATUS_FACTS[from].holdsSlot !== false;
}

function nameOf(event: { readonly node: string | null; readonly name: string }): string {
  return cleanLine(event.node ?? event.name);
}

function stepText({ from, to, trigger, actor, reason }: TaskStatusChanged, row: NodeRow | undefined, { paint, verbose }: LineOptions): string {
  const word = paint(STATUS_LOOKS[to].style, to);
  const attempt = to === "running" && row !== undefined && row.attempt > 1 ? ` (attempt ${attemptOf(row)})` : "";
  const details = verbose ? ` (from ${from}, ${cleanLine(trigger, 100)} by ${cleanLine(actor, 100)})` : "";
  return `${word}${attempt}${details}${why(reason ?? (isTerminal(to) && to !== "failed" ? (row?.endReason ?? null) : null))}`;
}

function warningText({ code, message }: TaskWarning, verbose: boolean): string {
  return code === "loop_stalled" && !verbose ? userStall(message) : message;
}

function why(reason: string | null): string {
  return reason === null ? "" : `: ${cleanLine(reason, 500)}`;
}

function attemptText({ attempt, failure, retryAt, at }: AttemptFailed, row: NodeRow | undefined, paint: Paint): string {
  const number = row === undefined ? String(attempt.attempt) : attemptOf(row);
  const message = cleanLine(failure.message, 1_000);
  if (retryAt !== null) return `attempt ${number} failed (${failure.kind}): ${message}; again in ${formatDuration(Math.max(0, retryAt - at))}`;
  const end = attempt.endedAs ?? "failed";
  const which = number === "1" || number === "1/1" ? "" : ` at attempt ${number}`;
  const kind = failure.kind === end ? "" : ` (${failure.kind})`;
  return `${paint(STATUS_LOOKS[end].style, end)}${which}${kind}: ${message}`;
}

function attemptOf({ attempt, maxAttempts: own, map }: NodeRow): string {
  const maxAttempts = own ?? map?.items?.maxAttempts ?? null;
  return maxAttempts === null ? String(attempt) : `${attempt}/${Math.max(attempt, maxAttempts)}`;
}

function logLines(event: TaskLogLine, paint: Paint): readonly string[] {
  const level = event.level === "info" ? "" : `${paint(event.level === "error" ? "red" : "yellow", event.level)} `;
  const fields = Object.keys(event.fields).length === 0 ? "" : ` ${paint("dim", valueText(event.fields))}`;
  const lines = saidLines(event, event.message, paint, level);
  return fields === "" ? lines : lines.with(-1, `${lines.at(-1) ?? ""}${fields}`);
}

/** What a thread or child prints looks like what it logs; values that a task emits have a kind. */
function outputLines(event: TaskOutput, paint: Paint): readonly string[] {
  const { kind, payload } = event;
  if ((kind === "stdout" || kind === "stderr") && typeof payload === "string") return saidLines(event, payload, paint);
  return [`${nameOf(event)} output ${cleanLine(kind, 100)}: ${valueText(payload)}`];
}

/** Each line of a text begins with the task's name: none can pass for a line of ours. */
function saidLines(event: TaskLogLine | TaskOutput, text: string, paint: Paint, mark = ""): readonly string[] {
  const head = `${nameOf(event)} ${paint("dim", "|")} ${mark}`;
  return cleanText(text)
    .trimEnd()
    .split("\n")
    .map((line) => `${head}${line}`);
}

function progressText(row: NodeRow | undefined): string {
  if (row === undefined || row.progress === null) return "progress";
  const share = shareOf(row.progress);
  const percent = share === null ? "" : `${Math.floor(share * 100)} %`;
  const message = row.progress.message === null ? "" : cleanLine(row.progress.message, 200);
  const { items } = row;
  const tally = items === null ? "" : tellCounts((status) => items.counts.get(status) ?? 0);
  return [percent, formatProgress(row.progress), formatRate(row.rate.perSecond()), tally, message].filter((part) => part !== "").join("  ");
}
