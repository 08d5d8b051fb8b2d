import { expect, test } from "vitest";
import { processSplitEmoji, threadSplitEmoji } from "../carriers/fixtures/floods.ts";
import { CarrierRig } from "../carriers/support/carrier-rig.ts";
import { eventually } from "../carriers/support/eventually.ts";
import { LONG } from "../carriers/support/kinds.ts";
import { Host } from "./support/host.ts";

// The guide says that a supervisor needs no more than this for what its tasks print, however much that is.
const BOUND_MB = 300;
const BYTES = LONG ? 2 ** 31 : 100 * 2 ** 20;

interface FloodEnd {
  readonly status: string;
  readonly outcome: unknown;
  readonly lines: number;
  readonly lastLines: readonly string[];
  readonly grownMb: number;
}

test.each([
  ["process", "short lines"],
  ["process", "no newline"],
  ["process", "stderr"],
  ["process", "raw"],
  ["thread", "short lines"],
  ["thread", "no newline"],
] as const)("a %s that floods its output (%s) succeeds, is not held up, and costs little memory", { timeout: LONG ? 600_000 : 60_000 }, async (kind, how) => {
  await using host = new Host("flood.ts", [kind, how, String(BYTES)]);
  const end = (await host.says("end", LONG ? 500_000 : 50_000)) as FloodEnd;
  expect(end).toMatchObject({ status: "succeeded", outcome: "printed" });
  expect(end.grownMb).toBeLessThan(BOUND_MB);
  expect(end.lastLines.some((line) => /^\[… \d+ lines were dropped: more than 10485760 characters …\]$/.test(line))).toBe(true);
  if (how !== "raw") expect(end.lastLines.at(-1)).toBe("the last line");
  expect((await host.end()).exitCode).toBe(0);
});

test.each(["process", "thread"] as const)(
  "a %s that emits without end and without a turn of its loop costs little memory, and nothing is lost",
  { timeout: 60_000 },
  async (kind) => {
    await using host = new Host("flood.ts", [kind, "emit", String(2 ** 30)]);
    const end = (await host.says("end", 50_000)) as FloodEnd;
    expect(end).toMatchObject({ status: "succeeded", outcome: "printed" });
    expect(end.lines).toBeGreaterThanOrEqual(16_384);
    expect(end.grownMb).toBeLessThan(BOUND_MB);
    expect((await host.end()).exitCode).toBe(0);
  },
);

test.each([threadSplitEmoji, processSplitEmoji])("$name: a character that comes in two pieces stays whole", async (task) => {
  await using rig = await CarrierRig.open({ tasks: [task], processes: { standby: 0 } });
  const count = LONG ? 2_000 : 100;
  const handle = await rig.controller.submit(task, [count]);
  expect(await handle.result()).toBe("printed");
  await eventually("all of them are heard", () => rig.outputs(handle.id, "stdout").length === count);
  expect(new Set(rig.outputs(handle.id, "stdout"))).toEqual(new Set(["🦊"]));
});
