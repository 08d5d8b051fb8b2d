import { MAX_DEPTH, TAG } from "./codec-format.ts";

const QUOTED_TAG = `"${TAG}"`;
const NOT_PLAIN = -1;

/**
 * The JSON of a value that needs no tag at all, else `null`. It decides fast and never wrongly says yes;
 * on no, `ValueWriter` tags the value or says what is wrong with it.
 * @param capUnits give up once the text must be longer than this
 */
export function plainText(value: unknown, capUnits: number): string | null {
  try {
    if (remaining(value, 0, capUnits) < 0) {
      return null;
    }
    const text = JSON.stringify(value);
    // Lone surrogates and U+0000 show as \u escapes in the text: cheaper than looking into each string and key.
    return text.includes("\\u") || text.includes(QUOTED_TAG) ? null : text;
  } catch {
    return null; // a getter or a proxy threw, or the text was too long for a string: ValueWriter names the place
  }
}

/** What is left of the budget after this value's least possible text; negative: not plain, or too long. */
function remaining(value: unknown, depth: number, budget: number): number {
  switch (typeof value) {
    case "string":
      return budget - value.length - 2;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? budget - 1 : NOT_PLAIN;
    case "boolean":
      return budget - 4;
    case "object":
      if (value === null) {
        return budget - 4;
      }
      // Cycles end here too. A getter or hidden toJSON would be called by JSON.stringify.
      if (depth >= MAX_DEPTH || "toJSON" in value || Object.getOwnPropertySymbols(value).length > 0) {
        return NOT_PLAIN;
      }
      return Array.isArray(value) ? remainingAfterArray(value, depth, budget) : remainingAfterObject(value, depth, budget);
    case "undefined":
    case "bigint":
    case "function":
    case "symbol":
      return NOT_PLAIN;
  }
}

function remainingAfterArray(value: readonly unknown[], depth: number, budget: number): number {
  if (Object.getPrototypeOf(value) !== Array.prototype) {
    return NOT_PLAIN;
  }
  let left = budget - 2;
  for (let index = 0; index < value.length && left >= 0; index += 1) {
    left = remaining(value[index], depth + 1, left);
  }
  return left;
}

function remainingAfterObject(value: object, depth: number, budget: number): number {
  if (!isPlainHere(value)) {
    return NOT_PLAIN;
  }
  let left = budget - 2;
  for (const key of Object.keys(value)) {
    left = remaining(value[key], depth + 1, left - key.length - 3);
    if (left < 0) {
      return left;
    }
  }
  return left;
}

/** Objects of another realm are plain too, but only the slow way knows them. */
function isPlainHere(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
