import { expect, test } from "vitest";
import { constant, memoryStore, task } from "../../src/index.ts";
import type { ControllerOptions, TaskContext, TaskStore } from "../../src/index.ts";
import { openStage } from "../api/stage.ts";
import type { Stage } from "../api/stage.ts";

/** Counts what runs at once, in all and by label. */
class Census {
  readonly now = new Map<string, number>();
  readonly peak = new Map<string, number>();

  enter(...labels: readonly string[]): void {
    for (const label of labels) {
      const count = (this.now.get(label) ?? 0) + 1;
      this.now.set(label, count);
      this.peak.set(label, Math.max(this.peak.get(label) ?? 0, count));
    }
  }

  leave(...labels: readonly string[]): void {
    for (const label of labels) this.now.set(label, (this.now.get(label) ?? 0) - 1);
  }
}

async function sleep(stage: Stage, ms: number): Promise<void> {
  await new Promise<void>((resolve) => void stage.clock.setTimer(ms, resolve));
}

/** Moves the clock until all tasks have ended. */
async function finish(stage: Stage, stepMs = 1_000): Promise<void> {
  for (let step = 0; step < 1_000; step += 1) {
    const { queued, starting, running, retry_wait, paused } = await stage.controller.stats();
    if (queued + starting + running + retry_wait + paused === 0) return;
    await stage.clock.advance(stepMs);
  }
  throw new Error("not all tasks have ended");
}

test("C026: what is retried while its bucket is held starts with the others when the hold ends, and none is forgotten", async () => {
  let broken = true;
  const work = task({ name: "work" }, (_ctx, fails: boolean) => {
    if (fails && broken) throw new Error("broken");
  });
  await using stage = await openStage({ tasks: [work], buckets: { count: 1 } });
  const { controller } = stage;
  const failed = await Promise.all([1, 2, 3, 4, 5].map(() => controller.submit(work, [true])));
  await finish(stage);
  expect(await controller.stats()).toMatchObject({ failed: 5 });
  await controller.hold({ bucket: 0 });
  for (let i = 0; i < 10; i += 1) await controller.submit(work, [false]);
  broken = false;
  for (const handle of failed) await handle.retry();
  await stage.clock.advance("1m");
  expect(await controller.stats()).toMatchObject({ queued: 15, succeeded: 0, failed: 0 });
  expect(await controller.bucketCounts({ status: ["queued"] })).toEqual(new Map([[0, 15]]));
  await controller.release({ bucket: 0 });
  await finish(stage);
  expect(await controller.stats()).toMatchObject({ queued: 0, succeeded: 15, failed: 0 });
});

test("C028: a limit that was changed outlasts hold, pause and resume, and lowering it ends nothing", async () => {
  const census = new Census();
  const work = task({ name: "work" }, async () => {
    census.enter("all");
    await sleep(stage, 100);
    census.leave("all");
  });
  await using stage = await openStage({ tasks: [work], buckets: { count: 1 }, concurrency: { maxParallel: 50, perBucket: 10 } });
  const { controller } = stage;
  const first = await Promise.all(Array.from({ length: 10 }, () => controller.submit(work)));
  await stage.clock.advance(10);
  expect(census.now.get("all")).toBe(10);
  await controller.setLimits({ perBucket: 3 });
  await controller.hold({ bucket: 0 });
  const waiting = await controller.submit(work);
  await waiting.pause();
  await stage.clock.advance(1_000);
  expect((await Promise.all(first.map((handle) => handle.snapshot()))).map(({ status }) => status)).toEqual(first.map(() => "succeeded"));
  census.peak.clear();
  for (let i = 0; i < 29; i += 1) await controller.submit(work);
  await waiting.resume();
  await controller.release({ bucket: 0 });
  await finish(stage, 50);
  expect(census.peak.get("all")).toBe(3);
  expect(controller.limits).toEqual({ maxParallel: 50, limits: {}, perBucket: 3 });
  expect(await controller.stats()).toMatchObject({ succeeded: 40 });
});

