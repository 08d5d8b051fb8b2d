import { describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { task } from "../../src/api/task.ts";
import type { TaskHandle } from "../../src/api/task-handle.ts";
import type { TaskEvent } from "../../src/core/events.ts";
import type { TaskHooks } from "../../src/core/ports/hooks.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { sleep } from "../runtime/support/puppet.ts";

describe("C031: a parent that waits holds no slot that its child needs", () => {
  /** Parents that each submit a child and wait for it, so many deep. */
  async function nest(options: { readonly depth: number; readonly parents: number; readonly tags?: readonly string[] }): Promise<readonly unknown[]> {
    const { depth, parents, tags = [] } = options;
    const clock = new FakeClock();
    const parent = task({ name: "parent", tags }, async (_ctx, below: number): Promise<number> => {
      if (below === 0) return 0;
      const child = await controller.submit(parent, [below - 1]);
      await child.wait({ timeout: "none" });
      return 1 + ((await child.result()) as number);
    });
    const controller: Controller = await Controller.open({
      clock,
      tasks: [parent],
      buckets: { count: 1 },
      concurrency: { maxParallel: 2, perBucket: 2, limits: Object.fromEntries(tags.map((tag) => [tag, 1])) },
    });
    const handles: TaskHandle<number>[] = [];
    for (let index = 0; index < parents; index += 1) handles.push(await controller.submit(parent, [depth]));
    await clock.advance("2s");
    const rows = await Promise.all(handles.map(async ({ id }) => await controller.get(id)));
    const ends = rows.map(({ status, outcome, failure }) => (status === "succeeded" ? outcome : `${failure?.name}: ${failure?.message}`));
    const closed = controller.close({ grace: 0 });
    await clock.advance("1m");
    await closed;
    expect(clock.pendingTimers).toBe(0);
    return ends;
  }

  test.each([1, 3])("two parents in a bucket of two, %i deep: all succeed", async (depth) => {
    expect(await nest({ depth, parents: 2 })).toEqual([depth, depth]);
  });

  test("with a tag of one that parent and child share: a deadlock that names both, and never a silent hang", async () => {
    const [first, second] = await nest({ depth: 1, parents: 2, tags: ["x"] });
    for (const end of [first, second]) {
      expect(end).toMatch(/^Deadlock: .*"x"/);
      expect(new Set(String(end).match(/\b[0-9a-z]{16}\b/g)).size).toBe(2);
    }
  });
});

describe("C037: whoever listens cannot hurt those they listen to", () => {
  const TASKS = 200;

  interface Heard {
    readonly counts: Readonly<Record<string, number>>;
    readonly steps: readonly string[];
    readonly warnings: number;
    readonly errors: number;
  }

  /** 200 tasks, some of which fail once; what a healthy listener heard of it, and how they ended. */
  async function hear(hooks: (controller: () => Controller) => TaskHooks): Promise<Heard> {
    const clock = new FakeClock();
    let errors = 0;
    const work = task({ name: "work", retry: { maxAttempts: 2 } }, async (ctx, index: number) => {
      await sleep(clock, index % 7);
      if (index % 5 === 0 && ctx.attempt === 1) throw new Error("once");
      return index;
    });
    const extra = task({ name: "extra" }, () => "extra");
    const quiet = { debug: () => {}, info: () => {}, warn: () => {} };
    const controller: Controller = await Controller.open({
      clock,
      random: () => 0.5,
      tasks: [work, extra],
      logger: { ...quiet, error: () => void (errors += 1) },
      ...hooks(() => controller),
    });
    const events: TaskEvent[] = [];
    const listening = (async () => {
      for await (const event of controller.events({ limit: 100_000 })) events.push(event);
    })();
    const ids = new Map<string, number>();
    for (let index = 0; index < TASKS; index += 1) ids.set((await controller.submit(work, [index])).id, index);
    await clock.advance("10m");
    const counts = await controller.stats({});
    await controller.close();
    await listening;
    const steps = events.flatMap((event) => (event.type === "TaskStatusChanged" ? [`${ids.get(event.taskId) ?? "extra"} ${event.to}`] : []));
    return { counts, steps, warnings: events.filter((event) => event.type === "TaskWarning" && event.code === "hook_failed").length, errors };
  }

  const every = (hook: () => unknown): TaskHooks => ({ onStart: hook, onSuccess: hook, onFailure: hook, onRetry: hook });

  test.each<readonly [string, TaskHooks]>([
    ["throw", every(() => JSON.parse("{"))],
    ["reject", every(async () => await Promise.reject(new Error("later")))],
  ])("those that %s: each call is told once, and nothing else is different", async (_how, broken) => {
    const calm = await hear(() => ({}));
    const hurt = await hear(() => broken);
    expect(hurt.counts).toEqual(calm.counts);
    expect(hurt.steps).toEqual(calm.steps);
    // Each of 200 starts and ends, and 40 that fail once, start twice.
    expect([hurt.warnings, hurt.errors]).toEqual([2 * TASKS + 80, 2 * TASKS + 80]);
    expect([calm.warnings, calm.errors]).toEqual([0, 0]);
  });

  test("those that never end", async () => {
    const calm = await hear(() => ({}));
    const clock = new FakeClock();
    const work = task({ name: "work" }, () => 1);
    const controller = await Controller.open({ clock, tasks: [work], ...every(async () => await new Promise(() => {})) });
    for (let index = 0; index < TASKS; index += 1) await controller.submit(work);
    await clock.advance("1m");
    expect(await controller.stats({})).toMatchObject({ succeeded: TASKS });
    expect(calm.counts).toMatchObject({ succeeded: TASKS });
    const closed = controller.close({ grace: 0 });
    await clock.advance("1m");
    await closed;
  });

  test("those that stop their own task, or submit another: that happens, and no more", async () => {
    let submitted = 0;
    const heard = await hear((controller) => ({
      onStart: ({ taskId, name }) =>
        name === "work"
          ? controller()
              .stop(taskId)
              .catch(() => undefined)
          : undefined,
      onCancel: async () => {
        submitted += 1;
        if (submitted <= 100) await controller().submit("extra");
      },
    }));
    const { succeeded = 0, stopped = 0, failed = 0, lost = 0 } = heard.counts;
    expect({ failed, lost, all: succeeded + stopped }).toEqual({ failed: 0, lost: 0, all: TASKS + Math.min(submitted, 100) });
    expect(submitted).toBe(stopped);
    expect(stopped).toBeGreaterThan(0);
    expect(heard.warnings).toBe(0);
  });
});
