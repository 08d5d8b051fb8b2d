import { StoreError } from "../core/errors.ts";
import type { BinaryName, TagName } from "./codec-format.ts";
import { BINARY_NAMES, ERROR_FIELDS, MAX_DEPTH, TAG } from "./codec-format.ts";

type JsonObject = Record<string, unknown>;
type Reader = (tagged: JsonObject, depth: number) => unknown;

const NUMBERS: ReadonlyMap<unknown, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
  ["-0", -0],
]);

const BINARY_READERS = {
  ArrayBuffer: (bytes) => bytes,
  Buffer: (bytes) => Buffer.from(bytes),
  DataView: (bytes) => new DataView(bytes),
  Int8Array: (bytes) => new Int8Array(bytes),
  Uint8Array: (bytes) => new Uint8Array(bytes),
  Uint8ClampedArray: (bytes) => new Uint8ClampedArray(bytes),
  Int16Array: (bytes) => new Int16Array(bytes),
  Uint16Array: (bytes) => new Uint16Array(bytes),
  Int32Array: (bytes) => new Int32Array(bytes),
  Uint32Array: (bytes) => new Uint32Array(bytes),
  // Node 22 has none: there it throws, and the tag is reported as one that cannot be read.
  Float16Array: (bytes) => Reflect.construct(Reflect.get(globalThis, "Float16Array"), [bytes]),
  Float32Array: (bytes) => new Float32Array(bytes),
  Float64Array: (bytes) => new Float64Array(bytes),
  BigInt64Array: (bytes) => new BigInt64Array(bytes),
  BigUint64Array: (bytes) => new BigUint64Array(bytes),
} satisfies Record<BinaryName, (bytes: ArrayBuffer) => unknown>;

const PLAIN_READERS = {
  undefined: () => undefined,
  number: readNumber,
  bigint: readBigInt,
  string: readString,
  object: readObject,
  Date: readDate,
  URL: (tagged) => new URL(textOf(tagged, "value")),
  RegExp: readRegExp,
  Map: (tagged, depth) => new Map(pairsOf(tagged, "value").map(([key, item]) => [reviveValue(key, depth + 1), reviveValue(item, depth + 1)])),
  Set: (tagged, depth) => new Set(listOf(tagged, "value").map((item) => reviveValue(item, depth + 1))),
  Error: readError,
} satisfies Record<Exclude<TagName, BinaryName>, Reader>;

const READERS: ReadonlyMap<unknown, Reader> = new Map<unknown, Reader>([
  ...Object.entries(PLAIN_READERS),
  ...BINARY_NAMES.map((name): [string, Reader] => [name, (tagged) => BINARY_READERS[name](bytesOf(tagged))]),
]);

/**
 * Turns what `JSON.parse` gave into the value it stands for, in place where no tag is in the way.
 * @throws StoreError on an unknown or broken tag, or nesting beyond `MAX_DEPTH`
 */
export function reviveValue(value: unknown, depth: number): unknown {
  // A tagged scalar may stand inside the deepest container that the writer allows.
  if (depth > MAX_DEPTH && typeof value === "object") {
    throw new StoreError(`the stored value is nested more than ${MAX_DEPTH} levels deep: it was not written by this store, or it was damaged.`);
  }
  if (isJsonObject(value)) {
    return Object.hasOwn(value, TAG) ? readTagged(value, depth) : reviveFields(value, depth);
  }
  return Array.isArray(value) ? reviveItems(value, depth) : value;
}

function reviveItems(items: unknown[], depth: number): unknown[] {
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    if (typeof item === "object" && item !== null) {
      items[index] = reviveValue(item, depth + 1);
    }
  }
  return items;
}

function reviveFields(fields: JsonObject, depth: number): JsonObject {
  if (Object.hasOwn(fields, "__proto__")) {
    delete fields["__proto__"];
  }
  for (const key of Object.keys(fields)) {
    const field = fields[key];
    if (typeof field === "object" && field !== null) {
      fields[key] = reviveValue(field, depth + 1);
    }
  }
  return fields;
}

