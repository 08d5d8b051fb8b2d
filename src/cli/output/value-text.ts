import { inspect, isDeepStrictEqual } from "node:util";
import { describeValue } from "../../core/describe-value.ts";
import { cleanLine } from "./clean-text.ts";
import { toJson } from "./json-text.ts";

/**
 * A value of a task's for people, on one line: JSON where that says all of it, else as Node shows it, since JSON would
 * make `null` of `NaN` and text of a big integer. Never throws.
 */
export function valueText(value: unknown): string {
  return cleanLine(isJson(value) ? toJson(value) : inspected(value), 1_000);
}

function isJson(value: unknown): boolean {
  try {
    const text = JSON.stringify(value) as string | undefined;
    return text !== undefined && isDeepStrictEqual(JSON.parse(text), value);
  } catch {
    return false;
  }
}

function inspected(value: unknown): string {
  try {
    // The user's own `inspect` methods are not called: they could throw, and print.
    return inspect(value, { breakLength: Number.POSITIVE_INFINITY, compact: true, customInspect: false, depth: 5 });
  } catch {
    return describeValue(value);
  }
}
