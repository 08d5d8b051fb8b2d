import { describe, expect, it } from "vitest";
import { allSettled, definePipeline, task } from "../../src/index.ts";
import type { RunHandle } from "../../src/index.ts";
import { idOf, statuses } from "./run-stage.ts";
import { gate, openStage } from "./stage.ts";
import type { Gate, Stage } from "./stage.ts";

const ADA = { actor: "ada", reason: "the file is there now" } as const;

interface ItemStage extends Stage {
  readonly run: RunHandle;
  /** How often the body of each item was called. */
  readonly calls: Map<number, number>;
  /** The items that fail. */
  readonly broken: Set<number>;
  /** What the node below was called with. */
  readonly sums: number[][];
  readonly item: (index: number) => string;
}

/** `list → work → sum`: `work` maps 0, 1 and 2; those in `broken` fail. */
async function openItems(broken: readonly number[], beside = false): Promise<ItemStage> {
  const state = { calls: new Map<number, number>(), broken: new Set(broken), sums: [] as number[][] };
  const list = task({ name: "list" }, () => [0, 1, 2]);
  const work = task({ name: "work" }, (_ctx, value: number) => {
    const calls = (state.calls.get(value) ?? 0) + 1;
    state.calls.set(value, calls);
    if (state.broken.has(value)) throw new Error(`no file for ${value}`);
    return value * 10 + calls;
  });
  const sum = task({ name: "sum" }, (_ctx, values: readonly number[]) => void state.sums.push([...values]));
  const open = task({ name: "open" }, async () => await gate().opened);
  const fan = definePipeline("fan", { onFailure: allSettled() }, (p) => {
    const source = p.add(list);
    const map = p.map(work, { deps: [source], items: (up) => up(source) });
    p.add(sum, { deps: [map], args: (up) => [up(map)] });
    if (beside) p.add(open);
  });
  const stage = await openStage({ pipelines: [fan] });
  const run = await stage.controller.startRun(fan);
  await stage.clock.advance(1);
  return { ...stage, ...state, run, item: (index) => run.items("work")[index]?.taskId ?? "" };
}

const items = (run: RunHandle): readonly string[] => run.items("work").map(({ status }) => status);

