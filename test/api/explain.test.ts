import { describe, expect, it } from "vitest";
import { constant, definePipeline, task, UnknownId } from "../../src/index.ts";
import type { ControllerOptions, Reason, TaskContext } from "../../src/index.ts";
import { gate, listen, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

async function settle(stage: Stage): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await stage.clock.turn();
}

/** What is in the way of a task, one line each; to ask twice must answer the same, and move nothing. */
async function why(stage: Stage, taskId: string): Promise<readonly Reason[]> {
  const before = await stage.controller.get(taskId);
  const timers = stage.clock.pendingTimers;
  const answer = await stage.controller.explain(taskId);
  await settle(stage);
  expect(await stage.controller.explain(taskId)).toEqual(answer);
  expect([await stage.controller.get(taskId), stage.clock.pendingTimers]).toEqual([before, timers]);
  expect(answer).toMatchObject({ taskId, name: before.name, node: before.node });
  for (const { text } of answer.reasons) expect(text).toMatch(/^[^\n]{5,}$/);
  return answer.reasons;
}

const door = gate();
/** Ends when it is told to. */
async function told(ctx: TaskContext): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  ctx.signal.addEventListener("abort", () => resolve());
  await promise;
}

const busy = task({ name: "busy" }, told);
const io = task({ name: "io", tags: ["io", "db"] }, told);

async function open(options: ControllerOptions = {}): Promise<Stage> {
  return await openStage({ tasks: [busy, io], buckets: { count: 4 }, ...options });
}

