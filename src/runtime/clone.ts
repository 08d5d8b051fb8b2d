import { ConfigurationError } from "../core/errors.ts";

/**
 * A structured clone.
 * @param what how the value is called: the path in the message begins with it
 * @throws ConfigurationError that names the path of what cannot be cloned
 */
export function clone(value: unknown, what: string): unknown {
  try {
    return structuredClone(value);
  } catch (error) {
    const path = pathOfTrouble(value, what, 0, clones) ?? what;
    throw new ConfigurationError(`${path} cannot be copied: it holds a function, a symbol, a promise or the like. Give plain data.`, { cause: error });
  }
}

/** The error for a value that cannot leave its thread: it says where the trouble is, and what to do. Source §13.9. */
export function uncloneable(value: unknown, what: string, cause: unknown, copies: (value: unknown) => boolean = clones): ConfigurationError {
  const path = pathOfTrouble(value, what, 0, copies) ?? what;
  return new ConfigurationError(
    `${path} cannot leave its thread or process: functions, symbols, promises and objects such as a URL cannot be copied. Send plain data (of a URL its href), or run the task with executor: "async".`,
    { cause },
  );
}

const MAX_DEPTH = 50;

function pathOfTrouble(value: unknown, path: string, depth: number, copies: (value: unknown) => boolean): string | undefined {
  if (copies(value)) return undefined;
  if (typeof value !== "object" || value === null || depth >= MAX_DEPTH) return path;
  for (const [name, part] of partsOf(value, path)) {
    const found = pathOfTrouble(part, name, depth + 1, copies);
    if (found !== undefined) return found;
  }
  return path;
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
    return Object.entries(value).map(([key, item]: readonly [string, unknown]) => [`${path}.${key}`, item] as const);
  } catch {
    // A getter that throws: the trouble is this very object.
    return [];
  }
}

function clones(value: unknown): boolean {
  try {
    structuredClone(value);
    return true;
  } catch {
    return false;
  }
}
