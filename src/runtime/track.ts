import { ConfigurationError } from "../core/errors.ts";
import { describeValue } from "../core/describe-value.ts";
import type { TaskContext, TrackOptions } from "../core/ports/task-context.ts";

/** Goes through the items with a checkpoint before each and progress after each. Source §3.3. */
export async function* track<Item>(
  context: Pick<TaskContext, "checkpoint" | "progress">,
  items: Iterable<Item> | AsyncIterable<Item>,
  { unit, total = lengthOf(items) }: TrackOptions = {},
): AsyncGenerator<Item, void, undefined> {
  const head = { ...(unit === undefined ? {} : { unit }), ...(total === undefined ? {} : { total }) };
  let done = 0;
  context.progress({ ...head, done });
  for await (const item of checked(items)) {
    await context.checkpoint();
    yield item;
    done += 1;
    context.progress({ done });
  }
}

function lengthOf(items: unknown): number | undefined {
  if (Array.isArray(items) || ArrayBuffer.isView(items)) return "length" in items && typeof items.length === "number" ? items.length : undefined;
  return items instanceof Set || items instanceof Map ? items.size : undefined;
}

function checked<Item>(items: Iterable<Item> | AsyncIterable<Item>): Iterable<Item> | AsyncIterable<Item> {
  if (typeof items === "string" || (typeof items === "object" && items !== null && (Symbol.iterator in items || Symbol.asyncIterator in items))) return items;
  throw new ConfigurationError(`ctx.track takes something to iterate over; found ${describeValue(items)}.`);
}