describe("run.retry from an item of a map", () => {
  it("runs that item alone again and what lies below the map; the others keep their results", async () => {
    await using stage = await openItems([2]);
    const { run, calls, broken, sums, clock, controller } = stage;
    expect([statuses(run), await run.snapshot()]).toMatchObject([{ work: "failed", sum: "cancelled" }, { status: "failed" }]);
    broken.clear();
    expect(await run.retry({ from: "work[2]", ...ADA })).toMatchObject({ status: "running" });
    await clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect([...calls]).toEqual([
      [0, 1],
      [1, 1],
      [2, 2],
    ]);
    expect(sums).toEqual([[1, 11, 22]]);
    expect(statuses(run)).toEqual({ list: "succeeded", work: "succeeded", sum: "succeeded" });
    const steps = (await controller.history(stage.item(2))).map(({ from, to, actor, reason }) => ({ from, to, actor, reason }));
    expect(steps).toContainEqual({ from: "failed", to: "queued", ...ADA });
    expect(await controller.get(idOf(run, "list"))).toMatchObject({ attempt: 1 });
  });

  it("runs again also one that succeeded, and the node below with its new value", async () => {
    await using stage = await openItems([]);
    const { run, sums, clock, calls } = stage;
    await run.retry({ from: "work[1]" });
    await clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect(sums).toEqual([
      [1, 11, 21],
      [1, 12, 21],
    ]);
    expect(calls.get(0)).toBe(1);
  });

  it("leaves the failures of others, which fail the map again; the whole run can be retried after it", async () => {
    await using stage = await openItems([0, 2]);
    const { run, calls, broken, clock } = stage;
    broken.clear();
    await run.retry({ from: "work[0]" });
    await clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "failed" });
    expect([items(run), calls.get(2)]).toEqual([["succeeded", "succeeded", "failed"], 1]);
    await run.retry();
    await clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
    expect([calls.get(0), calls.get(2)]).toEqual([2, 2]);
  });

  it("works while the run goes on elsewhere", async () => {
    await using stage = await openItems([1], true);
    const { run, broken, clock, sums } = stage;
    expect(statuses(run)).toMatchObject({ work: "failed", open: "running" });
    broken.clear();
    await run.retry({ from: "work[1]" });
    await clock.advance(1);
    expect(statuses(run)).toMatchObject({ work: "succeeded", sum: "succeeded", open: "running" });
    expect(sums).toEqual([[1, 12, 21]]);
    void run.stop({ grace: 0 });
    await clock.advance("1m");
  });

  it("waits for the run to be resumed", async () => {
    await using stage = await openItems([1], true);
    const { run, broken, clock } = stage;
    const paused = run.pause({ timeout: 0 });
    await clock.advance(1);
    await paused;
    broken.clear();
    await run.retry({ from: "work[1]" });
    await clock.advance("1m");
    expect(items(run)).toEqual(["succeeded", "queued", "succeeded"]);
    await run.resume();
    await clock.advance(1);
    expect(statuses(run)).toMatchObject({ work: "succeeded", sum: "succeeded" });
    void run.stop({ grace: 0 });
    await clock.advance("1m");
  });

  it("goes on after the whole run was retried from above the map, with the item made anew", async () => {
    await using stage = await openItems([]);
    const { run, clock, sums } = stage;
    await run.retry({ from: "list" });
    await clock.advance(1);
    await run.retry({ from: "work[0]" });
    await clock.advance(1);
    expect(sums).toEqual([
      [1, 11, 21],
      [2, 12, 22],
      [3, 12, 22],
    ]);
  });

  it("is refused for an item that is none, with what there is; and nothing has changed", async () => {
    await using stage = await openItems([2]);
    const before = await stage.run.snapshot();
    await expect(stage.run.retry({ from: "work[3]" })).rejects.toThrow('the map "work" has no item "work[3]": it has 3 of them, from 0');
    await expect(stage.run.retry({ from: "wrok[2]" })).rejects.toThrow(/no node named "wrok\[2\]"/);
    await expect(stage.run.retry({ from: "sum[0]" })).rejects.toThrow(/no node named "sum\[0\]"/);
    expect(await stage.run.snapshot()).toEqual(before);
  });

  it("is refused while its map goes on: the item's own task can be retried then", async () => {
    const slow = task({ name: "slow" }, async (_ctx, value: number) => {
      if (value === 0) throw new Error("no");
      await gate().opened;
    });
    const fan = definePipeline("fan", { onFailure: allSettled() }, (p) => void p.map(slow, { name: "work", items: [0, 1] }));
    await using stage = await openStage({ pipelines: [fan] });
    const run = await stage.controller.startRun(fan);
    await stage.clock.advance(1);
    const id = run.items("work")[0]?.taskId ?? "";
    await expect(run.retry({ from: "work[0]" })).rejects.toThrow(
      `task ${id} is failed: "retry" is not possible now (the map it belongs to has not ended: retry the task of the item by itself, controller.retry("${id}"))`,
    );
  });

  it("is refused where what is above the map has failed since: the map itself says what to do", async () => {
    await using stage = await openItems([2], true);
    const { run, controller, clock } = stage;
    await controller.forceTransition(idOf(run, "list"), "failed", { ...ADA });
    await clock.advance(1);
    await expect(run.retry({ from: "work[2]" })).rejects.toThrow(/what its map depends on has not ended, or not as it needs: run\.retry\(\{ from: "work" \}\)/);
    void run.stop({ grace: 0 });
    await clock.advance("1m");
  });

  it("whose abandoned body may still run needs force, and no other item's body is in its way", async () => {
    const doors = new Map<number, Gate<void>>();
    const deaf = task({ name: "deaf" }, async (_ctx, value: number) => {
      const door = gate<void>();
      doors.set(value, door);
      await door.opened;
    });
    const fan = definePipeline("fan", { onFailure: allSettled() }, (p) => void p.map(deaf, { name: "work", items: [0, 1, 2] }));
    await using stage = await openStage({ pipelines: [fan] });
    const { clock, controller } = stage;
    const run = await controller.startRun(fan);
    await clock.advance(1);
    doors.get(2)?.fail(new Error("no"));
    const id = run.items("work")[0]?.taskId ?? "";
    void controller.stop(id, { grace: 0 });
    await clock.advance(1);
    doors.get(1)?.open();
    await clock.advance("1m");
    expect([items(run), await run.snapshot()]).toMatchObject([["lost", "succeeded", "failed"], { status: "failed" }]);
    await expect(run.retry({ from: "work[0]" })).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    await run.retry({ from: "work[2]" });
    await clock.advance(1);
    doors.get(2)?.open();
    await clock.advance(1);
    expect(items(run)).toEqual(["lost", "succeeded", "succeeded"]);
    await run.retry({ from: "work[0]", force: true });
    await clock.advance(1);
    doors.get(0)?.open();
    await clock.advance(1);
    expect(await run.wait({ timeout: 0 })).toMatchObject({ status: "succeeded" });
  });
});

describe("controller.retry of an item whose run has ended", () => {
  it("names the item, and says that run.retry() does it", async () => {
    await using stage = await openItems([2]);
    const id = stage.item(2);
    await expect(stage.controller.retry(id)).rejects.toThrow(
      `task ${id} is failed: "retry" is not possible now (the run it belongs to has ended: run.retry({ from: "work[2]" }) runs it again, run.retry() all that did not succeed)`,
    );
  });
});
