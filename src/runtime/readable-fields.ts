import { describeValue } from "../core/describe-value.ts";
import { failureOf } from "../core/thrown.ts";

/** So deep is looked for what cannot be copied; what lies deeper is described as one. */
const MOST_LEVELS = 20;

type Copies = (value: unknown) => boolean;
type Fields = Readonly<Record<string, unknown>>;

/**
 * The fields of a log line, with a text in place of each value that cannot be copied: a log line never fails its task.
 * @param copies can this value leave as it is?
 */
export function readableFields(fields: Fields, copies: Copies): Fields {
  const readable = new Reader(copies).read(fields, 0);
  // A getter that gives something else each time: then the whole of it is a text.
  return typeof readable === "object" && readable !== null && copies(readable) ? (readable as Fields) : { fields: describeValue(fields) };
}

class Reader {
  readonly #copies: Copies;
  /** What has been read already: an object that holds itself is one that holds its copy. */
  readonly #seen = new Map<object, unknown>();

  constructor(copies: Copies) {
    this.#copies = copies;
  }

  read(value: unknown, level: number): unknown {
    if (this.#copies(value)) return value;
    if (typeof value !== "object" || value === null || level >= MOST_LEVELS) return describeValue(value);
    if (this.#seen.has(value)) return this.#seen.get(value);
    try {
      return this.#parts(value, level);
    } catch {
      return describeValue(value);
    }
  }

  #parts(value: object, level: number): unknown {
    if (Array.isArray(value)) return this.#fill(value, [], level);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype && prototype !== null) return describeValue(value);
    return this.#fill(value, {}, level);
  }

  #fill(from: object, to: object, level: number): object {
    this.#seen.set(from, to);
    for (const key of Object.keys(from)) {
      const value = this.#readPart(from, key, level);
      Object.defineProperty(to, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return to;
  }

  #readPart(from: object, key: string, level: number): unknown {
    let part: unknown;
    try {
      part = Reflect.get(from, key);
    } catch (error) {
      return `cannot be read: ${failureOf(error).message}`;
    }
    return this.read(part, level + 1);
  }
}
