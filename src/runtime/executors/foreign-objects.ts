/**
 * Refuses what the bytes between processes would lose in silence, since `node:v8` knows less than the structured
 * clone: a Blob would arrive as `{}`, a WebAssembly module as no message at all, a URL as `{}`.
 * @throws DOMException (`DataCloneError`)
 */
export function refuseForeign(message: unknown): void {
  const seen = new Set<object>();
  const open: unknown[] = [message];
  let hasInstances = false;
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (!isOfTheLanguage(value)) {
      hasInstances = true;
      if (value instanceof Blob) throw refusal("Blob");
      if (Object.prototype.toString.call(value) === "[object WebAssembly.Module]") throw refusal("WebAssembly.Module");
    }
    addParts(value, open);
  }
  // An instance of some class: the structured clone knows whether it may leave.
  if (hasInstances) structuredClone(message);
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
