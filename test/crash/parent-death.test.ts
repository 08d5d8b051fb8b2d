import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { eventually } from "../carriers/support/eventually.ts";
import { expectNoneLeft, marked, markDescendants } from "../carriers/support/leftovers.ts";
import { LONG } from "../carriers/support/kinds.ts";
import { Host } from "./support/host.ts";

// No carrier outlives its supervisor, however that died and whatever the carrier is doing.
const mark = markDescendants();

describe("children whose supervisor is gone", () => {
  test.each(["SIGKILL", "SIGTERM", "SIGUSR2"] as const)(
    "by %s: all are gone within two seconds, also the busy ones and what they started",
    { timeout: 60_000 },
    async (signal) => {
      await using host = new Host("supervisor.ts");
      const pids = (await host.says("ready", 40_000)) as readonly number[];
      expect(marked(mark)).toEqual(expect.arrayContaining([...pids]));
      expect(marked(mark).length).toBeGreaterThanOrEqual(pids.length + 4);
      host.child.kill(signal);
      await expectNoneLeft(mark, 2_000);
    },
  );

  test("at any moment of their launch", { timeout: 120_000 }, async () => {
    for (let point = 0; point < (LONG ? 40 : 4); point += 1) {
      await using host = new Host("supervisor.ts");
      await eventually("a child is there", () => marked(mark).length >= 2, 20_000);
      await sleep(point * 40);
      host.child.kill("SIGKILL");
      await expectNoneLeft(mark, 2_000);
    }
  });
});
