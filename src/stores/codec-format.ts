/** The key that makes a JSON object a tagged value: `{ "$type": "Date", "value": … }`. */
export const TAG = "$type";

/** Containers nested deeper than this are refused, both ways: a walk this deep takes half of a default stack. */
export const MAX_DEPTH = 500;

/** No text is longer than this, whatever the caller's limit: a JavaScript string ends at 512 MiB. */
export const HARD_LIMIT_BYTES = 256 * 1024 * 1024;

/** The whole text of a stored `undefined`. */
export const UNDEFINED_TEXT = `{"${TAG}":"undefined"}`;

/** The buffers and views that are stored as base64, by constructor name. */
export const BINARY_NAMES = [
  "Buffer",
  "ArrayBuffer",
  "DataView",
  "Int8Array",
  "Uint8Array",
  "Uint8ClampedArray",
  "Int16Array",
  "Uint16Array",
  "Int32Array",
  "Uint32Array",
  "Float16Array",
  "Float32Array",
  "Float64Array",
  "BigInt64Array",
  "BigUint64Array",
] as const;

/** One of the names of `BINARY_NAMES`. */
export type BinaryName = (typeof BINARY_NAMES)[number];

/** Every tag a text can carry. A reader exists for each; any other tag is an error. */
export type TagName = "undefined" | "number" | "bigint" | "string" | "object" | "Date" | "URL" | "RegExp" | "Map" | "Set" | "Error" | BinaryName;

/** The parts of an Error that are kept apart from its own enumerable properties. */
export const ERROR_FIELDS: readonly string[] = ["name", "message", "stack", "cause", "errors"];
