import { InternalError } from "./errors.ts";

/**
 * The item at an index that must exist: the graph's lists all have one entry per node.
 * @throws InternalError for an index outside the list
 */
export function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new InternalError(`there is no node ${index}: the graph has ${list.length} nodes, numbered from 0.`);
  return item;
}
