import { describeValue } from "../describe-value.ts";
import { ConfigurationError } from "../errors.ts";
import { checkInteger, checkOneOf, checkOptions, readPlainObject } from "../options.ts";
import { unreachable } from "../unreachable.ts";

/** What a pipeline makes of the outcomes of its nodes. A frozen, serialisable record. Source §3.3. */
export type AggregationPolicy =
  | { readonly kind: "fail_fast" }
  | { readonly kind: "all_settled" }
  | {
      readonly kind: "quorum";
      /** How many nodes have to succeed. */
      readonly count: number;
    };

const FAIL_FAST: AggregationPolicy = Object.freeze({ kind: "fail_fast" });
const ALL_SETTLED: AggregationPolicy = Object.freeze({ kind: "all_settled" });

/** The first node that ends `failed` or `lost` cancels all that is not terminal. The default. Source §3.3. */
export function failFast(): AggregationPolicy {
  return FAIL_FAST;
}

/** Everything that can run does; the verdict comes when all nodes are terminal. Source §3.3. */
export function allSettled(): AggregationPolicy {
  return ALL_SETTLED;
}

/**
 * The run succeeds once `count` nodes have succeeded; the rest settle. As soon as that can no longer be
 * reached, the rest is cancelled. Source §3.3.
 * @param count an integer of at least 1
 * @throws ConfigurationError for anything else
 */
export function quorum(count: number): AggregationPolicy {
  return Object.freeze({ kind: "quorum", count: checkInteger(count, "quorum(count)", 1) });
}

/**
 * Reads an aggregation policy, also one that comes from storage.
 * @param value `undefined` means `failFast()`
 * @throws ConfigurationError that names the option
 */
export function resolveAggregationPolicy(value: unknown, name = "onFailure"): AggregationPolicy {
  if (value === undefined) return FAIL_FAST;
  if (typeof value !== "object") {
    throw new ConfigurationError(`${name} must be failFast(), allSettled() or quorum(n); found ${describeValue(value)}.`);
  }
  const kind = checkOneOf(readPlainObject(value, name)["kind"], ["fail_fast", "all_settled", "quorum"], `${name}.kind`);
  const options = checkOptions(value, kind === "quorum" ? ["kind", "count"] : ["kind"], name);
  switch (kind) {
    case "fail_fast":
      return FAIL_FAST;
    case "all_settled":
      return ALL_SETTLED;
    case "quorum":
      return Object.freeze({ kind, count: checkInteger(options.count, `${name}.count`, 1) });
    default:
      return unreachable(kind);
  }
}
