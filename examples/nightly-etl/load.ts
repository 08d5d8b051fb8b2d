import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { constant, task } from "../../src/index.ts";
import type { SeattleDay } from "./aggregate.ts";
import { inBatches } from "./in-batches.ts";
import { writeAtomically } from "./staging.ts";
import type { Delays } from "./tally.ts";
import type { Sifted } from "./validate.ts";

/** What is loaded: where it came from, then three tables. */
export interface Result {
  readonly sources: Readonly<Record<"flights" | "trips" | "airports" | "weather", Pick<Sifted, "read" | "rows" | "rejected">>>;
  readonly byHour: readonly ({ readonly hour: number } & Delays)[];
  readonly byState: readonly ({ readonly state: string } & Delays)[];
  readonly seattleByDay: readonly SeattleDay[];
}

/**
 * Opens the folder that stands for a warehouse. Its first attempt fails on purpose, to show a retry: a
 * stand-in for a database that is not up yet.
 */
export const openWarehouse = task(
  { name: "open-warehouse", tags: ["io"], retry: { maxAttempts: 3, backoff: constant({ delay: "500ms", jitter: "none" }) } },
  async (ctx, folder: string): Promise<string> => {
    await ctx.checkpoint();
    if (ctx.attempt === 1) throw new Error("the warehouse is not up yet (the demo refuses its first attempt on purpose)");
    await mkdir(folder, { recursive: true });
    return folder;
  },
);

/** Writes `result.json`, a row a line: the whole file or, when it is stopped on the way, none. */
export const load = task({ name: "load", tags: ["io"] }, async (ctx, folder: string, result: Result, paceMs: number): Promise<string> => {
  const path = join(folder, "result.json");
  const { sources, ...tables } = result;
  const counts = Object.entries(sources).map(([name, { read, rows, rejected }]) => [name, { read, rows, rejected }]);
  const lines = Object.entries(tables).flatMap(([name, rows]) => [
    `,\n"${name}": [\n`,
    ...rows.map((row, index) => JSON.stringify(row) + (index < rows.length - 1 ? ",\n" : "\n")),
    "]",
  ]);
  await writeAtomically(ctx, path, async (write) => {
    await write(`{"sources": ${JSON.stringify(Object.fromEntries(counts))}`);
    for await (const batch of inBatches(ctx, lines, { total: lines.length, paceMs, unit: "lines" })) await write(batch.join(""));
    await write("}\n");
  });
  return path;
});
