import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nightlyEtl } from "../../examples/nightly-etl.ts";
import { load } from "../../examples/nightly-etl/load.ts";
import type { Result } from "../../examples/nightly-etl/load.ts";
import { Controller, runTask } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { expectedResult } from "./expected-result.ts";

const TIMEOUT = { timeout: 60_000 };

let out: string;
let controller: Controller;

beforeEach(async () => {
  out = await mkdtemp(join(tmpdir(), "nightly-etl-"));
  controller = await Controller.open({ pipelines: [nightlyEtl] });
});

afterEach(async () => {
  await controller.close();
  await rm(out, { recursive: true, force: true });
});

async function readResult(): Promise<Result> {
  return JSON.parse(await readFile(join(out, "result.json"), "utf8")) as Result;
}

function statuses(run: RunHandle): Record<string, string> {
  return Object.fromEntries(run.graph().map(({ name, status }) => [name, status]));
}

/** Sums of floats depend on their order. */
function rounded(rows: readonly object[]): readonly object[] {
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [key, typeof value === "number" ? Number(value.toFixed(9)) : value])));
}

/** The files below the folder that are not whole. */
async function parts(): Promise<readonly string[]> {
  return (await readdir(out, { recursive: true })).filter((name) => name.endsWith(".part"));
}

describe("nightly-etl", () => {
  it("gives the numbers that SQL gives over the raw files", TIMEOUT, async () => {
    const run = await controller.startRun(nightlyEtl, [{ out, pace: 0, alarmAbove: 0.05 }]);
    expect((await run.wait({ timeout: "55s" })).status).toBe("succeeded");

    const [result, expected] = [await readResult(), expectedResult()];
    expect(result.byHour).toHaveLength(24);
    expect(rounded(result.byHour)).toEqual(rounded(expected.byHour));
    expect(result.byState.length).toBeGreaterThan(40);
    expect(rounded(result.byState)).toEqual(rounded(expected.byState));
    expect(result.seattleByDay.length).toBeGreaterThan(80);
    expect(rounded(result.seattleByDay)).toEqual(rounded(expected.seattleByDay));

    const rows = (read: unknown, rejected: Record<string, unknown>) => {
      const kept = Object.values(rejected).reduce<number>((left, count) => left - Number(count), Number(read));
      return { read, rows: kept, rejected };
    };
    const counts = expected.sources[0];
    expect(result.sources).toEqual({
      flights: rows(counts?.flights, { "more than an hour early": counts?.early, "more than twelve hours late": counts?.late }),
      trips: rows(counts?.trips, { "unknown airport": counts?.unknownAirport }),
      airports: rows(counts?.airports, { "no state": counts?.noState }),
      weather: rows(counts?.weather, { "rain of 0 mm": counts?.dryRain, "snow above 4 °C": counts?.warmSnow }),
    });
    // As counted by hand once, so that the two cannot be wrong in the same way.
    expect(counts).toMatchObject({ flights: 200_000, trips: 20_000, airports: 3376, weather: 1461, early: 13, late: 7, noState: 12, dryRain: 44, warmSnow: 1 });
  });

  it("skips the alarm, retries the warehouse once and writes the report", TIMEOUT, async () => {
    const run = await controller.startRun(nightlyEtl, [{ out, pace: 0, alarmAbove: 0.05 }]);
    await run.wait({ timeout: "55s" });

    const { alarm, ...others } = statuses(run);
    expect(alarm).toBe("skipped");
    expect(new Set(Object.values(others))).toEqual(new Set(["succeeded"]));
    expect(run.summary()).toMatchObject({ total: 15, counts: { succeeded: 14, skipped: 1 }, firstFailure: null });

    const warehouse = run.graph().find(({ name }) => name === "open-warehouse");
    const attempts = await controller.attempts(warehouse?.taskId ?? "");
    expect(attempts.map(({ endedAs }) => endedAs)).toEqual(["retry_wait", "succeeded"]);

    const report = await readFile(join(out, "report.txt"), "utf8");
    expect(report).toContain("44 rejected: rain of 0 mm");
    expect(report).toMatch(/^ {2}TX +2,400 /m);
    expect(await parts()).toEqual([]);
  });

  it("runs the alarm where more is rejected than the run allows", TIMEOUT, async () => {
    // Of the weather 3.1 % is rejected, of everything else less than 1 %.
    const run = await controller.startRun("nightly-etl", [{ out, pace: "0", alarmAbove: "0.03" }]);
    await run.wait({ timeout: "55s" });
    expect(statuses(run)).toMatchObject({ alarm: "succeeded", report: "succeeded" });
  });

  it("ends stopped when it is stopped on the way, and leaves the old result as it was", TIMEOUT, async () => {
    await writeFile(join(out, "result.json"), "the old result");
    const run = await controller.startRun(nightlyEtl, [{ out, pace: 20, alarmAbove: 0.05 }]);
    for await (const event of run.events({ types: ["ProgressUpdated"] })) {
      if (event.type === "ProgressUpdated" && event.node === "validate-flights" && (event.progress.done ?? 0) > 0) break;
    }
    expect((await run.stop()).status).toBe("stopped");

    expect(statuses(run)).toMatchObject({ "extract-flights": "succeeded", "validate-flights": "stopped", load: "stopped", report: "stopped" });
    expect(await readFile(join(out, "result.json"), "utf8")).toBe("the old result");
    expect(await parts()).toEqual([]);
  });

  it("writes no half of a result when it is stopped while it loads", TIMEOUT, async () => {
    await writeFile(join(out, "result.json"), "the old result");
    const row = { hour: 1, flights: 1, meanDelayMin: 0, lateShare: 0 };
    const source = { read: 1, rows: 1, rejected: {} };
    const result = {
      sources: { flights: source, trips: source, airports: source, weather: source },
      byHour: Array(5000).fill(row),
      byState: [],
      seattleByDay: [],
    };

    const handle = await runTask(load, [out, result, 20]);
    for await (const event of handle.events({ types: ["ProgressUpdated"] })) {
      if (event.type === "ProgressUpdated" && (event.progress.done ?? 0) > 0) break;
    }
    expect(await parts()).toHaveLength(1);
    expect((await handle.stop()).status).toBe("stopped");
    expect(await readdir(out)).toEqual(["result.json"]);
    expect(await readFile(join(out, "result.json"), "utf8")).toBe("the old result");
  });

  it("is what `npm run demo` runs", TIMEOUT, async () => {
    const root = fileURLToPath(new URL("../..", import.meta.url));
    const { scripts } = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { readonly scripts: Readonly<Record<string, string>> };
    const [node, ...words] = (scripts["demo"] ?? "").split(" ");
    expect(node).toBe("node");
    const { stdout } = await promisify(execFile)(process.execPath, [...words, "--arg", "pace=0", "--arg", `out=${out}`], { cwd: root });
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(/^run nightly-etl \(\w+\) succeeded in .*: 14 succeeded, 1 skipped$/);
    expect((await readResult()).byHour).toHaveLength(24);
  });

  it.each([{ pace: -1 }, { pace: "fast" }, { alarmAbove: 2 }, { out: "" }])("refuses %o before anything is stored", async (options) => {
    await expect(controller.startRun("nightly-etl", [options])).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect((await controller.list()).items).toEqual([]);
  });
});
