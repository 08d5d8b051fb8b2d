/**
 * The index of the first item whose key is not before `start`; the length where there is none. O(log n).
 * @param items in the order of their keys
 */
export function firstNotBefore<Item>(items: readonly Item[], start: number, keyOf: (item: Item) => number): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && keyOf(item) < start) low = middle + 1;
    else high = middle;
  }
  return low;
}
