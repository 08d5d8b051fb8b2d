import fc from "fast-check";
import { expect, it } from "vitest";
import { anyLimits, anyStep, SchedulerDuel } from "./scheduler-duel.ts";

it("dispatches what the naive scheduler dispatches, when it does, under the same limits", async () => {
  await fc.assert(
    fc.asyncProperty(anyLimits, fc.array(fc.array(anyStep, { maxLength: 4, size: "max" }), { maxLength: 40, size: "max" }), async (limits, turns) => {
      const duel = new SchedulerDuel(limits);
      for (const steps of turns) await duel.turn(steps);
      expect(duel.calls.real).toEqual(duel.calls.naive);
    }),
    { numRuns: 100 },
  );
});
