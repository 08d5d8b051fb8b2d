import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { isList } from "../core/options.ts";

/** The options that carry arguments. */
export interface ArgumentFlags {
  /** A JSON array: the tuple of arguments. */
  readonly args?: string;
  /** `key=value` each: together one object, the first argument. */
  readonly arg?: readonly string[];
}

/**
 * Reads the arguments for a task or pipeline from `--args` or `--arg`.
 * @throws ConfigurationError
 */
export function readArguments({ args, arg }: ArgumentFlags): readonly unknown[] {
  if (args !== undefined && arg !== undefined) throw new ConfigurationError("--args and --arg exclude each other. Give the whole tuple with --args.");
  if (args !== undefined) return readTuple(args);
  return arg === undefined ? [] : [readPairs(arg)];
}

function readTuple(text: string): readonly unknown[] {
  const value = parseJson(text);
  if (value === undefined) throw new ConfigurationError(`--args must be a JSON array such as '["2026-12-01", 3]'; found ${describeValue(text)}.`);
  if (!isList(value.parsed))
    throw new ConfigurationError(`--args must be a JSON array, the tuple of arguments; found ${describeValue(value.parsed)}. Try '[…]' around it.`);
  return value.parsed;
}

function readPairs(pairs: readonly string[]): Readonly<Record<string, unknown>> {
  const entries = new Map<string, unknown>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    if (at <= 0) throw new ConfigurationError(`--arg must be key=value; found ${describeValue(pair)}.`);
    const key = pair.slice(0, at);
    if (entries.has(key)) throw new ConfigurationError(`--arg gives ${describeValue(key)} twice. Give a list as JSON: --arg '${key}=[1, 2]'.`);
    const text = pair.slice(at + 1);
    const value = parseJson(text);
    entries.set(key, value === undefined ? text : value.parsed);
  }
  // Defines each key as the object's own, `__proto__` too.
  return Object.fromEntries(entries);
}

function parseJson(text: string): { readonly parsed: unknown } | undefined {
  try {
    return { parsed: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Reads an integer from an option's text. @throws ConfigurationError */
export function readInteger(text: string | undefined, name: string, min: number): number | undefined {
  if (text === undefined) return undefined;
  const value = /^[+-]?\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min) return value;
  throw new ConfigurationError(`${name} must be an integer${min > Number.MIN_SAFE_INTEGER ? ` of at least ${min}` : ""}; found ${describeValue(text)}.`);
}
