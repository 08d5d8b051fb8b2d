import type { TaskEvent } from "../../core/events.ts";
import { eventLines } from "./event-lines.ts";
import type { LineOptions } from "./event-lines.ts";
import type { NodeRow } from "./run-board.ts";

/** Of one map. */
const MOST_FAILURES = 20;

/**
 * The lines of an event as they are told beside the nodes. Of the items of a map only what they say themselves is told, and why
 * the first of them failed: how many there are of each kind stands in the line of the map. All of it where `verbose` is asked.
 */
export function tellEvent(event: TaskEvent, row: NodeRow | undefined, options: LineOptions): readonly string[] {
  const items = row?.map?.items ?? null;
  if (items === null || options.verbose) return eventLines(event, row, options);
  if (event.type === "TaskStatusChanged" || event.type === "ProgressUpdated") return [];
  if (event.type !== "AttemptFailed") return eventLines(event, row, options);
  items.failuresTold += 1;
  if (items.failuresTold <= MOST_FAILURES) return eventLines(event, row, options);
  return items.failuresTold > MOST_FAILURES + 1 ? [] : [`${row?.map?.name ?? ""}: what fails of its items beyond these ${MOST_FAILURES} is only counted`];
}
