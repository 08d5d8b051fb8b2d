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
    const used = { limit: 2, held: 2, holders: holders.map((taskId) => ({ taskId, abandoned: false })) };
    expect(await why(stage, waiting.id)).toEqual([
      { kind: "semaphore", tag: "io", ...used, text: `the semaphore "io" is used up, 2 of 2: ${holders.join(", ")}` },
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
    expect(await why(stage, waiting.id)).toMatchObject([{ kind: "semaphore", tag: "io", holders: [{ taskId: lost.id, abandoned: true }] }]);
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
      { kind: "bucket_limit", bucket, limit: 1, held: 1, holders: [{ taskId: holder.id }], text: `bucket ${bucket} is full (perBucket), 1 of 1: ${holder.id}` },
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
    expect(await why(stage, handle.id)).toEqual([{ kind: "paused", by: "ada", from: "queued", text: "it was paused by ada before it was begun" }]);
    await stage.controller.reset(handle.id, { confirm: true });
    expect(await why(stage, handle.id)).toEqual([{ kind: "start", text: 'it is not started: it waits for "start"' }]);
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
    void pausing.pause({ actor: "ada", timeout: "1h" });
    void stopping.cancel();
    await settle(stage);
    expect(await why(stage, pausing.id)).toMatchObject([{ kind: "pausing", by: "ada" }]);
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
