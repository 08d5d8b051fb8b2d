import { ConfigurationError, InvalidTransition } from "../core/errors.ts";
import { verbsWithoutAttempt } from "../core/verbs.ts";
import type { Cell, NodePlace } from "./cell.ts";

/** The place of a node whose run has ended and is not kept: nothing of it can be driven any more. */
export const ENDED_RUN: NodePlace = {
  isOver: () => true,
  ended() {},
  upstream: async () => await Promise.reject(new ConfigurationError("the run of this node has ended: its upstream values are in the store only.")),
  args: () => undefined,
  start: (cell) => {
    throw endedRun(cell, "start");
  },
  reopen: (cell, verb) => {
    throw endedRun(cell, verb);
  },
};

/**
 * A node of it can be led to no attempt any more.
 * @param instead what the run can be asked
 */
export function endedRun({ taskId, snapshot }: Cell, requested: string, instead?: string): InvalidTransition {
  const allowed = verbsWithoutAttempt(snapshot);
  return new InvalidTransition({
    taskId,
    current: snapshot.status,
    requested,
    allowed,
    hint: `the run it belongs to has ended${instead === undefined ? "" : `: ${instead}`}`,
  });
}
