import fc from "fast-check";
import { expect, it } from "vitest";
import { randomFrom, SHAPES } from "../core/graph-model.ts";
import { DagAudit } from "./dag-audit.ts";
import { randomScripts } from "./dag-plan.ts";
import type { Policy } from "./dag-plan.ts";
import { People } from "./dag-people.ts";
import { DagWorld } from "./dag-world.ts";
import type { Plan } from "./dag-world.ts";
import type { Limits } from "./dispatch-audit.ts";

const long = process.env["CHONGMING_LONG"] === "1";

const anyLimits = fc.record({
  maxParallel: fc.integer({ min: 1, max: 12 }),
  tags: fc.dictionary(fc.constantFrom("x", "y", "z"), fc.integer({ min: 1, max: 4 })),
});

const recipeOf = (count: fc.Arbitrary<number>) =>
  fc.record({
    shape: fc.constantFrom(...SHAPES),
    count,
    policy: fc.constantFrom("failFast", "allSettled", "allSettled", "quorum"),
    badness: fc.constantFrom(0, 0.2, 1),
    seed: fc.integer(),
    priority: fc.integer({ min: -1, max: 1 }),
  });

type Recipe = ReturnType<typeof recipeOf> extends fc.Arbitrary<infer Value> ? Value : never;

function cook({ shape, count, policy, badness, seed, priority }: Recipe): Plan {
  const random = randomFrom(seed);
  const scripts = randomScripts({ shape, count, badness }, random);
  const kind: Policy = policy === "quorum" ? { kind: policy, count: 1 + Math.floor(random() * count) } : { kind: policy };
  return { scripts, policy: kind, priority };
}

/** Everything ends by itself, and everything is as it was foretold. */
async function play(limits: Limits, recipes: readonly Recipe[]): Promise<void> {
  const world = new DagWorld(limits, recipes.map(cook));
  await world.open();
  const audit = new DagAudit(world, limits);
  for (const ms of [0, 1, 2, 5, 10, 20, 50, 600_000]) {
    await world.clock.advance(ms);
    audit.rest();
  }
  expect(await audit.endedAsForetold()).toEqual([]);
  await world.close();
  expect(world.wrong).toEqual([]);
}

/** People interfere all along; in the end they let go of everything. */
async function playMeddled(limits: Limits, recipes: readonly Recipe[], seed: number): Promise<void> {
  const world = new DagWorld(limits, recipes.map(cook));
  await world.open();
  const audit = new DagAudit(world, limits);
  const people = new People(world, randomFrom(seed));
  for (let round = 0; round < 25; round += 1) {
    await people.meddle();
    audit.rest();
  }
  await people.letGo();
  expect([...people.wrong, ...(await audit.ended())]).toEqual([]);
  await world.close();
  expect(world.wrong).toEqual([]);
}

it("random pipelines, several at once: each node ends as the wiring alone foretells, each attempt runs once, no limit is passed at any instant", async () => {
  const recipes = fc.array(recipeOf(fc.integer({ min: 1, max: 60 })), { minLength: 1, maxLength: 3 });
  await fc.assert(fc.asyncProperty(anyLimits, recipes, play), { numRuns: long ? 10_000 : 80 });
});

it("pipelines of 100 to 1,000 nodes do as well", async () => {
  const recipe = recipeOf(fc.integer({ min: 100, max: 1_000 }));
  const property = fc.asyncProperty(anyLimits, recipe, async (limits, each) => await play(limits, [each]));
  await fc.assert(property, { numRuns: long ? 500 : 6 });
});

it("pipelines whose nodes are paused, stopped, skipped, retried and reset all along take no step that their wiring does not allow, and end", async () => {
  const recipes = fc.array(recipeOf(fc.integer({ min: 1, max: 25 })), { minLength: 1, maxLength: 2 });
  await fc.assert(fc.asyncProperty(anyLimits, recipes, fc.integer(), playMeddled), { numRuns: long ? 10_000 : 80 });
});
