import { ConfigurationError } from "../core/errors.ts";
import { failureOf } from "../core/thrown.ts";
import { readableFields } from "./readable-fields.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * A structured clone.
 * @param what how the value is called: the path in the message begins with it
 * @throws ConfigurationError that names the path of what cannot be cloned
 */
export function clone(value: unknown, what: string): unknown {
  try {
    return structuredClone(value);
  } catch (error) {
    const trouble = findTrouble(value, what, error, clones);
    const why = plainCause(trouble) ?? "it holds a function, a symbol, a promise or the like. Give plain data.";
    throw new ConfigurationError(`${trouble.path} cannot be copied: ${why}`, { cause: error });
  }
}

/** A structured clone of the fields of a log line, with a text in place of each value that cannot be copied. */
export function cloneFields(fields: Fields): Fields {
  try {
    return structuredClone(fields);
  } catch {
    return structuredClone(readableFields(fields, clones));
  }
}

/** The error for a value that cannot leave its thread: it says where the trouble is, and what to do. Source §13.9. */
export function uncloneable(value: unknown, what: string, cause: unknown, copies: (value: unknown) => boolean = clones): ConfigurationError {
  const trouble = findTrouble(value, what, cause, copies);
  const why = plainCause(trouble);
  return new ConfigurationError(`${trouble.path} cannot leave its ${why === null ? whyNot(trouble.value) : `thread or process: ${why}`}`, { cause });
}

/** What is wrong, where it is none of the things that can never be copied. */
function plainCause({ value, isTooDeep }: Trouble): string | null {
  if (isTooDeep === true) return "it is nested too deep. Give it flatter, or as one text.";
  if (value instanceof Unreadable) return `reading it throws an error (${failureOf(value.error).message}). Give plain data.`;
  const memory = ArrayBuffer.isView(value) ? value.buffer : value;
  if (memory instanceof ArrayBuffer && memory.detached)
    return "its memory was transferred to somebody else (it is detached). Send a copy, or do not transfer it before.";
  return null;
}

function whyNot(value: unknown): string {
  if (value instanceof SharedArrayBuffer)
    return 'process: shared memory cannot pass between processes. Send a copy of the bytes, or run the task with executor: "thread" or "async".';
  if (value !== undefined && clones(value))
    return `process: ${Object.prototype.toString.call(value).slice(8, -1)} can pass between threads, not between processes. Send plain data, or run the task with executor: "thread" or "async".`;
  return 'thread or process: functions, symbols, promises and objects such as a URL cannot be copied. Send plain data (of a URL its href), or run the task with executor: "async".';
}

const MAX_DEPTH = 50;

/** Where the trouble is, and what is there. */
interface Trouble {
  readonly path: string;
  readonly value: unknown;
  readonly isTooDeep?: true;
}

/** In place of a part that could not be read. */
class Unreadable {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

function findTrouble(value: unknown, what: string, cause: unknown, copies: (value: unknown) => boolean): Trouble {
  // The stack was used up: every object on the way down would be the trouble.
  if (cause instanceof RangeError && cause.message.includes("call stack")) return { path: what, value, isTooDeep: true };
  return troubleIn(value, what, 0, copies) ?? { path: what, value: undefined };
}

function troubleIn(value: unknown, path: string, depth: number, copies: (value: unknown) => boolean): Trouble | undefined {
  if (value instanceof Unreadable) return { path, value };
  if (copies(value)) return undefined;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value) || depth >= MAX_DEPTH) return { path, value };
  for (const [name, part] of partsOf(value, path)) {
    const found = troubleIn(part, name, depth + 1, copies);
    if (found !== undefined) return found;
  }
  return { path, value };
}

function partsOf(value: object, path: string): readonly (readonly [string, unknown])[] {
  try {
    if (Array.isArray(value)) return value.map((item: unknown, index) => [`${path}[${index}]`, item] as const);
    if (value instanceof Map)
      return [...value].flatMap(([key, item]: readonly [unknown, unknown], index) => [
        [`${path}.<key ${index}>`, key] as const,
        [`${path}.<value ${index}>`, item] as const,
      ]);
    if (value instanceof Set) return [...value].map((item: unknown, index) => [`${path}.<item ${index}>`, item] as const);
    return Object.keys(value).map((key) => [`${path}.${key}`, readPart(value, key)] as const);
  } catch {
    // Not even its keys can be told: the trouble is this very object.
    return [];
  }
}

function readPart(value: object, key: string): unknown {
  try {
    return Reflect.get(value, key);
  } catch (error) {
    return new Unreadable(error);
  }
}

/** Can it be cloned? */
export function clones(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
