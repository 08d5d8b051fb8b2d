import { describe, expect, it } from "vitest";
import { ConfigurationError, Controller, definePipeline, task, UnknownId } from "../../src/index.ts";
import type { FeedEntry, TaskSnapshot } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { callNow, gate, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const failing = task({ name: "failing", tags: ["bad"] }, () => {
  throw new Error("no");
});

/** Takes what comes until it ends. */
function collect<Item, Kept>(items: AsyncIterable<Item>, keep: (item: Item) => Kept): { readonly kept: Kept[]; readonly over: Promise<void> } {
  const kept: Kept[] = [];
  const over = (async () => {
    for await (const item of items) kept.push(keep(item));
  })();
  return { kept, over };
}

const statusOf = ({ status }: TaskSnapshot): string => status;
const stepOf = ({ event }: FeedEntry): string => (event.type === "TaskStatusChanged" ? event.to : event.type);

describe("watch of one task", () => {
  it("gives it as it is, then each change, and ends with its end", async () => {
    const [half, door] = [gate(), gate()];
    const held = task({ name: "held" }, async (ctx) => {
      await half.opened;
      ctx.progress({ done: 1, total: 2 });
      await door.opened;
    });
    await using stage = await openStage({ tasks: [held] });
    const handle = await stage.controller.submit(held);
    const { kept, over } = collect(stage.controller.watch(handle.id), ({ status, progress }) => `${status} ${progress?.done ?? "-"}`);
    await stage.clock.advance(1);
    half.open();
    await stage.clock.advance(1);
    expect(kept.slice(-2)).toEqual(["running -", "running 1"]);
    door.open();
    await stage.clock.advance(1);
    await over;
    expect(kept.at(-1)).toBe("succeeded 1");
    expect(new Set(kept).size).toBe(kept.length);
    const again = collect(stage.controller.watch(handle.id), statusOf);
    await again.over;
    expect(again.kept).toEqual(["succeeded"]);
  });

  it("gives a slow reader the newest, not what was between", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo);
    const watched = stage.controller.watch(handle.id);
    await watched.next();
    await stage.clock.advance(1);
    expect((await watched.next()).value).toMatchObject({ status: "succeeded" });
    expect((await watched.next()).done).toBe(true);
  });

  it("ends with the signal, with the loop, and with the controller, and leaves no listener", async () => {
    const clock = new FakeClock();
    const held = task({ name: "held" }, async () => await gate().opened);
    const controller = await Controller.open({ clock, tasks: [held] });
    const handle = await controller.submit(held);
    await clock.advance(1);
    const abort = new AbortController();
    const aborted = collect(controller.watch(handle.id, { signal: abort.signal }), statusOf);
    const closed = collect(controller.watch(handle.id), statusOf);
    for await (const { status } of controller.watch(handle.id)) {
      expect(status).toBe("running");
      break;
    }
    abort.abort();
    await aborted.over;
    expect(aborted.kept).toEqual(["running"]);
    const closing = controller.close({ grace: 0 });
    await clock.advance(1);
    await closing;
    await closed.over;
    expect(closed.kept.at(-1)).toBe("lost");
  });

  it("is refused where there is no such task, or nothing that could be one", async () => {
    await using stage = await openStage();
    await expect(stage.controller.watch("nope").next()).rejects.toBeInstanceOf(UnknownId);
    await expect(stage.controller.watch({ pipelineRunId: "nope" }).next()).rejects.toBeInstanceOf(UnknownId);
    for (const args of [[], [1], [{ state: "x" }], [{ limit: 1 }], ["x", { signal: 1 }], ["x", { sginal: 1 }]])
      expect(() => callNow(stage.controller, "watch", args)).toThrow(ConfigurationError);
  });
});

describe("watch of several", () => {
  it("gives those that fit as they are, then each that has changed and still fits", async () => {
    await using stage = await openStage({ tasks: [echo, failing] });
    await stage.controller.submit(failing);
    await stage.controller.submit(echo);
    await stage.clock.advance(1);
    const abort = new AbortController();
    const { kept, over } = collect(stage.controller.watch({ tag: "bad", status: ["failed"] }, { signal: abort.signal }), ({ name, status }) => [name, status]);
    await stage.clock.advance(1);
    expect(kept).toEqual([["failing", "failed"]]);
    await stage.controller.submit(echo);
    await stage.controller.submit(failing);
    await stage.clock.advance(1);
    expect(kept).toEqual([
      ["failing", "failed"],
      ["failing", "failed"],
    ]);
    abort.abort();
    await over;
  });

  it("of a run ends with the run: each node is seen at its end", async () => {
    const pair = definePipeline("pair", {}, (p) => {
      const first = p.add(echo, { name: "first" });
      p.add(echo, { name: "second", deps: [first] });
    });
    await using stage = await openStage({ pipelines: [pair] });
    const run = await stage.controller.startRun(pair);
    const live = collect(stage.controller.watch({ pipelineRunId: run.id }), ({ node, status }) => `${node} ${status}`);
    await stage.clock.advance(1);
    await live.over;
    expect(live.kept).toEqual(expect.arrayContaining(["first succeeded", "second succeeded"]));
    const late = collect(stage.controller.watch({ pipelineRunId: run.id }), ({ node, status }) => `${node} ${status}`);
    await late.over;
    expect(late.kept).toEqual(["first succeeded", "second succeeded"]);
  });

  it("finds more than a page", async () => {
    await using stage = await openStage({ tasks: [echo], concurrency: { maxParallel: 1 } });
    await Promise.all(Array.from({ length: 1_100 }, async () => await stage.controller.submit(echo)));
    await stage.clock.advance(1);
    const abort = new AbortController();
    const { kept, over } = collect(stage.controller.watch({}, { signal: abort.signal }), statusOf);
    await stage.clock.advance(1);
    expect(kept).toHaveLength(1_100);
    abort.abort();
    await over;
  });
});

