import type { FailureChain, MapSummary } from "../../api/run-summary.ts";
import { formatDuration } from "../../core/duration.ts";
import type { Failure } from "../../core/failure.ts";
import { ITEMS_FAILED } from "../../core/map-rules.ts";
import type { StatusCounts } from "../../core/ports/store.ts";
import type { RunStatus, TaskStatus } from "../../core/status.ts";
import { cleanLine } from "./clean-text.ts";
import { formatCounts } from "./counts.ts";
import type { Paint } from "./paint.ts";
import { stackFrames } from "./stack-frames.ts";
import { styleOf } from "./status-look.ts";
import { valueText } from "./value-text.ts";

/** How a run, or a task on its own, has ended: from what is stored. Instants are epoch milliseconds. */
export interface EndSummary {
  readonly kind: "run" | "task";
  readonly id: string;
  readonly name: string;
  readonly status: RunStatus | TaskStatus;
  readonly total: number;
  readonly counts: StatusCounts;
  /** The maps of a run, with their items. */
  readonly maps: readonly MapSummary[];
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attempt: number | null;
  readonly maxAttempts: number | null;
  readonly firstFailure: FailureChain | null;
  /** What a task returned. */
  readonly outcome: unknown;
  /** Why a task that succeeded has no outcome to read; `null` where it has, and for a run. */
  readonly outcomeMissing: string | null;
  readonly exitCode: number;
}

/** How the last lines are drawn. */
export interface SummaryOptions {
  readonly paint: Paint;
  /** Whole stacks. */
  readonly verbose: boolean;
}

const STACK_LINES = 3;
const MAX_AFFECTED = 10;

/** The first failure chain where something failed, what a task returned, and a last line with the counts by status. */
export function drawSummary(summary: EndSummary, options: SummaryOptions): readonly string[] {
  const { kind, id, name, status, startedAt, endedAt, counts } = summary;
  const took = formatDuration(Math.max(0, endedAt - startedAt));
  const verdict = options.paint(styleOf(status), status);
  return [
    ...drawFailure(summary, options),
    ...resultLines(summary),
    ...summary.maps.map((map) => `map ${cleanLine(map.node)} ${options.paint(styleOf(map.status), map.status)}: ${itemText(map)}`),
    `${kind} ${cleanLine(name)} (${id.slice(0, 8)}) ${verdict} in ${took}: ${formatCounts((each) => counts[each])}`,
  ];
}

function itemText({ total, counts }: MapSummary): string {
  return total === 0 ? "no items" : `${total} ${total === 1 ? "item" : "items"}: ${formatCounts((status) => counts[status])}`;
}

function resultLines({ kind, status, outcome, outcomeMissing }: EndSummary): readonly string[] {
  if (kind === "run" || (outcome === undefined && status !== "succeeded")) return [];
  return [`result: ${outcomeMissing === null ? valueText(outcome) : `not kept: ${cleanLine(outcomeMissing, 1_000)}`}`];
}

/** A run may have succeeded all the same: by a quorum. */
function drawFailure({ kind: ended, status: verdict, firstFailure: chain }: EndSummary, options: SummaryOptions): readonly string[] {
  if (chain === null) return [];
  const { paint, verbose } = options;
  const { node, status, failure, affected } = chain;
  const isForgiven = ended === "run" && verdict === "succeeded";
  const kind = failure === null ? "" : ` (${failure.kind})`;
  const message = failure === null ? "no reason is on record" : `${failure.name === failure.kind ? "" : nameBefore(failure)}${cleanLine(failure.message)}`;
  const more = affected.length > MAX_AFFECTED ? ` and ${affected.length - MAX_AFFECTED} more` : "";
  const named = affected.slice(0, MAX_AFFECTED).map((each) => cleanLine(each, 200));
  return [
    `${isForgiven ? paint("yellow", "forgiven:") : paint("red", `${status}:`)} ${cleanLine(node)}${kind}: ${message}`,
    ...stackLines(failure?.stack ?? null, verbose).map((line) => paint("dim", `  ${line}`)),
    ...(failure === null ? [] : causeLines(failure, options)),
    ...(affected.length === 0 ? [] : [`  brought down: ${named.join(", ")}${more}`]),
  ];
}

/** The causes of a map's failure are no chain: each is why some of its items failed, and they mostly come from one place. */
function causeLines({ name: failed, causes }: Failure, { paint, verbose }: SummaryOptions): readonly string[] {
  const areItems = failed === ITEMS_FAILED;
  let before = "";
  return causes.flatMap((cause) => {
    const stack = stackLines(cause.stack, verbose);
    const isTold = areItems && stack.join("\n") === before;
    before = stack.join("\n");
    return [
      `  ${areItems ? "" : "caused by "}${nameBefore(cause)}${cleanLine(cause.message)}`,
      ...(isTold ? [] : stack.map((line) => paint("dim", `    ${line}`))),
    ];
  });
}

function nameBefore({ name }: { readonly name: string }): string {
  return name === "" || name === "Error" ? "" : `${cleanLine(name, 100)}: `;
}

/** Where it was thrown: the frames alone, since the message is told already. */
function stackLines(stack: string | null, verbose: boolean): readonly string[] {
  return verbose ? stackFrames(stack, "all") : stackFrames(stack, "user").slice(0, STACK_LINES);
}
