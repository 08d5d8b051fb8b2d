import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isList } from "../core/options.ts";

/** The name of what a user has handed to `up`. */
export function nodeName(node: unknown): string {
  if (typeof node === "object" && node !== null && "name" in node && typeof node.name === "string") return node.name;
  throw new ConfigurationError(`up takes a node of this pipeline; found ${describeValue(node)}.`);
}

/** What a `when` has returned. */
export function checkedCondition(value: unknown): boolean {
  if (typeof value === "boolean") return value;
  ignoreRejection(value);
  throw new ConfigurationError(`when must return true or false, at once; it returned ${describeValue(value)}.`);
}

/** What an `args` or `items` function has returned. */
export function checkedArgs(value: unknown): readonly unknown[] {
  if (isList(value)) return value;
  ignoreRejection(value);
  throw new ConfigurationError(`args must return the tuple of arguments as an array; it returned ${describeValue(value)}.`);
}

/** An async function is refused where it stands; its own rejection would be nobody's. */
function ignoreRejection(value: unknown): void {
  if (value instanceof Promise) value.catch(() => undefined);
}
