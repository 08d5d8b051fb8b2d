import { ConfigurationError, StoreError } from "../core/errors.ts";
import { HARD_LIMIT_BYTES, MAX_DEPTH, UNDEFINED_TEXT } from "./codec-format.ts";
import { plainText } from "./codec-plain.ts";
import { reviveValue } from "./codec-reader.ts";
import { TextTooLong, ValueWriter } from "./codec-writer.ts";

/** How a value is encoded. */
export interface CodecOptions {
  /** What the value is, for the paths in errors: `args`, `outcome`, `saved`. */
  readonly root: string;
  /** Longest text in bytes of UTF-8. Default and most: 256 MiB. */
  readonly maxBytes?: number;
}

/** A text is built up to this multiple of the limit, so that the error can tell the true size. */
const MEASURED_MULTIPLE = 8;

/** A text that might hold a tag, an own `__proto__`, or either of them behind escapes. */
const NEEDS_REVIVAL = /\$type|__proto__|\\u/;

/** The shortest text that can be nested too deep has twice as many brackets. */
const LONGEST_SHALLOW_TEXT = 2 * MAX_DEPTH;

/** No text of a number, boolean, null or undefined is longer. */
const LONGEST_SCALAR_TEXT = 64;

/** Most bytes that one UTF-16 unit of a string can take, the double escape of a lone surrogate included. */
const MAX_BYTES_PER_UNIT = 8;

/**
 * Writes a value as JSON: readable as it is where JSON can carry it, `{ "$type": …, … }` where it cannot.
 *
 * Comes back as it was: undefined (also in objects and arrays), NaN, ±Infinity, -0, bigint, any string, Date,
 * URL, RegExp (without `lastIndex`), Map, Set, Buffer, ArrayBuffer, DataView, typed arrays, plain objects
 * whatever their keys, in their order. Bytes are in the host's order, little endian nearly everywhere.
 *
 * Comes back changed: an Error is a plain `Error` with its name, message, stack, cause, errors and own
 * enumerable properties, never its class; an object without a prototype has one; an object of another realm is
 * one of this; holes of an array are undefined; what is shared is doubled; a key `__proto__` is dropped.
 * Not stored: non-enumerable properties, properties of an array beside its items, symbol keys of an Error.
 *
 * @throws ConfigurationError on functions, symbols, symbol keys, cycles, class instances (none is asked for its
 * `toJSON`), boxed primitives, getters that throw, more than 500 levels, each with the path
 * (`args[0].rows[3].fn`); and on a text beyond `maxBytes`. Source §5.6
 */
export function encodeValue(value: unknown, options: CodecOptions): string {
  const limitBytes = Math.min(options.maxBytes ?? HARD_LIMIT_BYTES, HARD_LIMIT_BYTES);
  const capUnits = Math.min(limitBytes * MEASURED_MULTIPLE, HARD_LIMIT_BYTES);
  const text = value === undefined ? UNDEFINED_TEXT : (plainText(value, capUnits) ?? taggedText(value, options.root, capUnits, limitBytes));
  // No UTF-16 unit takes more than 3 bytes.
  if (text.length * 3 > limitBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > limitBytes) {
      throw tooLarge(options.root, `${grouped(bytes)} bytes`, limitBytes);
    }
  }
  return text;
}

/**
 * Reads what `encodeValue` wrote. Drops each key `__proto__` and never builds a class by name.
 * @throws StoreError on text that is no JSON, an unknown or broken tag, or more than 500 levels. Source §5.6
 */
export function decodeValue(text: string): unknown {
  if (text === UNDEFINED_TEXT) {
    return undefined;
  }
  const value = parseJson(text);
  return text.length <= LONGEST_SHALLOW_TEXT && !NEEDS_REVIVAL.test(text) ? value : revived(value);
}

/**
 * A copy that shares nothing with the value and is what any store would give back: `decodeValue(encodeValue(…))`.
 * @throws as `encodeValue`
 */
export function copyValue(value: unknown, options: CodecOptions): unknown {
  const isWithoutParts = value === null || value === undefined || typeof value === "boolean" || typeof value === "number" || typeof value === "string";
  const longestBytes = LONGEST_SCALAR_TEXT + (typeof value === "string" ? value.length * MAX_BYTES_PER_UNIT : 0);
  if (isWithoutParts && longestBytes <= (options.maxBytes ?? HARD_LIMIT_BYTES)) {
    return value;
  }
  return decodeValue(encodeValue(value, options));
}

function taggedText(value: unknown, root: string, capUnits: number, limitBytes: number): string {
  try {
    return new ValueWriter(root, capUnits).write(value);
  } catch (error) {
    if (error instanceof TextTooLong) {
      throw tooLarge(root, `more than ${grouped(capUnits)} bytes`, limitBytes);
    }
    throw isStackOverflow(error)
      ? new ConfigurationError(`${root} cannot be stored: it is nested too deep for the stack that the caller left. Make the data flatter.`, { cause: error })
      : error;
  }
}

function revived(value: unknown): unknown {
  try {
    return reviveValue(value, 0);
  } catch (error) {
    throw isStackOverflow(error) ? new StoreError("a stored value is nested too deep for the stack that the caller left.", { cause: error }) : error;
  }
}

/** The depth limit is well within a default stack; a caller that is itself deep, or a thread with a small one, may leave less. */
function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new StoreError(`a stored value of ${grouped(text.length)} characters is no JSON: it was damaged.`, { cause });
  }
}

function tooLarge(root: string, size: string, limitBytes: number): ConfigurationError {
  return new ConfigurationError(
    `${root} cannot be stored: as JSON it takes ${size}, and the limit is ${grouped(limitBytes)} bytes. Keep large data in a file and pass its name.`,
  );
}

function grouped(count: number): string {
  return count.toLocaleString("en-US");
}
