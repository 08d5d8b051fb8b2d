/** Longer names are neither asked about nor offered: it bounds the work, and nobody mistypes so much. */
const MAX_LENGTH = 128;
const MAX_DISTANCE = 5;

/**
 * The names that look most like the one asked for, nearest first. Case does not count; a swap of two
 * neighbours counts as one slip. A third of the letters may differ (at most 5); a name that contains the
 * one asked for, or is contained in it, is offered after those. At most `max` names, none where nothing is near.
 * @param max how many to give, default 3
 */
export function nearestNames(requested: string, names: Iterable<string>, max = 3): readonly string[] {
  if (requested.length > MAX_LENGTH) return [];
  const wanted = requested.toLowerCase();
  const limit = Math.min(MAX_DISTANCE, Math.max(1, Math.floor(wanted.length / 3)));
  const scored: { readonly name: string; readonly score: number }[] = [];
  for (const name of new Set(names)) {
    const score = name.length > MAX_LENGTH ? Infinity : scoreOf(wanted, name.toLowerCase(), limit);
    if (score < Infinity) scored.push({ name, score });
  }
  return scored
    .toSorted((a, b) => a.score - b.score)
    .slice(0, max)
    .map(({ name }) => name);
}

function scoreOf(wanted: string, name: string, limit: number): number {
  const distance = editDistance(wanted, name, limit);
  if (distance <= limit) return distance;
  if (wanted.length >= 3 && name.startsWith(wanted)) return limit + 1;
  if (wanted.length >= 3 && name.includes(wanted)) return limit + 2;
  return name.length >= 3 && wanted.includes(name) ? limit + 3 : Infinity;
}

/**
 * Damerau-Levenshtein distance (neighbours swap at most once), or `Infinity` above `limit`. Only the cells
 * within `limit` of the diagonal can count, so a row is that band alone and the cost is O(length × limit).
 * Cell `k` of a row stands for the column `row - limit + k`.
 */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return Infinity;
  let beforePrevious: readonly number[] = [];
  let previous: readonly number[] = Array.from({ length: 2 * limit + 1 }, (_, k) => (k < limit ? Infinity : k - limit));
  for (let row = 1; row <= a.length; row += 1) {
    const current = nextRow(a, b, row, limit, previous, beforePrevious);
    if (current === undefined) return Infinity;
    beforePrevious = previous;
    previous = current;
  }
  return at(previous, b.length - a.length + limit);
}

/** `undefined`: every cell of the row is above the limit already. */
function nextRow(a: string, b: string, row: number, limit: number, above: readonly number[], twoAbove: readonly number[]): number[] | undefined {
  const current: number[] = [];
  let least = Infinity;
  for (let k = 0; k <= 2 * limit; k += 1) {
    const column = row - limit + k;
    const outside = column < 0 || column > b.length;
    const cost = outside ? Infinity : column === 0 ? row : cellCost(a, b, row, column, k, current, above, twoAbove);
    current.push(cost);
    least = Math.min(least, cost);
  }
  return least > limit ? undefined : current;
}

function cellCost(
  a: string,
  b: string,
  row: number,
  column: number,
  k: number,
  current: readonly number[],
  above: readonly number[],
  twoAbove: readonly number[],
): number {
  const same = a[row - 1] === b[column - 1];
  const cost = Math.min(at(above, k + 1) + 1, at(current, k - 1) + 1, at(above, k) + (same ? 0 : 1));
  const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
  return swapped ? Math.min(cost, at(twoAbove, k) + 1) : cost;
}

function at(row: readonly number[], k: number): number {
  return row[k] ?? Infinity;
}
