import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { allSettled, failFast, quorum, resolveAggregationPolicy } from "../../src/core/policies/aggregation.ts";

describe("aggregation policies", () => {
  it("are frozen, serialisable records", () => {
    for (const policy of [failFast(), allSettled(), quorum(2)]) {
      expect(Object.isFrozen(policy)).toBe(true);
      expect(resolveAggregationPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
    }
    expect(quorum(2)).toEqual({ kind: "quorum", count: 2 });
  });

  it("fail fast by default", () => {
    expect(resolveAggregationPolicy(undefined)).toEqual({ kind: "fail_fast" });
  });

  it.each([0, -1, 1.5, NaN, Infinity])("quorum refuses %s", (count) => {
    expect(() => quorum(count)).toThrow(/^quorum\(count\) must be an integer of at least 1; found/);
    expect(() => resolveAggregationPolicy({ kind: "quorum", count })).toThrow("onFailure.count must be");
  });

  it.each([null, "fail_fast", failFast, 3, [], {}, { kind: "first" }, { kind: "quorum" }, { kind: "fail_fast", count: 1 }, { kind: "quorum", count: 1, n: 2 }])(
    "refuses %s",
    (value) => {
      expect(() => resolveAggregationPolicy(value, "nightly.onFailure")).toThrow(ConfigurationError);
      expect(() => resolveAggregationPolicy(value, "nightly.onFailure")).toThrow(/^nightly\.onFailure/);
    },
  );
});
