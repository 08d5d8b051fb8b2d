import { describe, expect, test } from "vitest";
import { constant, definePipeline, runTask, task } from "../../src/index.ts";
import { gate, openStage } from "./stage.ts";

describe("arguments are the task's own from the moment of the call", () => {
  const seen: string[] = [];
  const meddles = task({ name: "meddles", retry: { maxAttempts: 2, backoff: constant({ delay: 0 }) } }, (ctx, given: { list: number[]; more?: boolean }) => {
    seen.push(JSON.stringify(given));
    given.list.push(99);
    if (ctx.attempt === 1) throw new Error("again");
    return given;
  });

  test("what the caller changes, also before the answer, reaches no attempt, and what an attempt changes reaches nobody", async () => {
    seen.length = 0;
    await using stage = await openStage({ tasks: [meddles] });
    const given: { list: number[]; more?: boolean } = { list: [1] };
    const submitted = stage.controller.submit(meddles, [given]);
    given.more = true;
    const handle = await submitted;
    given.list.push(2);
    await stage.clock.advance(0);
    await stage.clock.advance(0);
    expect(seen).toEqual(['{"list":[1]}', '{"list":[1]}']);
    expect(given).toEqual({ list: [1, 2], more: true });
    expect(await handle.result()).toEqual({ list: [1, 99] });
  });

  test("the same for runTask, for a run's parameters and for the fixed arguments of a node", async () => {
    seen.length = 0;
    const given = { list: [1] };
    const running = runTask(meddles, [given]);
    given.list.push(2);
    await (await running).result();

    const fixed = { list: [5] };
    const pipeline = definePipeline("meddling", {}, (p, params: { list: number[] }) => {
      p.add(meddles, { name: "from-params", args: () => [params] });
      p.add(meddles, { name: "fixed", args: [fixed] });
    });
    await using stage = await openStage({ tasks: [meddles], pipelines: [pipeline] });
    const started = stage.controller.startRun(pipeline, [given]);
    given.list.push(3);
    const run = await started;
    fixed.list.push(6);
    for (let round = 0; round < 3; round += 1) await stage.clock.advance(0);
    await run.wait({ timeout: "none" });
    expect(new Set(seen)).toEqual(new Set(['{"list":[1]}', '{"list":[1,2]}', '{"list":[5]}']));
    expect(fixed).toEqual({ list: [5, 6] });
  });

  test("what an input schema gives is taken as it is when it is given", async () => {
    const kept = { list: [1] };
    const opened = gate();
    const input = { "~standard": { version: 1 as const, vendor: "test", validate: async () => ({ value: [kept] as [{ list: number[] }] }) } };
    const checked = task({ name: "checked", input }, async (_ctx, given: { list: number[] }) => {
      await opened.opened;
      return given.list.length;
    });
    await using stage = await openStage({ tasks: [checked] });
    const handle = await stage.controller.submit(checked, [{ list: [] }]);
    kept.list.push(2);
    opened.open();
    expect(await handle.result()).toBe(1);
  });
});
