import { describeValue } from "../../core/describe-value.ts";

/** C1 controls, line separators and what turns the direction of writing: JSON allows them, a terminal should not see them. */
const UNSAFE = /[\u007f-\u009f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/g;

/**
 * Any value as JSON on one line: what JSON does not know is told in words that do least harm (a big integer as its
 * digits, a map as its entries, an error as its name and message, a cycle as `"[Circular]"`). Never throws.
 */
export function toJson(value: unknown): string {
  return (write(value) ?? "null").replaceAll(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function write(value: unknown): string | undefined {
  try {
    return JSON.stringify(value, plain());
  } catch {
    return JSON.stringify(describeValue(value));
  }
}

/** A replacer that knows the objects it stands in. */
function plain(): (this: unknown, key: string, value: unknown) => unknown {
  const above: { readonly value: object; readonly shown: object }[] = [];
  return function replace(this: unknown, _key: string, value: unknown): unknown {
    if (typeof value === "bigint") return String(value);
    if (typeof value !== "object" || value === null) return value;
    // `this` is what holds the value: whatever was entered after it has been left.
    while (above.length > 0 && above.at(-1)?.shown !== this) above.pop();
    if (above.some((entry) => entry.value === value)) return "[Circular]";
    const shown = asPlain(value);
    above.push({ value, shown });
    return shown;
  };
}

function asPlain(value: object): object {
  if (value instanceof Map) return Array.from<unknown>(value.entries());
  if (value instanceof Set) return Array.from<unknown>(value.values());
  if (value instanceof Error) return { name: value.name, message: value.message };
  return value;
}
