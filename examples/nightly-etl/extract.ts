import { readFile } from "node:fs/promises";
import { task } from "../../src/index.ts";
import type { TaskContext } from "../../src/index.ts";
import { readCsv } from "./csv.ts";
import { inBatches } from "./in-batches.ts";
import { toLines, writeAtomically } from "./staging.ts";
import type { Stage } from "./staging.ts";

/** What every step that turns one file into another is told. */
export interface FromTo {
  readonly from: string;
  readonly to: string;
  readonly paceMs: number;
}

/** Reads a JSON array and stages its rows. */
export const extractJson = task({ name: "extract-json", tags: ["io"] }, async (ctx, job: FromTo): Promise<Stage> => {
  // One synchronous call, about 0.1 s for 10 MB: as long as it lasts nothing else in this process runs.
  const rows: unknown = JSON.parse(await readFile(job.from, "utf8"));
  if (!Array.isArray(rows)) throw new TypeError(`${job.from} holds no array`);
  return await stage(ctx, rows, job);
});

/** Reads a CSV file and stages its rows. */
export const extractCsv = task({ name: "extract-csv", tags: ["io"] }, async (ctx, job: FromTo): Promise<Stage> => {
  return await stage(ctx, [...readCsv(await readFile(job.from, "utf8"))], job);
});

async function stage(ctx: TaskContext, rows: readonly unknown[], { to, paceMs }: FromTo): Promise<Stage> {
  await writeAtomically(ctx, to, async (write) => {
    for await (const batch of inBatches(ctx, rows, { total: rows.length, paceMs })) await write(toLines(batch));
  });
  return { path: to, rows: rows.length };
}
