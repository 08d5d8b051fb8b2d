import { beforeEach, describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { definePipeline } from "../../src/api/pipeline.ts";
import { task } from "../../src/api/task.ts";
import { InvalidTransition, UnknownId } from "../../src/core/errors.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { sleep } from "../runtime/support/puppet.ts";
import { NOTHING_LEFT, Rig, submission } from "../runtime/support/rig.ts";

let clock: FakeClock;

beforeEach(() => {
  clock = new FakeClock();
});

describe("C006: verbs on finished tasks are harmless", () => {
  const works = task({ name: "works" }, (_ctx, value: number) => value);

  test("stop, pause, resume, cancel and start of 50 finished tasks are refused and change nothing; 10 new ones succeed", async () => {
    const controller = await Controller.open({ clock, tasks: [works], concurrency: { maxParallel: 2 } });
    const handles = [];
    for (let index = 0; index < 50; index += 1) handles.push(await controller.submit(works, [index]));
    await clock.advance(0);
    const before = await Promise.all(handles.map(async ({ id }) => [await controller.get(id), await controller.history(id)]));
    for (const { id } of handles) {
      for (const verb of ["stop", "pause", "resume", "cancel", "start"] as const) {
        await expect(controller[verb](id)).rejects.toBeInstanceOf(InvalidTransition);
      }
    }
    expect(await Promise.all(handles.map(async ({ id }) => [await controller.get(id), await controller.history(id)]))).toEqual(before);
    const again = [];
    for (let index = 0; index < 10; index += 1) again.push(await controller.submit(works, [index]));
    expect(await Promise.all(again.map(async (handle) => await handle.result()))).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect((await controller.stats()).succeeded).toBe(60);
    await controller.close();
    expect(clock.pendingTimers).toBe(0);
  });

  test("a stop of a stopped task and a cancel of a cancelled one answer with the task as it is", async () => {
    const waits = task({ name: "waits" }, async (ctx) => {
      for (;;) {
        await ctx.checkpoint();
        await sleep(clock, 10);
      }
    });
    const controller = await Controller.open({ clock, tasks: [waits] });
    for (const [verb, status] of [
      ["stop", "stopped"],
      ["cancel", "cancelled"],
    ] as const) {
      const handle = await controller.submit(waits);
      const ended = handle[verb]();
      await clock.advance(10);
      const row = await ended;
      expect(row.status).toBe(status);
      expect(await handle[verb]()).toEqual(await controller.get(handle.id));
      expect((await controller.get(handle.id)).statusVersion).toBe(row.statusVersion);
    }
    await controller.close();
  });
});

describe("C007: no wait misses a fast finish", () => {
  test("2,000 tasks that return synchronously: a wait at once, a microtask later, 0 to 3 ms later, and long after", async () => {
    const rig = await Rig.open({ concurrency: { maxParallel: 100 } });
    const waits: Promise<unknown>[] = [];
    for (let index = 0; index < 2_000; index += 1) {
      const wait = async (): Promise<void> => {
        const cell = await rig.engine.submit(submission(() => index, { executor: index % 2 === 0 ? "async" : "inline" }));
        if (index % 4 === 1) await Promise.resolve();
        if (index % 4 === 2) await sleep(rig.clock, (index % 16) >> 2);
        if (index % 4 === 3) await sleep(rig.clock, 3_600_000);
        expect(await rig.engine.wait(cell.taskId, null, { timeoutMs: 5_000 })).toMatchObject({ status: "succeeded", outcome: index });
        expect(cell.watcherCount).toBe(0);
      };
      waits.push(wait());
    }
    await rig.clock.advance("2h");
    expect(await Promise.all(waits)).toHaveLength(2_000);
    expect(rig.left).toEqual(NOTHING_LEFT);
    expect((await rig.store.tasks.counts({})).succeeded).toBe(2_000);
  });

  test("a wait for a task that is gone is told so", async () => {
    const rig = await Rig.open();
    await expect(rig.engine.wait("0000000000000000", null, { timeoutMs: 5_000 })).rejects.toBeInstanceOf(UnknownId);
    expect(rig.clock.pendingTimers).toBe(0);
  });
});

describe("C010: pause and resume promote nothing", () => {
  // The design refuses `pause` of a blocked task, and a retry_wait that was paused goes on in the queue at its due time.
  test("a blocked node: both are refused, it stays blocked, and after its upstream failed its body has never run", async () => {
    let ran = 0;
    const first = task({ name: "first" }, async () => {
      await sleep(clock, 1_000);
      throw new Error("boom");
    });
    const second = task({ name: "second" }, () => (ran += 1));
    const pair = definePipeline("pair", {}, (p) => void p.add(second, { deps: [p.add(first)] }));
    const controller = await Controller.open({ clock, tasks: [first, second], pipelines: [pair] });
    const run = await controller.startRun(pair);
    await clock.advance(200);
    const id = run.graph().find(({ name }) => name === "second")?.taskId ?? "none";
    await expect(controller.pause(id)).rejects.toBeInstanceOf(InvalidTransition);
    await expect(controller.resume(id)).rejects.toBeInstanceOf(InvalidTransition);
    expect((await controller.get(id)).status).toBe("blocked");
    await clock.advance("1h");
    expect(await controller.get(id)).toMatchObject({ status: "cancelled", failure: { kind: "dependency_failed" } });
    expect([ran, (await run.wait({ timeout: 0 })).status]).toEqual([0, "failed"]);
    await controller.close();
  });

  test("a task in retry_wait: paused and resumed, it does not run before the instant that was set", async () => {
    const begun: number[] = [];
    const fails = task({ name: "fails", retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } }, () => {
      begun.push(clock.monotonic());
      throw new Error("boom");
    });
    const controller = await Controller.open({ clock, tasks: [fails] });
    const { id } = await controller.submit(fails);
    await clock.advance("10s");
    const { availableAt } = await controller.get(id);
    expect(await controller.pause(id)).toBe(true);
    await clock.advance("10s");
    expect(await controller.resume(id)).toMatchObject({ status: "queued", availableAt });
    await clock.advance(39_999);
    expect(begun).toEqual([0]);
    await clock.advance(1);
    expect(begun).toEqual([0, 60_000]);
    await controller.close();
  });

  test("a task that is paused past that instant runs when it is resumed, and not before", async () => {
    const begun: number[] = [];
    const fails = task({ name: "fails", retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } }, () => {
      begun.push(clock.monotonic());
      throw new Error("boom");
    });
    const controller = await Controller.open({ clock, tasks: [fails] });
    const { id } = await controller.submit(fails);
    await clock.advance(0);
    await controller.pause(id);
    await clock.advance("1h");
    expect(begun).toEqual([0]);
    await controller.resume(id);
    await clock.advance(0);
    expect(begun).toEqual([0, 3_600_000]);
    await controller.close();
  });
});
