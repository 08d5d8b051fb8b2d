import { setTimeout as sleep } from "node:timers/promises";
import type { TaskContext } from "../../src/index.ts";

/**
 * Goes through the rows in a hundred batches. Before each it awaits a checkpoint (where pause and stop take
 * hold), after each it reports progress and rests for `paceMs`: that rest is there for the person who watches
 * the demo, not for the work; 0 is full speed.
 */
export async function* inBatches<Row>(
  ctx: TaskContext,
  rows: Iterable<Row> | AsyncIterable<Row>,
  { total, paceMs, unit = "rows" }: { readonly total: number; readonly paceMs: number; readonly unit?: string },
): AsyncGenerator<readonly Row[], void, undefined> {
  const size = Math.max(1, Math.ceil(total / 100));
  let done = 0;
  let batch: Row[] = [];
  ctx.progress({ done, total, unit });
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < size) continue;
    await ctx.checkpoint();
    yield batch;
    done += batch.length;
    batch = [];
    ctx.progress({ done });
    if (paceMs > 0) await sleep(paceMs);
  }
  await ctx.checkpoint();
  if (batch.length > 0) yield batch;
  ctx.progress({ done: done + batch.length });
}
