import { describe, expect, it } from "vitest";
import { Controller, definePipeline, memoryStore, task } from "../../src/index.ts";
import type { TaskStore } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { gate, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const pair = definePipeline("pair", {}, (p) => {
  const first = p.add(echo, { name: "first", args: [1] });
  p.add(echo, { name: "second", deps: [first], args: [2] });
});

/** A memory store that says it outlives the process, and can be looked at after the controller has closed. */
function lasting(): TaskStore {
  const store = memoryStore();
  const { tasks, audit, runs } = store;
  return { supports: { durability: true, sharing: false }, tasks, audit, runs, open: async () => await store.open(), close: async () => {} };
}

describe("what is on its way when the controller closes", () => {
  it("is refused or made and ended, whatever the turn: what was made settles", async () => {
    const ends: unknown[] = [];
    for (let turns = 0; turns < 12; turns += 1) {
      const clock = new FakeClock();
      const controller = await Controller.open({ clock, tasks: [echo], pipelines: [pair] });
      const result = controller.submit(echo, [1]).then(async (handle) => await handle.result());
      const end = controller.startRun(pair).then(async (run) => await run.wait({ timeout: "none" }));
      const settled = Promise.allSettled([result, end]);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      await controller.close();
      const [task, run] = await settled;
      ends.push(task.status === "fulfilled" ? task.value : task.reason.code, run.status === "fulfilled" ? run.value.status : run.reason.code);
    }
    expect([...new Set(ends)].filter((end) => end !== 1 && end !== "succeeded")).toEqual(["CONTROLLER_CLOSED", "TASK_CANCELLED", "stopped"]);
    // Refused at first, and never again once it was taken.
    expect(ends.lastIndexOf("CONTROLLER_CLOSED")).toBeLessThan(ends.indexOf("stopped"));
  });

  it("a run that is under way is stopped, nodes that have not begun included", async () => {
    const hold = task({ name: "hold" }, async () => await gate().opened);
    const held = definePipeline("held", {}, (p) => void p.add(echo, { deps: [p.add(hold)], args: [1] }));
    await using stage = await openStage({ pipelines: [held] });
    const run = await stage.controller.startRun(held);
    await stage.clock.advance(1);
    const end = run.wait({ timeout: "none" });
    const closed = stage.controller.close({ grace: "1s" });
    await stage.clock.advance("1s");
    await closed;
    expect(await end).toMatchObject({ status: "failed" });
    expect(run.graph().map(({ status }) => status)).toEqual(["lost", "stopped"]);
  });

  it.each([0, 1, 2, 3, 5, 8])("whatever is asked %i turns earlier settles", async (turns) => {
    const clock = new FakeClock();
    const controller = await Controller.open({ clock, tasks: [echo], pipelines: [pair], concurrency: { maxParallel: 1 } });
    const asked = Promise.allSettled(Array.from({ length: 5 }, async () => await (await controller.submit(echo, ["done"])).result()));
    const runs = Promise.allSettled(Array.from({ length: 2 }, async () => await (await controller.startRun(pair)).wait({ timeout: "none" })));
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    await controller.close();
    for (const end of await asked) expect(["done", "TASK_CANCELLED", "CONTROLLER_CLOSED"]).toContain(end.status === "fulfilled" ? end.value : end.reason.code);
    for (const end of await runs)
      expect(["stopped", "succeeded", "CONTROLLER_CLOSED"]).toContain(end.status === "fulfilled" ? end.value.status : end.reason.code);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a controller that has closed", () => {
  it("answers every question of its handles and its own with CONTROLLER_CLOSED: its store is closed, too", async () => {
    const stage = await openStage({ tasks: [echo], pipelines: [pair] });
    const { controller } = stage;
    const handle = await controller.submit(echo);
    const run = await controller.startRun(pair);
    await run.wait({ timeout: "1s" });
    await handle.wait({ timeout: "1s" });
    await stage[Symbol.asyncDispose]();
    const questions: Record<string, () => Promise<unknown>> = {
      snapshot: async () => await handle.snapshot(),
      events: async () => await handle.events().next(),
      "run.snapshot": async () => await run.snapshot(),
      "run.events": async () => await run.events().next(),
      get: async () => await controller.get(handle.id),
      list: async () => await controller.list(),
      stats: async () => await controller.stats(),
      bucketCounts: async () => await controller.bucketCounts(),
      attempts: async () => await controller.attempts(handle.id),
      history: async () => await controller.history(handle.id),
      explain: async () => await controller.explain(handle.id),
      can: async () => await controller.can(handle.id, "retry"),
      run: async () => await controller.run("gr000000000000000"),
      runs: async () => await controller.runs(),
      stream: async () => await controller.stream().next(),
    };
    const answers = Object.entries(questions).map(async ([name, ask]) => [name, await ask().then(JSON.stringify, (error: { code: string }) => error.code)]);
    expect(Object.fromEntries(await Promise.all(answers))).toEqual(Object.fromEntries(Object.keys(questions).map((name) => [name, "CONTROLLER_CLOSED"])));
  });
});

describe("with a store that lasts", () => {
  it("what has not begun stays as it is, and whoever waits for it here hears why", async () => {
    const hold = task({ name: "hold" }, async () => await gate().opened);
    const store = lasting();
    await using stage = await openStage({ store, tasks: [echo, hold], pipelines: [pair], concurrency: { maxParallel: 1 } });
    const running = await stage.controller.submit(hold);
    const queued = await stage.controller.submit(echo);
    const run = await stage.controller.startRun(pair);
    const waits = Promise.allSettled([queued.wait({ timeout: "none" }), queued.result(), run.wait({ timeout: "none" }), running.wait({ timeout: "none" })]);
    const closed = stage.controller.close({ grace: 0 });
    await stage.clock.advance(0);
    await closed;
    const gone = { status: "rejected", reason: { code: "CONTROLLER_CLOSED" } };
    expect(await waits).toMatchObject([gone, gone, gone, { value: { status: "lost" } }]);
    await expect(run.wait({ timeout: "none" })).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
    expect(await store.tasks.get(queued.id)).toMatchObject({ status: "queued" });
    expect((await store.tasks.query({ pipelineRunId: run.id })).items).toMatchObject([{ status: "queued" }, { status: "blocked" }]);
    expect(await store.runs.get(run.id)).toMatchObject({ status: "running" });
  });
});

describe("a second close", () => {
  const deaf = task({ name: "deaf" }, async () => await gate().opened);

  it("with a shorter grace brings the end of the first nearer", async () => {
    const clock = new FakeClock();
    const controller = await Controller.open({ clock, tasks: [deaf] });
    const handle = await controller.submit(deaf);
    const end = handle.wait({ timeout: "none" });
    await clock.advance(1);
    const first = controller.close({ grace: "1h" });
    await clock.advance("1m");
    const second = controller.close({ grace: 0 });
    await clock.advance(1);
    await Promise.all([first, second]);
    expect(await end).toMatchObject({ status: "lost" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("with a longer grace changes nothing", async () => {
    const clock = new FakeClock();
    const controller = await Controller.open({ clock, tasks: [deaf] });
    await controller.submit(deaf);
    await clock.advance(1);
    const first = controller.close({ grace: "1s" });
    const second = controller.close({ grace: "1h" });
    await clock.advance("1s");
    await Promise.all([first, second]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("gives the store no more time than its own grace and 5 s", async () => {
    const clock = new FakeClock();
    const store = memoryStore();
    const stuck: TaskStore = {
      supports: store.supports,
      audit: store.audit,
      runs: store.runs,
      tasks: Object.assign(Object.create(store.tasks) as TaskStore["tasks"], {
        create: async (creations: Parameters<TaskStore["tasks"]["create"]>[0]) => await store.tasks.create(creations),
        commit: async () => await gate<never>().opened,
      }),
      open: async () => await store.open(),
      close: async () => await store.close(),
    };
    const controller = await Controller.open({ clock, store: stuck, tasks: [deaf] });
    await controller.submit(deaf);
    await clock.advance(1);
    const first = controller.close({ grace: "1h" });
    await clock.advance("1m");
    const second = controller.close({ grace: 0 });
    await clock.advance("5s");
    await Promise.all([first, second]);
    expect(clock.pendingTimers).toBe(0);
  });
});
