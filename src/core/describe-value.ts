const MAX_ITEMS = 10;
const MAX_TEXT = 200;

/**
 * Any value as short, printable text for a message: `"10"`, `NaN`, `Symbol(x)`, `{ status: 404, body: {…} }`.
 * Looks one level deep, never throws (revoked proxies and throwing getters included), and is never empty.
 */
export function describeValue(value: unknown): string {
  try {
    return describe(value, true);
  } catch {
    return `${typeof value === "function" ? "a function" : "an object"} that cannot be read`;
  }
}

function describe(value: unknown, outermost: boolean): string {
  switch (typeof value) {
    case "string":
      return shorten(JSON.stringify(value.slice(0, MAX_TEXT + 1)));
    case "bigint":
      return shorten(`${value}n`);
    case "symbol":
      return shorten(`Symbol(${JSON.stringify(value.description ?? "").slice(1, -1)})`);
    case "function":
      return shorten(`function ${nameOf(value)}`.trimEnd());
    case "object":
      return value === null ? "null" : describeObject(value, outermost);
    case "number":
      return Object.is(value, -0) ? "-0" : String(value);
    case "boolean":
    case "undefined":
      return String(value);
  }
}

function describeObject(value: object, outermost: boolean): string {
  if (Array.isArray(value)) return outermost ? listOf("[", value.slice(0, MAX_ITEMS).map(inner), value.length, "]") : "[…]";
  const date = describeDate(value);
  if (date !== null) return date;
  const label = labelOf(value);
  if (!outermost) return `${label}{…}`;
  const keys = Object.keys(value);
  const shown = keys.slice(0, MAX_ITEMS).map((key) => `${describeKey(key)}: ${inner(read(value, key))}`);
  return shorten(`${label}${listOf("{ ", shown, keys.length, " }")}`);
}

/** `null`: it is none. A clock is not asked: it is only read what it says. */
function describeDate(value: object): string | null {
  if (Object.prototype.toString.call(value) !== "[object Date]" || !("toJSON" in value) || typeof value.toJSON !== "function") return null;
  const text: unknown = Reflect.apply(value.toJSON, value, []);
  return typeof text === "string" ? shorten(`Date ${text}`) : "Invalid Date";
}

function inner(value: unknown): string {
  try {
    return describe(value, false);
  } catch {
    return "?";
  }
}

function listOf(open: string, shown: readonly string[], count: number, close: string): string {
  if (count === 0) return `${open}${close}`.replaceAll(" ", "");
  return shorten(`${open}${shown.join(", ")}${count > shown.length ? ", …" : ""}${close}`);
}

function describeKey(key: string): string {
  return /^[\w$]{1,40}$/.test(key) ? key : shorten(JSON.stringify(key.slice(0, MAX_TEXT + 1)));
}

function labelOf(value: object): string {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === null || prototype === Object.prototype) return "";
  const name = nameOf(read(value, "constructor"));
  return name === "" || name === "Object" ? "" : `${name} `;
}

function nameOf(value: unknown): string {
  if (typeof value !== "function") return "";
  const name = read(value, "name");
  return typeof name === "string" && /^[\w$ .]{1,100}$/.test(name) ? name : "";
}

function read(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch {
    return "?";
  }
}

function shorten(text: string): string {
  return (text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`).toWellFormed();
}
