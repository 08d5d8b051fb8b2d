import fc from "fast-check";
import { expect, it } from "vitest";
import { anyCommands } from "./commands.ts";
import { World } from "./world.ts";

const long = process.env["CHONGMING_LONG"] === "1";

it("whatever is asked of a controller, and whenever: no task is lost, begun twice or left without an end, and every verb does what the table says", async () => {
  await fc.assert(
    fc.asyncProperty(anyCommands, async (commands) => {
      const world = new World();
      await world.open();
      await fc.asyncModelRun(() => ({ model: { tasks: 0, runs: 0 }, real: world }), commands);
      await world.close();
      expect(world.wrong).toEqual([]);
    }),
    { numRuns: long ? 20_000 : 300 },
  );
});
