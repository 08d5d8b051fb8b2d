import fc from "fast-check";
import { expect, it } from "vitest";
import { allSettled, failFast, quorum } from "../../src/index.ts";
import { pick, randomFrom, SHAPES } from "../core/graph-model.ts";
import { foretellMaps, MapWorld, randomMaps } from "./map-world.ts";

const long = process.env["CHONGMING_LONG"] === "1";

const recipe = fc.record({
  shape: fc.constantFrom(...SHAPES),
  count: fc.integer({ min: 1, max: 25 }),
  badness: fc.constantFrom(0, 0.3, 1),
  maxParallel: fc.integer({ min: 1, max: 12 }),
  seed: fc.integer(),
});

type Recipe = typeof recipe extends fc.Arbitrary<infer Value> ? Value : never;

it("random pipelines with maps: each node ends as its wiring foretells, each item runs as often as it must, results stand in their order, no limit is passed", async () => {
  const property = fc.asyncProperty(recipe, async ({ maxParallel, seed, ...options }) => {
    const world = new MapWorld(randomMaps(options, randomFrom(seed)), { policy: allSettled(), maxParallel });
    await world.open();
    await world.clock.advance("10m");
    expect(await world.auditForetold()).toEqual([]);
    await world.close();
    expect(world.wrong).toEqual([]);
  });
  await fc.assert(property, { numRuns: long ? 5_000 : 100 });
});

it("where the run fails fast it fails if something was to fail, and nothing is left open", async () => {
  const property = fc.asyncProperty(recipe, async ({ maxParallel, seed, ...options }) => {
    const scripts = randomMaps(options, randomFrom(seed));
    const world = new MapWorld(scripts, { policy: failFast(), maxParallel });
    await world.open();
    await world.clock.advance("10m");
    expect(await world.audit()).toEqual([]);
    const isToFail = foretellMaps(scripts)
      .values()
      .some((status) => status === "failed");
    expect((await world.run.snapshot()).status === "failed").toBe(isToFail);
    await world.close();
    expect(world.wrong).toEqual([]);
  });
  await fc.assert(property, { numRuns: long ? 5_000 : 100 });
});

it("maps and items that are paused, stopped, skipped, retried, reset and forced all along, and their run paused, leave nothing behind, end, and end again when the run is retried", async () => {
  const play = async ({ maxParallel, seed, count, ...options }: Recipe): Promise<void> => {
    const random = randomFrom(seed);
    const policy = pick([allSettled(), allSettled(), failFast(), quorum(1)], random);
    const world = new MapWorld(randomMaps({ ...options, count: Math.min(count, 10) }, random), { policy, maxParallel });
    world.isMeddledWith = true;
    await world.open();
    for (let round = 0; round < 25; round += 1) {
      for (let wishes = 1 + Math.floor(random() * 3); wishes > 0; wishes -= 1) world.ask(random);
      await world.clock.advance(pick([0, 0, 1, 5, 20, 50], random));
    }
    await world.letGo();
    expect(await world.audit()).toEqual([]);
    await world.again();
    expect(await world.audit()).toEqual([]);
    await world.close();
    expect(world.wrong).toEqual([]);
  };
  const property = fc.asyncProperty(recipe, play);
  // A map was begun again for an item, and cancelled before it was launched.
  const known: Parameters<typeof play> = [{ shape: "diamonds", count: 10, badness: 0, maxParallel: 1, seed: -2_147_483_629 }];
  // A map ended while it was paused, and was begun again.
  const paused: Parameters<typeof play> = [{ shape: "tangle", count: 10, badness: 0, maxParallel: 1, seed: -734_957_162 }];
  await fc.assert(property, { numRuns: long ? 5_000 : 100, examples: [known, paused] });
});
