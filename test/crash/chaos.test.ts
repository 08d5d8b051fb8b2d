import { expect, test } from "vitest";
import { LONG } from "../carriers/support/kinds.ts";
import { expectNoneLeft, markDescendants } from "../carriers/support/leftovers.ts";
import { Stage } from "../carriers/support/stage.ts";
import type { Holdings } from "./support/holdings.ts";
import { Host } from "./support/host.ts";

const mark = markDescendants();

interface End {
  readonly tally: Readonly<Record<string, number>>;
  readonly kills: number;
  readonly wrong: readonly string[];
  readonly before: Holdings;
  readonly after: Holdings;
}

test.each(LONG ? Array.from({ length: 20 }, (_, index) => index + 1) : [7])(
  "200 tasks over two slots, killed and stopped at random (seed %i): each has one end, and nothing is left",
  { timeout: 120_000 },
  async (seed) => {
    using stage = new Stage();
    await using host = new Host("chaos.ts", [String(seed), "200"], { TMPDIR: stage.folder });
    const { tally, kills, wrong, before, after } = (await host.says("end", 100_000)) as End;
    expect(wrong).toEqual([]);
    expect(Object.values(tally).reduce((sum, count) => sum + count, 0)).toBe(200);
    expect(
      Object.keys(tally).every((status) => ["succeeded", "failed", "stopped"].includes(status)),
      JSON.stringify(tally),
    ).toBe(true);
    expect(kills).toBeGreaterThan(5);
    expect(after).toEqual(before);
    expect(await host.end()).toEqual({ exitCode: 0, signal: null, stderr: "" });
    await expectNoneLeft(mark, 500);
  },
);
