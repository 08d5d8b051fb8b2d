import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { task } from "../../src/index.ts";
import type { Result } from "./load.ts";
import { writeAtomically } from "./staging.ts";
import type { Sifted } from "./validate.ts";

/** The share of the rows of one source that was rejected. */
export function rejectShare({ read, rows }: Pick<Sifted, "read" | "rows">): number {
  return read === 0 ? 0 : (read - rows) / read;
}

/** Runs only where a source lost more rows than the run allows. */
export const alarm = task({ name: "alarm" }, (ctx, shares: Readonly<Record<string, number>>): void => {
  for (const [source, share] of Object.entries(shares)) ctx.log.error(`${source}: ${percent(share)} of the rows were rejected`);
});

/** Writes `report.txt` beside the result. */
export const report = task({ name: "report" }, async (ctx, resultPath: string): Promise<string> => {
  await ctx.checkpoint();
  // `load` wrote it in this very run.
  const result = JSON.parse(await readFile(resultPath, "utf8")) as Result;
  const path = join(dirname(resultPath), "report.txt");
  await writeAtomically(ctx, path, async (write) => await write(render(result)));
  ctx.log.info(`report written to ${path}`);
  return path;
});

function render({ sources, byHour, byState, seattleByDay }: Result): string {
  const rejects = Object.entries(sources).flatMap(([name, source]) => [
    `  ${name.padEnd(9)}${count(source.read)} read ${count(source.rows)} kept`,
    ...Object.entries(source.rejected).map(([rule, rows]) => `           ${count(rows)} rejected: ${rule}`),
  ]);
  const hours = byHour.map((row) => `  ${String(row.hour).padStart(2)} h ${delays(row)}  ${"█".repeat(Math.max(0, Math.round(row.meanDelayMin / 2)))}`);
  const states = byState.slice(0, 10).map((row) => `  ${row.state}   ${delays(row)}`);
  const wettest = seattleByDay.toSorted((a, b) => (b.usualRainMm ?? 0) - (a.usualRainMm ?? 0)).slice(0, 5);
  const days = wettest.map((row) => `  ${row.day}${delays(row)}  ${(row.usualRainMm ?? 0).toFixed(1)} mm`);
  const head = "        flights  mean delay    late";
  return [
    "Rows",
    ...rejects,
    "",
    "Delays by hour of departure",
    head,
    ...hours,
    "",
    "The ten states with the most departures",
    head,
    ...states,
    "",
    "Seattle: the five days of the season that are usually the wettest",
    `${head}  usual rain`,
    ...days,
    "",
  ].join("\n");
}

function delays({ flights, meanDelayMin, lateShare }: Result["byHour"][number] | Result["byState"][number] | Result["seattleByDay"][number]): string {
  return `${count(flights)}${`${meanDelayMin.toFixed(1)} min`.padStart(12)}${percent(lateShare).padStart(8)}`;
}

function count(value: number): string {
  return value.toLocaleString("en").padStart(8);
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
