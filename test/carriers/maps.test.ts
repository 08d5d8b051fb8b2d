import { describe, expect, it } from "vitest";
import { allSettled, Controller, definePipeline } from "../../src/index.ts";
import type { RunHandle, TaskStatus } from "../../src/index.ts";
import { processDouble, threadDouble } from "./fixtures/mapped.ts";
import type { Order } from "./fixtures/mapped.ts";
import { eventually } from "./support/eventually.ts";
import { Stage } from "./support/stage.ts";

const TASKS = { thread: threadDouble, process: processDouble };
const LIMIT = "60s";

const statuses = (run: RunHandle): readonly TaskStatus[] => run.items("each").map(({ status }) => status);

describe.each(["thread", "process"] as const)("a map of a task in a %s", (kind) => {
  const pipeline = definePipeline("mapped", { onFailure: allSettled() }, (p, items: readonly Order[]) => {
    p.map(TASKS[kind], { name: "each", items, maxParallel: 2 });
  });
  const open = async (): Promise<Controller> => await Controller.open({ tasks: [TASKS[kind]], pipelines: [pipeline], concurrency: { maxParallel: 4 } });

  it("gives the results of its items in their order, and tells which of them failed", async () => {
    await using controller = await open();
    const run = await controller.startRun(pipeline, [[5, 1, 4].map((value) => ({ value, until: null }))]);
    expect(await run.wait({ timeout: LIMIT })).toMatchObject({ status: "succeeded" });
    expect(await controller.get(run.graph()[0]?.taskId ?? "")).toMatchObject({ outcome: [10, 2, 8] });
    const failing = await controller.startRun(pipeline, [[5, -1].map((value) => ({ value, until: null }))]);
    expect(await failing.wait({ timeout: LIMIT })).toMatchObject({ status: "failed" });
    expect(failing.summary().firstFailure).toMatchObject({ node: "each", failure: { causes: [{ name: "each[1]", message: "no negatives: -1" }] } });
  });

  it("is paused and resumed with its items, and stopped with them", async () => {
    using stage = new Stage();
    await using controller = await open();
    const until = stage.path("go");
    const run = await controller.startRun(pipeline, [[1, 2, 3].map((value) => ({ value, until }))]);
    await eventually("two items run", () => statuses(run).filter((status) => status === "running").length === 2, 60_000);
    const map = run.graph()[0]?.taskId ?? "";
    expect(await controller.pause(map, { timeout: LIMIT })).toBe(true);
    expect(statuses(run)).toEqual(["paused", "paused", "queued"]);
    await controller.resume(map);
    await eventually("two items run", () => statuses(run).filter((status) => status === "running").length === 2, 60_000);
    expect(await controller.stop(map, { grace: LIMIT })).toMatchObject({ status: "stopped" });
    expect(statuses(run)).toEqual(["stopped", "stopped", "stopped"]);
  });
});
