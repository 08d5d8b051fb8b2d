import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { constant, Controller, definePipeline, StoreError, task, TASK_STATUSES } from "../../src/index.ts";
import type { TaskQuery, TaskSnapshot } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { gate, openStage, storeWith } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** Does a row fit a query? Written anew here, so that list and stats have somebody to disagree with. */
function fits(row: TaskSnapshot, query: TaskQuery): boolean {
  if (query.status !== undefined && !query.status.includes(row.status)) return false;
  if (query.pipelineRunId !== undefined && query.pipelineRunId !== row.pipelineRunId) return false;
  if (query.tag !== undefined && !row.tags.includes(query.tag)) return false;
  if (query.name !== undefined && query.name !== row.name) return false;
  if (query.namePrefix !== undefined && !row.name.startsWith(query.namePrefix)) return false;
  if (query.idPrefix !== undefined && !row.taskId.startsWith(query.idPrefix)) return false;
  if (query.bucket !== undefined && query.bucket !== row.bucket) return false;
  if (query.owner !== undefined && query.owner !== row.owner) return false;
  return query.createdSince === undefined || row.createdAt >= query.createdSince;
}

/** Tasks in many statuses, of a run and on their own, made at three instants. */
async function populate(): Promise<{ readonly stage: Stage; readonly rows: readonly TaskSnapshot[] }> {
  const held = task({ name: "held", tags: ["io"] }, async () => await gate().opened);
  const works = task({ name: "works", tags: ["io", "fast"] }, () => 1);
  const fails = task({ name: "fails", retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } }, () => {
    throw new Error("no");
  });
  const pair = definePipeline("pair", {}, (p) => {
    const first = p.add(held, { name: "first" });
    p.add(works, { name: "second", deps: [first] });
  });
  const stage = await openStage({ tasks: [held, works, fails], pipelines: [pair], concurrency: { maxParallel: 3 } });
  const { controller, clock } = stage;
  await controller.submit(works);
  await controller.submit(fails);
  await controller.submit(held);
  await clock.advance("1s");
  await controller.startRun(pair);
  await clock.advance("1s");
  const ended = await controller.submit(works);
  await clock.advance(1);
  expect((await ended.snapshot()).status).toBe("succeeded");
  await controller.submit(held);
  for (const verb of ["pause", "cancel"] as const) await controller[verb]((await controller.submit(works)).id);
  await controller.submit(works);
  await clock.advance(1);
  return { stage, rows: (await controller.list({ limit: 1_000 })).items };
}

describe("list and stats", () => {
  it("find by each filter, and by any of them together, what a plain look at each row finds", async () => {
    const { stage, rows } = await populate();
    await using _ = stage;
    const { controller } = stage;
    expect(new Set(rows.map(({ status }) => status)).size).toBeGreaterThan(5);
    const oneOf = <Key extends keyof TaskSnapshot>(key: Key): fc.Arbitrary<NonNullable<TaskSnapshot[Key]> | undefined> => {
      const values = [...new Set(rows.map((row) => row[key]))].flatMap((value) => (value === null || value === undefined ? [] : [value]));
      return fc.option(values.length === 0 ? fc.constant(undefined) : fc.constantFrom(...values), { nil: undefined, freq: 2 });
    };
    const anyQuery = fc.record({
      status: fc.option(fc.subarray([...TASK_STATUSES], { minLength: 1 }), { nil: undefined, freq: 2 }),
      pipelineRunId: oneOf("pipelineRunId"),
      tag: fc.option(fc.constantFrom("io", "fast", "none"), { nil: undefined, freq: 2 }),
      name: oneOf("name"),
      namePrefix: fc.option(fc.constantFrom("", "w", "held", "x"), { nil: undefined, freq: 2 }),
      idPrefix: oneOf("taskId").chain((id) => fc.nat(8).map((length) => id?.slice(0, length))),
      bucket: fc.option(fc.constant(1), { nil: undefined, freq: 1 }),
      owner: oneOf("owner"),
      createdSince: oneOf("createdAt"),
    });
    await fc.assert(
      fc.asyncProperty(anyQuery, async (filters) => {
        const query: TaskQuery = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
        const expected = rows.filter((row) => fits(row, query));
        const { items } = await controller.list({ ...query, limit: 1_000 });
        expect(items.map(({ taskId }) => taskId)).toEqual(expected.map(({ taskId }) => taskId));
        const counts = await controller.stats(query);
        for (const status of TASK_STATUSES) expect([status, counts[status]]).toEqual([status, expected.filter((row) => row.status === status).length]);
      }),
      { numRuns: 300 },
    );
  });
});

describe("health", () => {
  it("says that the store does not write, and how often it did not", async () => {
    const clock = new FakeClock();
    let isDown = false;
    const shaky = storeWith(async () => {
      if (isDown) throw new StoreError("the disk is full", { transient: true });
    });
    const works = task({ name: "works" }, () => 1);
    const controller = await Controller.open({ clock, store: shaky, tasks: [works] });
    expect(controller.health).toEqual({ degraded: false, persistFailures: 0, orphans: 0 });
    isDown = true;
    const handle = await controller.submit(works);
    await clock.advance(10);
    expect(controller.health).toEqual({ degraded: true, persistFailures: 1, orphans: 0 });
    await clock.advance(50);
    expect(controller.health.persistFailures).toBe(2);
    isDown = false;
    await clock.advance("2s");
    expect(controller.health.degraded).toBe(false);
    expect(await handle.result()).toBe(1);
    await controller.close();
  });
});

describe("names", () => {
  it("are those that are registered, in their order; tasks of nodes alone are no part of them", async () => {
    const [b, a, inner] = [task({ name: "b" }, () => 1), task({ name: "a" }, () => 1), task({ name: "inner" }, () => 1)];
    const one = definePipeline("one", {}, (p) => void p.add(inner));
    await using stage = await openStage({ tasks: [b, a], pipelines: [one] });
    const run = await stage.controller.startRun(one);
    await stage.clock.advance(1);
    expect((await run.snapshot()).status).toBe("succeeded");
    expect(stage.controller.names).toEqual({ tasks: ["b", "a"], pipelines: ["one"] });
  });
});