function readTagged(tagged: JsonObject, depth: number): unknown {
  const tag = tagged[TAG];
  const reader = READERS.get(tag);
  if (reader === undefined) {
    throw new StoreError(`the stored value has the unknown tag ${JSON.stringify(tag)}: it was written by a newer version, or it was damaged.`);
  }
  try {
    return reader(tagged, depth);
  } catch (cause) {
    if (cause instanceof StoreError) {
      throw cause;
    }
    throw new StoreError(`the stored value has a ${String(tag)} that cannot be read: it was damaged, or this version of Node has no such type.`, { cause });
  }
}

function readNumber(tagged: JsonObject): number {
  return NUMBERS.get(tagged["value"]) ?? broken("a number that needs no tag");
}

function readString(tagged: JsonObject): unknown {
  const text: unknown = JSON.parse(`"${textOf(tagged, "value")}"`);
  return text;
}

function readBigInt(tagged: JsonObject): bigint {
  const text = textOf(tagged, "value");
  return /^-?\d+$/.test(text) ? BigInt(text) : broken("a bigint that is no whole number");
}

function readDate(tagged: JsonObject): Date {
  if (tagged["value"] === null) {
    return new Date(Number.NaN);
  }
  const date = new Date(textOf(tagged, "value"));
  return Number.isNaN(date.getTime()) ? broken("a Date that is none") : date;
}

function readRegExp(tagged: JsonObject, depth: number): RegExp {
  const source = reviveValue(tagged["source"], depth);
  return typeof source === "string" ? new RegExp(source, textOf(tagged, "flags")) : broken("a RegExp without a source");
}

function readObject(tagged: JsonObject, depth: number): object {
  const object = {};
  for (const [storedKey, item] of pairsOf(tagged, "entries")) {
    const key = reviveValue(storedKey, depth);
    if (typeof key !== "string") {
      return broken("an object with a key that is no text");
    }
    if (key !== "__proto__") {
      define(object, key, reviveValue(item, depth + 1), true);
    }
  }
  return object;
}

/** Always a plain Error that goes by the stored name: a class is never looked up by name. */
function readError(tagged: JsonObject, depth: number): Error {
  const error = new Error();
  define(error, "stack", undefined, false);
  for (const field of ERROR_FIELDS) {
    if (Object.hasOwn(tagged, field)) {
      define(error, field, reviveValue(tagged[field], depth + 1), false);
    }
  }
  const props = reviveValue(tagged["props"] ?? {}, depth);
  for (const [key, item] of Object.entries(typeof props === "object" && props !== null ? props : broken("an Error whose properties are no object"))) {
    define(error, key, item, true);
  }
  return error;
}

function define(target: object, key: string, value: unknown, enumerable: boolean): void {
  Object.defineProperty(target, key, { value, enumerable, writable: true, configurable: true });
}

function bytesOf(tagged: JsonObject): ArrayBuffer {
  const text = textOf(tagged, "value");
  const bytes = Buffer.from(text, "base64");
  // Buffer.from skips what is no base64, so damage shows as a length that does not fit.
  const padding = text.endsWith("==") ? 2 : Number(text.endsWith("="));
  if (bytes.length !== (text.length / 4) * 3 - padding) {
    return broken("bytes that are no base64");
  }
  return new Uint8Array(bytes).buffer;
}

function textOf(tagged: JsonObject, field: string): string {
  const text = tagged[field];
  return typeof text === "string" ? text : broken(`a tag whose ${field} is no text`);
}

function listOf(tagged: JsonObject, field: string): readonly unknown[] {
  const list = tagged[field];
  return isList(list) ? list : broken(`a tag whose ${field} is no list`);
}

function pairsOf(tagged: JsonObject, field: string): readonly (readonly unknown[])[] {
  return listOf(tagged, field).map((pair) => (isList(pair) && pair.length === 2 ? pair : broken(`a tag whose ${field} are no pairs`)));
}

function broken(what: string): never {
  throw new StoreError(`the stored value holds ${what}: it was damaged.`);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
