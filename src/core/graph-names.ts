import { describeValue } from "./describe-value.ts";
import { ConfigurationError } from "./errors.ts";

const MAX_LENGTH = 200;

/** Control characters, line and paragraph separators, lone surrogates, and what turns the direction of text. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

const ITEM_NAME = /^(.*)\[\d+\]$/su;

/**
 * Refuses a name that could not be shown on one line: empty or blank, over 200 characters, or with
 * characters that do not print.
 * @param what whose name it is, for the message
 * @throws ConfigurationError
 */
export function checkName(name: unknown, what: string): asserts name is string {
  const found = describeValue(name);
  if (typeof name !== "string") throw new ConfigurationError(`${what} must be text; found ${found}.`);
  if (name.trim() === "") throw new ConfigurationError(`${what} must not be empty; found ${found}.`);
  if (isLongerThan(name, MAX_LENGTH)) throw new ConfigurationError(`${what} must have at most ${MAX_LENGTH} characters; ${found} has more.`);
  if (UNPRINTABLE.test(name)) throw new ConfigurationError(`${what} must be printable on one line; found ${found}.`);
}

/**
 * Refuses a node's name that could not be shown on one line.
 * @throws ConfigurationError
 */
export function checkNodeName(name: unknown): void {
  checkName(name, "a node's name");
}

/** In characters, not in UTF-16 units. */
function isLongerThan(name: string, max: number): boolean {
  return name.length > 2 * max || (name.length > max && [...name].length > max);
}

/**
 * Refuses a node named like an item of a map node, such as `enrich[0]` beside the map `enrich`.
 * @throws ConfigurationError
 */
export function checkItemNames(names: Iterable<string>, mapNames: ReadonlySet<string>): void {
  if (mapNames.size === 0) return;
  for (const name of names) {
    const map = ITEM_NAME.exec(name)?.[1];
    if (map === undefined || !mapNames.has(map)) continue;
    throw new ConfigurationError(`node ${describeValue(name)} is named like an item of the map ${describeValue(map)}. Give one of them another name.`);
  }
}
