import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { asyncTicking, busyProcessTicking, busyThreadTicking, processTicking, threadTicking } from "./fixtures/ticking.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { eventually } from "./support/eventually.ts";
import { expectSound } from "./support/soundness.ts";
import { Stage } from "./support/stage.ts";

const TICKING = [asyncTicking, threadTicking, processTicking, busyThreadTicking, busyProcessTicking] as const;

describe.each(TICKING)("$name", (ticking) => {
  test("what is said to be paused stands still", async () => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [ticking], processes: { standby: 0 } });
    const handle = await rig.controller.submit(ticking, [stage.folder]);
    const ticks = (): number => rig.outputs(handle.id, "at").length;
    await rig.at(handle.id, "tick");
    for (let round = 0; round < 4; round += 1) {
      const overtaken = handle.pause();
      // It reaches its checkpoint meanwhile, and that is on its way when the wish is taken back and said anew.
      blockFor(40);
      const resumed = handle.resume();
      expect(await handle.pause()).toBe(true);
      // What it said before it stood still has come by now.
      await sleep(5);
      const still = ticks();
      await sleep(40);
      expect(ticks()).toBe(still);
      await Promise.all([overtaken, resumed]);
      await handle.resume();
      await eventually("it goes on", () => ticks() > still);
    }
    stage.cue("finish");
    await handle.result();
    await expectSound(rig.controller, handle.id);
  });
});

function blockFor(ms: number): void {
  for (const until = performance.now() + ms; performance.now() < until;);
}
