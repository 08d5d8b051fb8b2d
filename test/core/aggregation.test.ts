import { describe, expect, it } from "vitest";
import { cancelTrigger, checkAggregation, judgeRun } from "../../src/core/aggregation.ts";
import type { OutcomeCounts } from "../../src/core/aggregation.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { OUTCOMES } from "../../src/core/join.ts";
import { allSettled, failFast, quorum } from "../../src/core/policies/aggregation.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";

const NONE: OutcomeCounts = { succeeded: 0, failed: 0, stopped: 0, cancelled: 0, skipped: 0, lost: 0, open: 0 };

describe("judgeRun", () => {
  it.each([
    [{}, "succeeded"],
    [{ succeeded: 3 }, "succeeded"],
    [{ skipped: 3 }, "succeeded"],
    [{ succeeded: 2, cancelled: 1 }, "cancelled"],
    [{ succeeded: 2, cancelled: 1, stopped: 1 }, "stopped"],
    [{ succeeded: 2, cancelled: 1, stopped: 1, lost: 1 }, "failed"],
    [{ succeeded: 2, cancelled: 1, stopped: 1, failed: 1 }, "failed"],
  ] as const)("%j is %s without a quorum", (counts, verdict) => {
    expect(judgeRun(failFast(), { ...NONE, ...counts })).toBe(verdict);
    expect(judgeRun(allSettled(), { ...NONE, ...counts })).toBe(verdict);
  });

  it("lets a met quorum forgive everything", () => {
    expect(judgeRun(quorum(2), { ...NONE, succeeded: 2, failed: 5, lost: 1, stopped: 1, cancelled: 1 })).toBe("succeeded");
  });

  it.each([
    [{ succeeded: 1, failed: 1 }, "failed"],
    [{ succeeded: 1, stopped: 1 }, "stopped"],
    [{ succeeded: 1, cancelled: 1 }, "cancelled"],
    [{ succeeded: 1, skipped: 1 }, "succeeded"],
  ] as const)("%j is %s where the quorum of 2 was missed", (counts, verdict) => {
    expect(judgeRun(quorum(2), { ...NONE, ...counts })).toBe(verdict);
  });
});

describe("cancelTrigger", () => {
  it.each(OUTCOMES)("fail-fast and a node that ended %s", (outcome) => {
    const expected = outcome === "failed" || outcome === "lost" ? "pipeline:fail-fast" : null;
    expect(cancelTrigger(failFast(), { ...NONE, open: 1 }, outcome)).toBe(expected);
  });

  it.each(OUTCOMES)("never follows a node that ended %s where everything settles", (outcome) => {
    expect(cancelTrigger(allSettled(), { ...NONE, open: 1 }, outcome)).toBeNull();
  });

  it("gives a quorum up as soon as it is out of reach, and not before", () => {
    expect(cancelTrigger(quorum(3), { ...NONE, succeeded: 1, open: 2, failed: 9 }, "failed")).toBeNull();
    expect(cancelTrigger(quorum(3), { ...NONE, succeeded: 1, open: 1, skipped: 1 }, "skipped")).toBe("pipeline:quorum-unreachable");
    expect(cancelTrigger(quorum(3), { ...NONE, succeeded: 3, failed: 2 }, "failed")).toBeNull();
  });

  it("refuses an unknown policy", () => {
    const unknown = { kind: "best_effort" } as unknown as AggregationPolicy;
    expect(() => cancelTrigger(unknown, NONE, "failed")).toThrow("unreachable");
  });
});

describe("checkAggregation", () => {
  it("refuses a quorum larger than the pipeline", () => {
    expect(() => checkAggregation(quorum(3), 2)).toThrow(ConfigurationError);
    expect(() => checkAggregation(quorum(3), 2)).toThrow("quorum(3) can never be met: the pipeline has 2 nodes");
    expect(() => checkAggregation(quorum(2), 1)).toThrow("has 1 node.");
  });

  it("takes every other policy, also for an empty pipeline", () => {
    for (const policy of [failFast(), allSettled()]) expect(() => checkAggregation(policy, 0)).not.toThrow();
    expect(() => checkAggregation(quorum(2), 2)).not.toThrow();
  });
});
