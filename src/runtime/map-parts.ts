import type { Clock } from "../core/ports/clock.ts";
import type { LaunchRequest, Settlement, StopRequest } from "../core/ports/executor.ts";
import type { Cell, NodePlace } from "./cell.ts";
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
  readonly place: NodePlace;
  readonly plan: NodePlan;
  readonly map: MapPlan;
  readonly runId: string;
  /** An item that fails cancels the others, and is a failure of the run at once. */
  readonly failsFast: boolean;
  /** It is certain to fail. */
  readonly isFailing: () => void;
  /** None of its items is open any more. */
  readonly itemsEnded: () => void;
  /** Told of each item that is made. */
  readonly adopt: (cell: Cell) => unknown;
}

/** One time that the map goes through its items. */
export interface Round {
  readonly request: LaunchRequest;
  readonly settle: (settlement: Settlement) => void;
  running: boolean;
  /** All its items are there, and those that are to run again are on their way. */
  isReady: boolean;
  /** It was asked to end. */
  stop: StopRequest | null;
  /** An item has failed, and the others were cancelled for that. */
  isFailing: boolean;
  /** Why its items could not be made. */
  problem: unknown;
}
