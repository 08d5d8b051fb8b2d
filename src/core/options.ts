import { describeValue } from "./describe-value.ts";
import { ConfigurationError } from "./errors.ts";
import { nearestNames } from "./nearest.ts";

/** The own properties of an options object, without a prototype. */
export type Options<Key extends string> = Readonly<Partial<Record<Key, unknown>>>;

/**
 * Reads an options object: a plain object with known keys only. `undefined` counts as an empty one.
 * The answer is a copy of the own properties and has no prototype, so whatever was put on
 * `Object.prototype` is not taken for an option.
 * @param name how the option is called in messages, e.g. `retry`
 * @param inside the options of those options that are objects themselves: one that stands a level too high is shown its place
 * @throws ConfigurationError for another type, or an unknown key (its place or the nearest known one is shown)
 */
export function checkOptions<const Key extends string>(
  value: unknown,
  allowedKeys: readonly Key[],
  name: string,
  inside?: Readonly<Partial<Record<Key, readonly string[]>>>,
): Options<Key> {
  const options: Record<string, unknown> = readPlainObject(value, name);
  const known: readonly string[] = allowedKeys;
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown === undefined) return options as Options<Key>;
  const hint = placeHint(unknown, inside ?? {}) || nearHint(unknown, allowedKeys);
  throw new ConfigurationError(`${name} has no option ${describeValue(unknown)}.${hint} Known: ${allowedKeys.join(", ")}.`);
}

function placeHint(key: string, inside: Readonly<Partial<Record<string, readonly string[]>>>): string {
  const places = Object.entries(inside).flatMap(([place, keys]) => (keys?.includes(key) === true ? [`${place}: { ${key} }`] : []));
  return places.length === 0 ? "" : ` It belongs one level deeper: ${places.join(" or ")}.`;
}

/** The nearest of the words, where one is near: a sentence with a space before it. */
function nearHint(given: string, words: readonly string[], aliases: Readonly<Record<string, string>> = {}): string {
  return nearestNames(given, [...words, ...Object.keys(aliases)], 1)
    .map((word) => ` Did you mean "${aliases[word] ?? word}"?`)
    .join("");
}

/**
 * The own properties of a plain object as a record without a prototype; `undefined` counts as `{}`.
 * @throws ConfigurationError for anything else: `null`, arrays, functions, promises, instances of classes
 */
export function readPlainObject(value: unknown, name: string): Record<string, unknown> {
  if (value === undefined) return withoutPrototype({});
  try {
    if (isPlainObject(value)) return withoutPrototype(value);
  } catch (error) {
    throw new ConfigurationError(`${name} could not be read: ${describeValue(value)}.`, { cause: error });
  }
  throw new ConfigurationError(`${name} must be a plain object; found ${describeValue(value)}.`);
}

/** The spread defines what it copies, so an own `__proto__` is a key like any other. */
function withoutPrototype(value: object): Record<string, unknown> {
  return { __proto__: null, ...value };
}

/** Objects of other realms included: their `Object.prototype` is not ours. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Reads an integer of at least `min`, exactly as given: text and fractions are refused, nothing is rounded.
 * @throws ConfigurationError
 */
export function checkInteger(value: unknown, name: string, min: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= min) return value;
  const bound = min === Number.MIN_SAFE_INTEGER ? "" : ` of at least ${min}`;
  throw new ConfigurationError(`${name} must be an integer${bound}; found ${describeValue(value)}.`);
}

/**
 * Reads one of a few words.
 * @param aliases other names of theirs: not taken, but what looks like one of them is answered with the word
 * @throws ConfigurationError that lists them, and shows the nearest
 */
export function checkOneOf<const Word extends string>(
  value: unknown,
  words: readonly Word[],
  name: string,
  aliases: Readonly<Record<string, NoInfer<Word>>> = {},
): Word {
  const found = words.find((word) => word === value);
  if (found !== undefined) return found;
  throw new ConfigurationError(
    `${name} must be one of ${words.map((word) => `"${word}"`).join(", ")}; found ${describeValue(value)}.${typeof value === "string" ? nearHint(value, words, aliases) : ""}`,
  );
}

/**
 * Reads `true` or `false`; nothing else is taken for one of them.
 * @throws ConfigurationError
 */
export function checkBoolean(value: unknown, name: string): boolean {
  if (typeof value === "boolean") return value;
  throw new ConfigurationError(`${name} must be true or false; found ${describeValue(value)}.`);
}

/** `Array.isArray` that answers with `unknown` items instead of `any`. */
export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
