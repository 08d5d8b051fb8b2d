import { ConfigurationError, InvalidTransition } from "../core/errors.ts";
import type { Cell, NodePlace } from "./cell.ts";

/** The place of a node whose run has ended and is not kept: nothing of it can be driven any more. */
export const ENDED_RUN: NodePlace = {
  ended() {},
  upstream: async () => await Promise.reject(new ConfigurationError("the run of this node has ended: its upstream values are in the store only.")),
  args: () => undefined,
  start: (cell) => refuse(cell, "start"),
  reopen: refuse,
};

function refuse(cell: Cell, verb: string): never {
  throw new InvalidTransition({ taskId: cell.taskId, current: cell.snapshot.status, requested: verb, allowed: [], hint: "the run it belongs to has ended" });
}