describe("explain of a task that waits", () => {
  it("names the global limit", async () => {
    await using stage = await open({ concurrency: { maxParallel: 1 } });
    await stage.controller.submit(busy);
    const [waiting] = [await stage.controller.submit(busy), await stage.controller.submit(busy)];
    await settle(stage);
    expect(await why(stage, waiting.id)).toEqual([
      { kind: "global_limit", limit: 1, held: 1, queued: 2, text: "all slots are taken, 1 of 1 (maxParallel), and 2 tasks wait for one" },
    ]);
  });

  it("names each semaphore that is used up, and who holds it", async () => {
    await using stage = await open({ concurrency: { limits: { io: 2, db: 2, free: 1 } } });
    const holders = [await stage.controller.submit(io), await stage.controller.submit(io)].map(({ id }) => id);
    const waiting = await stage.controller.submit(io, [], { tags: ["io", "free", "db"] });
    await settle(stage);
    const used = { limit: 2, held: 2, holders: holders.map((taskId) => ({ taskId, name: "io", node: null, bucketKey: taskId, abandoned: false })) };
    expect(await why(stage, waiting.id)).toEqual([
      { kind: "semaphore", tag: "io", ...used, text: `the semaphore "io" is used up, 2 of 2: ${holders.map((id) => `io (${id.slice(0, 8)})`).join(", ")}` },
      { kind: "semaphore", tag: "db", ...used, text: expect.stringContaining('"db"') },
    ]);
  });

  it("names an abandoned body that holds a semaphore", async () => {
    const deaf = task({ name: "deaf", tags: ["io"] }, async () => await door.opened);
    await using stage = await open({ tasks: [deaf, io], concurrency: { limits: { io: 1 } } });
    const lost = await stage.controller.submit(deaf);
    await settle(stage);
    const stopped = lost.stop({ grace: 0 });
    await stage.clock.advance("5s");
    await stopped;
    const waiting = await stage.controller.submit(io);
    await settle(stage);
    expect(await why(stage, waiting.id)).toMatchObject([
      {
        kind: "semaphore",
        tag: "io",
        holders: [{ taskId: lost.id, name: "deaf", abandoned: true }],
        text: `the semaphore "io" is used up, 1 of 1: deaf (${lost.id.slice(0, 8)}, its abandoned body)`,
      },
    ]);
    expect(await why(stage, lost.id)).toMatchObject([{ kind: "ended", status: "lost", bodyRuns: true }]);
    door.open();
  });

  it("names the bucket", async () => {
    await using stage = await open({ concurrency: { perBucket: 1 } });
    const holder = await stage.controller.submit(busy, [], { bucketKey: "a" });
    const waiting = await stage.controller.submit(busy, [], { bucketKey: "a" });
    await settle(stage);
    const { bucket } = await waiting.snapshot();
    expect(await why(stage, waiting.id)).toMatchObject([
      {
        kind: "bucket_limit",
        bucket,
        limit: 1,
        held: 1,
        holders: [{ taskId: holder.id, bucketKey: "a" }],
        text: `bucket ${bucket} is full (perBucket), 1 of 1: busy (${holder.id.slice(0, 8)}, key "a")`,
      },
    ]);
  });

  it("names every hold, by whom and why, beside what else is in the way", async () => {
    await using stage = await open({ concurrency: { maxParallel: 1 } });
    await stage.controller.submit(busy);
    const waiting = await stage.controller.submit(io);
    const byName = await stage.controller.hold({ name: "io" }, { actor: "ada", reason: "the disk is full" });
    const byTag = await stage.controller.hold({ tag: "db" });
    const { bucket } = await waiting.snapshot();
    await stage.controller.hold({ bucket: bucket ?? 0 });
    await settle(stage);
    expect(await why(stage, waiting.id)).toMatchObject([
      { kind: "hold", hold: byName, text: 'the name "io" is held by ada: the disk is full' },
      { kind: "hold", hold: byTag, text: 'the tag "db" is held by user' },
      { kind: "hold", text: `bucket ${bucket} is held by user` },
      { kind: "global_limit" },
    ]);
  });

  it("says until when it is delayed, or backs off", async () => {
    const failing = task({ name: "failing", retry: { maxAttempts: 3, backoff: constant({ delay: "90s" }) } }, () => {
      throw new Error("no disk");
    });
    await using stage = await open({ tasks: [failing, busy] });
    const now = stage.clock.now();
    const [delayed, backsOff] = [await stage.controller.submit(busy, [], { delay: "10m" }), await stage.controller.submit(failing)];
    await settle(stage);
    expect(await why(stage, delayed.id)).toEqual([
      { kind: "delay", until: now + 600_000, text: "it is not to start before 2026-01-01T00:10:00.000Z (in 10 m)" },
    ]);
    expect(await why(stage, backsOff.id)).toMatchObject([
      {
        kind: "backoff",
        attempt: 1,
        failure: "no disk",
        text: expect.stringMatching(/^attempt 1 failed \(no disk\), and the next one is due at 2026-01-01T00:0\d.*\(in .+\)$/),
      },
    ]);
    await stage.controller.hold({ name: "busy" });
    expect(await why(stage, delayed.id)).toMatchObject([{ kind: "delay" }, { kind: "hold" }]);
  });

  it("names the nodes upstream that are open", async () => {
    const flow = definePipeline("flow", {}, (p) => {
      const roots = Array.from({ length: 12 }, (_, i) => p.add(busy, { name: `root ${i}` }));
      p.add(busy, { name: "below", deps: roots });
    });
    await using stage = await open({ pipelines: [flow], concurrency: { maxParallel: 1 } });
    await stage.controller.startRun(flow);
    await settle(stage);
    const { items } = await stage.controller.list({ status: ["blocked"] });
    const reasons = await why(stage, items[0]?.taskId ?? "");
    expect(reasons).toMatchObject([
      { kind: "upstream", join: "all_succeeded", open: 12, nodes: expect.arrayContaining([{ node: "root 0", taskId: expect.any(String), status: "running" }]) },
    ]);
    expect(reasons[0]?.text).toMatch(/^it waits for 12 nodes upstream \(all_succeeded\): "root 0" \(running\), .* and 2 more$/);
  });

  it("says who paused it, when it was, and what it waits for once reset", async () => {
    await using stage = await open();
    await stage.controller.hold({ name: "busy" });
    const handle = await stage.controller.submit(busy);
    await handle.pause({ actor: "ada" });
    expect(await why(stage, handle.id)).toEqual([
      { kind: "paused", by: "ada", reason: null, from: "queued", text: "it was paused by ada before it was begun" },
    ]);
    await handle.resume();
    await handle.pause({ actor: "bob", reason: "the disk\nis full" });
    expect(await why(stage, handle.id)).toMatchObject([
      { kind: "paused", by: "bob", reason: "the disk\nis full", text: "it was paused by bob before it was begun: the disk is full" },
    ]);
    await handle.reset({ confirm: true });
    expect(await why(stage, handle.id)).toMatchObject([{ kind: "start", text: 'it is not started: it waits for "start"' }, { kind: "hold" }]);
    await stage.controller.release({ name: "busy" });
    expect(await why(stage, handle.id)).toEqual([{ kind: "start", text: 'it is not started: it waits for "start"' }]);
  });

  it("names the nodes whose tasks hold what it needs", async () => {
    const flow = definePipeline("flow", {}, (p) => void p.add(io, { name: "load" }));
    await using stage = await open({ pipelines: [flow], concurrency: { limits: { io: 1 } } });
    const run = await stage.controller.startRun(flow);
    const waiting = await stage.controller.submit(io);
    await settle(stage);
    const taskId = run.graph()[0]?.taskId ?? "";
    expect(await why(stage, waiting.id)).toMatchObject([
      { kind: "semaphore", holders: [{ taskId, name: "io", node: "load" }], text: `the semaphore "io" is used up, 1 of 1: load (${taskId.slice(0, 8)})` },
    ]);
  });

  it("says of a task whose time has not come no limit: what is used up then is not known", async () => {
    await using stage = await open({ concurrency: { limits: { io: 1 } } });
    await stage.controller.submit(io);
    const waiting = await stage.controller.submit(io, [], { delay: "10m" });
    await settle(stage);
    expect(await why(stage, waiting.id)).toMatchObject([{ kind: "delay" }]);
    await stage.clock.advance("10m");
    expect(await why(stage, waiting.id)).toMatchObject([{ kind: "semaphore", tag: "io" }]);
  });

  it("says of every node of a paused run who has paused it and why, beside what else is in the way", async () => {
    const flow = definePipeline("flow", {}, (p) => void p.add(io, { name: "below", deps: [p.add(busy, { name: "top" })] }));
    await using stage = await open({ pipelines: [flow], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(io);
    const run = await stage.controller.startRun(flow);
    await settle(stage);
    await run.pause({ actor: "ada", reason: "the disk is full" });
    const [top = "", below = ""] = run.graph().map(({ taskId }) => taskId);
    const held = {
      kind: "run_hold",
      runId: run.id,
      by: "ada",
      reason: "the disk is full",
      text: "its run was paused by ada: the disk is full; nothing of it is started until the run is resumed",
    };
    expect(await why(stage, top)).toEqual([held, expect.objectContaining({ kind: "global_limit" })]);
    expect(await why(stage, below)).toEqual([expect.objectContaining({ kind: "upstream" }), held]);
    expect(await run.snapshot()).toMatchObject({ pausedBy: "ada", pauseReason: "the disk is full" });
    expect(await run.resume()).toMatchObject({ pausedBy: null, pauseReason: null });
    expect(await why(stage, below)).toMatchObject([{ kind: "upstream" }]);
    await run.pause();
    expect(await why(stage, below)).toMatchObject([
      { kind: "upstream" },
      { kind: "run_hold", by: "user", reason: null, text: "its run was paused by user; nothing of it is started until the run is resumed" },
    ]);
  });

  it("says of an item of a paused map who has paused the map and why, beside the pause of its run and the holds", async () => {
    const each = task({ name: "each" }, async (ctx, _item: string) => await listen(ctx, stage.clock));
    const flow = definePipeline("flow", {}, (p) => void p.map(each, { items: ["x", "y"], maxParallel: 1 }));
    await using stage = await open({ pipelines: [flow] });
    const run = await stage.controller.startRun(flow);
    await stage.clock.advance(1);
    const map = run.graph()[0]?.taskId ?? "";
    const [first = "", waiting = ""] = run.items("each").map(({ taskId }) => taskId);
    const paused = stage.controller.pause(map, { actor: "ada", reason: "the shop is closed" });
    await stage.clock.advance(20);
    await paused;
    const held = {
      kind: "map_hold",
      map: "each",
      taskId: map,
      by: "ada",
      reason: "the shop is closed",
      text: 'the map "each" was paused by ada: the shop is closed; none of its items is started until the map is resumed',
    };
    expect(await why(stage, waiting)).toEqual([held]);
    expect(await why(stage, first)).toMatchObject([{ kind: "paused", by: "ada", reason: "the map it belongs to was paused" }]);
    await run.pause({ actor: "bob" });
    await stage.controller.hold({ name: "each" });
    expect(await why(stage, waiting)).toMatchObject([held, { kind: "hold" }, { kind: "run_hold", by: "bob" }]);
  });

  it("says of an item of a map that its map lets only so many go", async () => {
    const each = task({ name: "each" }, async (ctx, _item: string) => await told(ctx));
    const flow = definePipeline("flow", {}, (p) => void p.map(each, { items: ["x", "y"], maxParallel: 1 }));
    await using stage = await open({ pipelines: [flow] });
    await stage.controller.startRun(flow);
    await settle(stage);
    const { items } = await stage.controller.list({ status: ["queued"] });
    expect(await why(stage, items[0]?.taskId ?? "")).toEqual([
      { kind: "map_limit", map: "each", limit: 1, text: 'the map "each" lets 1 of its items go at once' },
    ]);
  });
});

describe("explain of a task that does not wait", () => {
  it("says what it does", async () => {
    const looks = task({ name: "looks" }, async (ctx) => await listen(ctx, stage.clock));
    await using stage = await open({ tasks: [looks, busy] });
    const [running, pausing, stopping] = [await stage.controller.submit(busy), await stage.controller.submit(busy), await stage.controller.submit(looks)];
    await settle(stage);
    await stage.clock.advance("90s");
    expect(await why(stage, running.id)).toEqual([{ kind: "running", attempt: 1, since: stage.clock.now() - 90_000, text: "attempt 1 runs, for 1 m 30 s" }]);
    void pausing.pause({ actor: "ada", reason: "lunch", timeout: "1h" });
    void stopping.cancel();
    await settle(stage);
    expect(await why(stage, pausing.id)).toMatchObject([{ kind: "pausing", by: "ada", reason: "lunch", text: expect.stringMatching(/: lunch$/) }]);
    expect(await why(stage, stopping.id)).toMatchObject([{ kind: "stopping", wish: "cancel" }]);
  });

  it("says which tasks it waits for", async () => {
    const ids: string[] = [];
    const parent = task({ name: "parent" }, async () => {
      const child = await stage.controller.submit(busy);
      ids.push(child.id);
      await child.result();
    });
    await using stage = await open({ tasks: [parent, busy], concurrency: { maxParallel: 1 } });
    const handle = await stage.controller.submit(parent);
    await settle(stage);
    expect(await why(stage, handle.id)).toMatchObject([
      { kind: "running" },
      { kind: "awaits", ids, text: `it waits for ${ids[0]}, and has lent its slot meanwhile` },
    ]);
  });

  it("says how it has ended, also where only the store knows", async () => {
    const fails = task({ name: "fails" }, () => {
      throw new Error("no disk");
    });
    await using stage = await open({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    await handle.wait({ timeout: "none" });
    await settle(stage);
    expect(await why(stage, handle.id)).toEqual([
      { kind: "ended", status: "failed", failure: "no disk", bodyRuns: false, text: "it has ended failed: no disk" },
    ]);
  });

  it("refuses an id that nobody knows", async () => {
    await using stage = await open();
    await expect(stage.controller.explain("nobody")).rejects.toThrow(UnknownId);
  });
});
