/** What is larger goes as a structured clone: there it is copied, as JSON each character would be looked at. */
const MOST_JSON_CHARS = 4 * 1024;
const MOST_JSON_VALUES = 500;

/**
 * Refuses what the bytes between processes would lose in silence, since `node:v8` knows less than the structured
 * clone: a Blob would arrive as `{}`, a WebAssembly module as no message at all, a URL as `{}`.
 * @returns is it so plain and small that JSON carries it just as well, and faster?
 * @throws DOMException (`DataCloneError`)
 */
export function refuseForeign(message: unknown): boolean {
  const seen = new Set<object>();
  const open: unknown[] = [message];
  let hasInstances = false;
  let isPlain = true;
  let chars = 0;
  for (let values = 0; open.length > 0; values += 1) {
    const value = open.pop();
    if (typeof value === "string") chars += value.length;
    if (typeof value !== "object" || value === null) {
      isPlain &&= isPlainValue(value);
      continue;
    }
    if (seen.has(value)) {
      // The structured clone keeps it one object.
      isPlain = false;
      continue;
    }
    seen.add(value);
    isPlain &&= isPlainObject(value) && values < MOST_JSON_VALUES;
    if (!isOfTheLanguage(value)) {
      hasInstances = true;
      if (value instanceof Blob) throw refusal("Blob");
      if (Object.prototype.toString.call(value) === "[object WebAssembly.Module]") throw refusal("WebAssembly.Module");
    }
    addParts(value, open);
  }
  // An instance of some class: the structured clone knows whether it may leave.
  if (hasInstances) structuredClone(message);
  return isPlain && chars <= MOST_JSON_CHARS;
}

function isPlainValue(value: unknown): boolean {
  return (
    value === null || typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value) && !Object.is(value, -0))
  );
}

function isPlainObject(value: object): boolean {
  if (Array.isArray(value)) return Object.keys(value).length === value.length;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const PLAIN = [Map, Set, Date, RegExp, Error, ArrayBuffer, SharedArrayBuffer] as const;

function isOfTheLanguage(value: object): boolean {
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || PLAIN.some((type) => value instanceof type);
}

function addParts(value: object, open: unknown[]): void {
  if (ArrayBuffer.isView(value)) return;
  if (value instanceof Map) for (const [key, item] of value) open.push(key, item);
  else if (value instanceof Set) for (const item of value) open.push(item);
  else for (const name in value) if (Object.hasOwn(value, name)) open.push(Reflect.get(value, name));
}

function refusal(what: string): DOMException {
  return new DOMException(`a ${what} could not be cloned.`, "DataCloneError");
}
