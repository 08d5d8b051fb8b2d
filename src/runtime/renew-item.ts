import { InvalidTransition } from "../core/errors.ts";
import type { By, LifecycleEvent } from "../core/lifecycle-events.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { isTerminal, REVIVABLE } from "../core/transitions.ts";
import { verbsWithoutAttempt } from "../core/verbs.ts";
import type { Cell } from "./cell.ts";
import type { Lifecycle } from "./lifecycle.ts";

/**
 * The map was reset, or what is above it ran again: the item runs again with what stands in its place now. One that a person
 * has begun again meanwhile, and that waits, is taken along.
 */
export function renewItem(lifecycle: Lifecycle, cell: Cell, { value, by, force }: { readonly value: unknown; readonly by: By; readonly force: boolean }): void {
  if (holdsSlot(cell.snapshot)) throw itemRefusal(cell, "rerun", "it has not ended since the map was forced away from it");
  lifecycle.hold(cell);
  const args = [value];
  // What it saved belongs to what stood there before.
  cell.save(undefined);
  const refused = lifecycle.applyAll(cell, [...backToStart(cell, { by, force }), { type: "enqueue", ...by }], { args });
  if (refused !== null) throw refused;
  cell.args = args;
  cell.error = undefined;
}

function backToStart({ snapshot }: Cell, { by, force }: { readonly by: By; readonly force: boolean }): readonly LifecycleEvent[] {
  if (isTerminal(snapshot.status)) return [{ type: "rerun", ...by, force }];
  return snapshot.status === "pending" ? [] : [{ type: "reset", ...by, force }];
}

/** The item alone is to run again: one that did not succeed goes on with what it saved. */
export function retryItem(lifecycle: Lifecycle, cell: Cell, { by, force }: { readonly by: By; readonly force: boolean }): void {
  if (!REVIVABLE.has(cell.snapshot.status)) {
    renewItem(lifecycle, cell, { value: cell.args?.[0], by, force });
    return;
  }
  lifecycle.hold(cell);
  const refused = lifecycle.apply(cell, { type: "retry", ...by, force });
  if (refused !== null) throw refused;
  cell.error = undefined;
}

/** Why the item cannot be asked that. */
export function itemRefusal({ taskId, snapshot }: Cell, requested: string, hint: string): InvalidTransition {
  return new InvalidTransition({ taskId, current: snapshot.status, requested, allowed: verbsWithoutAttempt(snapshot), hint });
}
