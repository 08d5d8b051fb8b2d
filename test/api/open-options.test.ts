import { expect, it } from "vitest";
import { Controller, ConfigurationError, definePipeline, memoryStore, task } from "../../src/index.ts";
import { call, openStage } from "./stage.ts";

const tick = task({ name: "tick" }, () => 1);
const empty = definePipeline("empty", {}, () => {});

/** What a caller without types may pass. */
async function openWith(options: unknown): Promise<unknown> {
  return await call(Controller, "open", [options]);
}

it.each([
  [{ task: [tick] }, 'Controller.open has no option "task". Did you mean "tasks"?'],
  [{ concurency: {} }, 'Did you mean "concurrency"?'],
  [{ count: 64 }, "buckets"],
  [{ zzz: 1 }, "Known: store, tasks, pipelines, concurrency, buckets, clock, logger, random"],
  ["options", 'Controller.open must be a plain object; found "options".'],
  [null, "Controller.open must be a plain object; found null."],
  [{ tasks: tick }, "tasks must be a list"],
  [{ tasks: [null] }, "tasks: each must be made by task(...); found null"],
  [{ tasks: [empty] }, "tasks: each must be made by task(...)"],
  [{ tasks: [{ name: "x", run() {} }] }, "tasks: each must be made by task(...)"],
  [{ pipelines: [tick] }, "pipelines: each must be made by definePipeline(...)"],
  [{ pipelines: [{ name: "x", build() {} }] }, "pipelines: each must be made by definePipeline(...)"],
  [{ pipelines: {} }, "pipelines must be a list"],
  [{ tasks: [tick, task({ name: "tick" }, () => 2)] }, 'two tasks are named "tick"'],
  [{ tasks: [tick, tick] }, 'two tasks are named "tick"'],
  [{ pipelines: [empty, definePipeline("empty", {}, () => {})] }, 'two pipelines are named "empty"'],
  [{ concurrency: 4 }, "concurrency must be a plain object; found 4"],
  [{ concurrency: { maxParallel: 0 } }, "concurrency.maxParallel must be an integer of at least 1; found 0"],
  [{ concurrency: { maxParallel: "8" } }, 'concurrency.maxParallel must be an integer of at least 1; found "8"'],
  [{ concurrency: { limits: { io: 0 } } }, "concurrency.limits"],
  [{ concurrency: { perBucket: 1.5 } }, "concurrency.perBucket must be an integer"],
  [{ concurrency: { defaultPriority: NaN } }, "concurrency.defaultPriority must be an integer; found NaN"],
  [{ concurrency: { aging: "soon" } }, "concurrency.aging"],
  [{ concurrency: { maxParalel: 2 } }, 'Did you mean "maxParallel"?'],
  [{ maxParallel: 3 }, 'Controller.open has no option "maxParallel". It belongs one level deeper: concurrency: { maxParallel }. Known: '],
  [{ maxTasks: 3 }, "It belongs one level deeper: threads: { maxTasks } or processes: { maxTasks }."],
  [{ announce: true }, "watchLoop: { announce }"],
  [{ threads: { stackSizeMb: 8 } }, "resourceLimits: { stackSizeMb }"],
  [{ clock: 5 }, "clock must have the methods now, monotonic, setTimer, turn; found 5"],
  [{ clock: { now: () => 0 } }, "clock must have the methods now, monotonic, setTimer, turn"],
  [{ store: {} }, "store must have"],
  [{ store: "tasks.db" }, "store must have"],
  [{ logger: console.log }, "logger must have the methods debug, info, warn, error"],
  [{ random: 0.5 }, "random must be a function; found 0.5"],
])("refuses to open with %o", async (options, message) => {
  const problem = await openWith(options).then(
    () => "opened",
    (error: unknown) => error,
  );
  expect(problem).toBeInstanceOf(ConfigurationError);
  expect(problem).toHaveProperty("message", expect.stringContaining(message));
});

it("opens without options, and with a console for a logger", async () => {
  await using plain = await Controller.open();
  await using logging = await Controller.open({ logger: console, store: memoryStore(), tasks: [tick], pipelines: [empty] });
  expect(plain.names).toEqual({ tasks: [], pipelines: [] });
  expect(logging.names).toEqual({ tasks: ["tick"], pipelines: ["empty"] });
});

it("closes once, however often it is asked, and takes nothing afterwards", async () => {
  await using stage = await openStage({ tasks: [tick], pipelines: [empty] });
  const { controller } = stage;
  const { id } = await controller.submit(tick);
  await Promise.all([controller.close(), controller.close()]);
  await controller.close();
  await expect(controller.submit(tick)).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
  await expect(controller.startRun(empty)).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
  await expect(controller.get(id)).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
});

it("refuses a grace that is none, and stays open", async () => {
  await using stage = await openStage({ tasks: [tick] });
  await expect(stage.controller.close({ grace: -1 })).rejects.toThrow("close: grace");
  await expect(call(stage.controller, "close", [{ graze: 1 }])).rejects.toThrow('Did you mean "grace"?');
  expect(await (await stage.controller.submit(tick)).result()).toBe(1);
});
