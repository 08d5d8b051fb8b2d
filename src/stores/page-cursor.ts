import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkInteger } from "../core/options.ts";

const DEFAULT_LIMIT = 100;

/**
 * Reads a cursor: how many entries lie before the next one.
 * @param cursor `null` or `undefined`: from the start
 * @param length how many entries there are
 * @throws ConfigurationError for one that this store never gave: going on from there would leave a gap
 */
export function readCursor(cursor: string | null | undefined, length: number): number {
  if (cursor === null || cursor === undefined) return 0;
  const start = /^\d{1,15}$/.test(cursor) ? Number(cursor) : Number.NaN;
  if (start <= length) return start;
  throw new ConfigurationError(`cursor must be one that this store gave since it was opened; found ${describeValue(cursor)}. Start again without a cursor.`);
}

/**
 * How many entries a page may have; 100 where nothing is said.
 * @throws ConfigurationError
 */
export function readLimit(limit: number | undefined): number {
  return limit === undefined ? DEFAULT_LIMIT : checkInteger(limit, "limit", 1);
}
