import type { Clock } from "../core/ports/clock.ts";
import type { Cell } from "./cell.ts";
import type { Control } from "./control.ts";
import type { Journal } from "./journal.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { MapPlan, NodePlan } from "./run-plan.ts";

/** What a map works with. */
export interface MapParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly lifecycle: Lifecycle;
  readonly control: Control;
}

/** The node that is a map. */
export interface MapNode {
  readonly cell: Cell;
  readonly plan: NodePlan;
  readonly map: MapPlan;
  readonly runId: string;
  /** An item that fails cancels the others, and is a failure of the run at once. */
  readonly failsFast: boolean;
  /** It is certain to fail. */
  readonly isFailing: () => void;
  /** Told of each item that is made. */
  readonly adopt: (cell: Cell) => unknown;
}
