import type { OutcomeCounts } from "./aggregation.ts";
import { classOfOutcome, JOINS, judgeJoin, OUTCOMES } from "./join.ts";
import type { Join, JoinVerdict, Outcome, UpstreamTally } from "./join.ts";
import { judgeItems } from "./map-rules.ts";

/** How an upstream can stand: how it has ended, a map without items among them, or `open`. */
export const UPSTREAM_STATES = [...OUTCOMES, "empty map", "open"] as const;

/** How an upstream can stand. */
export type UpstreamState = (typeof UPSTREAM_STATES)[number];

/** One cell of the truth table: a join over two upstreams. */
export interface JoinCase {
  readonly join: Join;
  readonly upstreams: readonly [UpstreamState, UpstreamState];
  readonly verdict: JoinVerdict;
}

/** Each join over each pair of upstreams, order aside, `open` included: for the reference page and its test. */
export function joinTruthTable(): readonly JoinCase[] {
  return JOINS.flatMap((join) =>
    UPSTREAM_STATES.flatMap((first, index) =>
      UPSTREAM_STATES.slice(index).map((second): JoinCase => ({ join, upstreams: [first, second], verdict: judgeJoin(join, tallyOf([first, second])) })),
    ),
  );
}

const NO_ITEMS: OutcomeCounts = Object.freeze({ succeeded: 0, failed: 0, stopped: 0, cancelled: 0, skipped: 0, lost: 0, open: 0 });

function tallyOf(upstreams: readonly UpstreamState[]): UpstreamTally {
  const tally = { succeeded: 0, skipped: 0, failed: 0, open: 0 };
  for (const upstream of upstreams) tally[upstream === "open" ? "open" : classOfOutcome(outcomeOf(upstream))] += 1;
  return tally;
}

function outcomeOf(upstream: Exclude<UpstreamState, "open">): Outcome {
  return upstream === "empty map" ? judgeItems(NO_ITEMS, "fail") : upstream;
}
