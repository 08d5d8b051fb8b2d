import { InvalidTransition } from "../core/errors.ts";
import type { By } from "../core/lifecycle-events.ts";
import { isTerminal } from "../core/transitions.ts";
import type { Cell } from "./cell.ts";
import type { Lifecycle } from "./lifecycle.ts";

/** The map was reset, or what is above it ran again: the item runs again with what stands in its place now. */
export function renewItem(lifecycle: Lifecycle, cell: Cell, { value, by, force }: { readonly value: unknown; readonly by: By; readonly force: boolean }): void {
  if (!isTerminal(cell.snapshot.status)) throw itemRefusal(cell, "rerun", "it has not ended since the map was forced away from it");
  lifecycle.hold(cell);
  const args = [value];
  // What it saved belongs to what stood there before.
  cell.save(undefined);
  const refused = lifecycle.applyAll(
    cell,
    [
      { type: "rerun", ...by, force },
      { type: "enqueue", ...by },
    ],
    { args },
  );
  if (refused !== null) throw refused;
  cell.args = args;
  cell.error = undefined;
}

/** Why the item cannot be asked that. */
export function itemRefusal({ taskId, snapshot }: Cell, requested: string, hint: string): InvalidTransition {
  return new InvalidTransition({ taskId, current: snapshot.status, requested, allowed: [], hint });
}