describe("stream", () => {
  it("gives what is stored from the call on, each entry with its cursor", async () => {
    await using stage = await openStage({ tasks: [echo] });
    await stage.controller.submit(echo);
    await stage.clock.advance(1);
    const abort = new AbortController();
    const { kept, over } = collect(stage.controller.stream({ signal: abort.signal }), stepOf);
    await stage.controller.submit(echo);
    await stage.clock.advance(1);
    expect(kept.filter((step) => step !== "AttemptStarted")).toEqual(["TaskCreated", "queued", "starting", "running", "succeeded"]);
    abort.abort();
    await over;
  });

  it("goes on after any cursor: nothing is missed, and nothing comes twice", async () => {
    await using stage = await openStage({ tasks: [echo] });
    for (const value of [1, 2, 3]) await stage.controller.submit(echo, [value]);
    await stage.clock.advance(1);
    const all: FeedEntry[] = [];
    for await (const entry of stage.controller.stream({ from: null })) {
      all.push(entry);
      if (stepOf(entry) === "succeeded" && all.filter((each) => stepOf(each) === "succeeded").length === 3) break;
    }
    for (const [index, { cursor }] of all.slice(0, -1).entries()) {
      const { value } = await stage.controller.stream({ from: cursor }).next();
      expect(value).toEqual(all[index + 1]);
    }
  });

  it("keeps to a task, a run, and types; and is behind, not short, where it is read slowly", async () => {
    const pair = definePipeline("pair", {}, (p) => void p.add(echo, { name: "only" }));
    await using stage = await openStage({ tasks: [echo], pipelines: [pair] });
    const handle = await stage.controller.submit(echo);
    const run = await stage.controller.startRun(pair);
    const slow = stage.controller.stream({ taskId: handle.id, from: null, types: ["TaskStatusChanged"] });
    const first = await slow.next();
    await stage.clock.advance(1);
    const steps = [first.value === undefined ? "" : stepOf(first.value)];
    while (steps.at(-1) !== "succeeded") {
      const { value } = await slow.next();
      steps.push(value === undefined ? "over" : stepOf(value));
    }
    expect(steps).toEqual(["queued", "starting", "running", "succeeded"]);
    await slow.return();
    const ofRun: (string | null)[] = [];
    for await (const { event } of stage.controller.stream({ pipelineRunId: run.id, from: null })) {
      ofRun.push(event.pipelineRunId);
      if (event.type === "PipelineRunStatusChanged" && event.to === "succeeded") break;
    }
    expect(new Set(ofRun)).toEqual(new Set([run.id]));
  });

  it("ends when the controller closes, with what happened until then", async () => {
    const clock = new FakeClock();
    const held = task({ name: "held" }, async () => await gate().opened);
    const controller = await Controller.open({ clock, tasks: [held] });
    const { kept, over } = collect(controller.stream(), stepOf);
    await controller.submit(held);
    await clock.advance(1);
    const closing = controller.close({ grace: 0 });
    await clock.advance(1);
    await closing;
    await over;
    expect(kept.slice(-2)).toEqual(["lost", "AttemptFailed"]);
    expect(await collect(controller.stream({ from: null }), stepOf).over).toBeUndefined();
  });

  it("refuses a cursor that the store never gave, and what is not stored", async () => {
    await using stage = await openStage();
    await expect(stage.controller.stream({ from: "x" }).next()).rejects.toBeInstanceOf(ConfigurationError);
    await expect(stage.controller.stream({ from: "99" }).next()).rejects.toBeInstanceOf(ConfigurationError);
    await expect(stage.controller.stream({ taskId: "nope" }).next()).rejects.toBeInstanceOf(UnknownId);
    await expect(stage.controller.stream({ pipelineRunId: "nope" }).next()).rejects.toBeInstanceOf(UnknownId);
    for (const options of [{ from: 1 }, { taskId: 1 }, { types: ["TaskHeartbeat"] }, { types: ["x"] }, { form: "1" }, null])
      expect(() => callNow(stage.controller, "stream", [options])).toThrow(ConfigurationError);
  });
});
