/** Asked with `--quick`: a short run that shows only that the bench still works. Its figures mean nothing. */
export const isQuick: boolean = process.argv.includes("--quick");

/** A size or a count: the full one, or the one of a quick run. */
export function sized(full: number, quick: number): number {
  return isQuick ? quick : full;
}

/** How many times each contender is measured. */
export const ROUNDS: number = sized(5, 1);