/** A store that counts what is written to it. */
function counting(store: TaskStore): { readonly store: TaskStore; readonly written: { rows: number } } {
  const written = { rows: 0 };
  const { tasks } = store;
  const create: typeof tasks.create = async (creations) => {
    written.rows += creations.length;
    await tasks.create(creations);
  };
  const commit: typeof tasks.commit = async (changes) => {
    written.rows += changes.length;
    return await tasks.commit(changes);
  };
  const counted = new Proxy(tasks, {
    get(target, name) {
      if (name === "create") return create;
      if (name === "commit") return commit;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { store: { ...store, tasks: counted, open: async () => await store.open(), close: async () => await store.close() }, written };
}

test("C029: tasks that wait for a limit cost no attempts, no writes and no statuses", async () => {
  const count = 2_000;
  const census = new Census();
  const statuses = new Set<string>();
  const work = task({ name: "work", tags: ["db"] }, async () => {
    census.enter("db");
    await sleep(stage, 5);
    census.leave("db");
  });
  const { store, written } = counting(memoryStore());
  await using stage = await openStage({ store, tasks: [work], concurrency: { maxParallel: 16, limits: { db: 4 } } });
  const { controller } = stage;
  const events = controller.events({ types: ["TaskStatusChanged"], limit: 100_000 });
  const reading = (async () => {
    for await (const event of events) if (event.type === "TaskStatusChanged") statuses.add(event.to);
  })();
  for (let i = 0; i < count; i += 1) await controller.submit(work);
  await finish(stage, 500);
  expect(census.peak.get("db")).toBe(4);
  expect(await controller.stats()).toMatchObject({ succeeded: count });
  for (let cursor: string | undefined, more = true; more;) {
    const page = await controller.list(cursor === undefined ? { limit: 1_000 } : { limit: 1_000, cursor });
    for (const { attempt } of page.items) expect(attempt).toBe(1);
    cursor = page.cursor ?? undefined;
    more = cursor !== undefined;
  }
  expect(written.rows / count).toBeLessThanOrEqual(8);
  await controller.close();
  await reading;
  expect([...statuses].toSorted()).toEqual(["queued", "running", "starting", "succeeded"]);
});

test("C033: semaphores in any order, given twice or not, are taken all or none, and nothing waits for ever", async () => {
  const census = new Census();
  const body = async (ctx: TaskContext, tags: readonly string[]): Promise<void> => {
    const held = [...new Set(tags)];
    census.enter(...held);
    await sleep(stage, 5);
    census.leave(...held);
    void ctx;
  };
  const work = task({ name: "work" }, body);
  await using stage = await openStage({ tasks: [work], concurrency: { maxParallel: 50, limits: { x: 1, y: 1 } } });
  const kinds = [["x", "y"], ["y", "x"], ["x", "x"], ["y"]];
  for (let i = 0; i < 200; i += 1) {
    const tags = kinds[i % kinds.length] ?? [];
    await stage.controller.submit(work, [tags], { tags });
  }
  await finish(stage, 100);
  expect([census.peak.get("x"), census.peak.get("y")]).toEqual([1, 1]);
  expect(await stage.controller.stats()).toMatchObject({ succeeded: 200 });
});

/** From a seed, so that two rounds are the same. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

async function herd(
  options: ControllerOptions,
): Promise<{ readonly second: readonly number[]; readonly due: readonly (number | null)[]; readonly peak: number }> {
  const census = new Census();
  const second: number[] = [];
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const work = task({ name: "work", retry: { maxAttempts: 2, backoff: constant({ delay: "1s" }) } }, async (ctx) => {
    census.enter("all");
    if (ctx.attempt === 2) second.push(stage.clock.now());
    else await opened;
    census.leave("all");
    if (ctx.attempt === 1) throw new Error("overloaded");
  });
  await using stage = await openStage({ tasks: [work], ...options });
  const { controller } = stage;
  const handles = [];
  for (let i = 0; i < 1_000; i += 1) handles.push(await controller.submit(work));
  await stage.clock.advance(1);
  open();
  await stage.clock.advance(0);
  const due = (await Promise.all(handles.map((handle) => handle.snapshot()))).map(({ availableAt }) => availableAt);
  await finish(stage, 50);
  const attempts = await Promise.all(handles.map((handle) => controller.attempts(handle.id)));
  expect(attempts.flat()).toHaveLength(2_000);
  expect(await controller.stats()).toMatchObject({ succeeded: 1_000 });
  return { second, due, peak: census.peak.get("all") ?? 0 };
}

test("C036: what fails together is not retried together, within the limit, and the same again from the same seed", async () => {
  const concurrency = { maxParallel: 50 };
  const first = await herd({ concurrency, random: seeded(7) });
  const again = await herd({ concurrency, random: seeded(7) });
  expect(again.due).toEqual(first.due);
  expect(first.peak).toBe(50);
  expect(first.second).toHaveLength(1_000);
  for (const from of first.second) {
    const within = first.second.filter((at) => at >= from && at < from + 100).length;
    expect(within).toBeLessThanOrEqual(250);
  }
}, 20_000);
