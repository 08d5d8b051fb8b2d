import { mkdir, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { TaskContext } from "../../src/index.ts";

/** A file of rows between two steps, one JSON value a line: what steps hand on instead of the rows themselves. */
export interface Stage {
  readonly path: string;
  readonly rows: number;
}

/**
 * Writes a file that is either there in full or not at all: into a temporary file beside it, to the disk, then
 * renamed. A stop in between (a checkpoint throws) leaves what stood there before.
 */
export async function writeAtomically(ctx: TaskContext, path: string, fill: (write: (text: string) => Promise<void>) => Promise<void>): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  // The task's id in its name: two runs into one folder do not write into each other's file.
  const part = `${path}.${ctx.taskId}.part`;
  const file = await open(part, "w");
  try {
    await fill(async (text) => await file.writeFile(text));
    await file.sync();
    await file.close();
    await rename(part, path);
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
}

/** The text of some rows of a stage. */
export function toLines(rows: readonly unknown[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/** Reads a stage back row by row. */
export async function* readStage<Row>({ path }: Pick<Stage, "path">): AsyncGenerator<Row, void, undefined> {
  const file = await open(path);
  // An earlier step of this very run wrote the rows.
  for await (const line of file.readLines()) yield JSON.parse(line) as Row;
}
