import { describe, expect, it } from "vitest";
import { ConfigurationError, ControllerClosed, definePipeline, task, UnknownName } from "../../src/index.ts";
import type { ControllerOptions, SubmitOptions, TaskContext } from "../../src/index.ts";
import { call, gate, openStage } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** Their buckets of 64, by another implementation of BLAKE2b. */
const [TENANT_42, TENANT_1] = [1, 30];

/** Tasks that end when the test says so; what runs, and how many ran at once at most. */
class Floor {
  readonly started: string[] = [];
  readonly running = new Set<string>();
  peak = 0;
  readonly #doors = new Map<string, () => void>();
  readonly work = task({ name: "work" }, async (ctx, label?: string) => await this.#run(ctx, label));
  readonly other = task({ name: "other", tags: ["io"] }, async (ctx, label?: string) => await this.#run(ctx, label));

  async #run(ctx: TaskContext, label = ctx.taskId): Promise<string> {
    this.started.push(label);
    this.running.add(label);
    this.peak = Math.max(this.peak, this.running.size);
    const door = gate();
    this.#doors.set(label, () => door.open());
    await door.opened;
    this.running.delete(label);
    return label;
  }

  async end(stage: Stage, ...labels: readonly string[]): Promise<void> {
    for (const label of labels) this.#doors.get(label)?.();
    await settle(stage);
  }
}

async function settle(stage: Stage): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await stage.clock.turn();
}

async function openFloor(options: ControllerOptions = {}): Promise<{ readonly floor: Floor; readonly stage: Stage } & AsyncDisposable> {
  const floor = new Floor();
  const stage = await openStage({ tasks: [floor.work, floor.other], ...options });
  return { floor, stage, [Symbol.asyncDispose]: async () => await stage[Symbol.asyncDispose]() };
}

describe("a delayed start", () => {
  it("is queued until its time, by one timer, and then starts", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const now = stage.clock.now();
    const later = await stage.controller.submit(floor.work, ["later"], { delay: "10s" });
    await stage.controller.submit(floor.work, ["at"], { runAt: now + 5_000 });
    await stage.controller.submit(floor.work, ["date"], { runAt: new Date(now + 20_000) });
    expect(await later.snapshot()).toMatchObject({ status: "queued", availableAt: now + 10_000 });
    expect(stage.clock.pendingTimers).toBe(1);
    await stage.clock.advance("9999ms");
    expect(floor.started).toEqual(["at"]);
    await stage.clock.advance("1ms");
    expect(floor.started).toEqual(["at", "later"]);
    await stage.clock.advance("10s");
    expect(floor.started).toEqual(["at", "later", "date"]);
  });

  it.each([[{ delay: 0 }], [{ runAt: 0 }], [{ runAt: new Date(1) }], [{ runAt: -1 }], [{ delay: undefined, runAt: undefined }]])(
    "of %o is at once",
    async (options) => {
      await using bench = await openFloor();
      const { floor, stage } = bench;
      const handle = await stage.controller.submit(floor.work, ["now"], options as SubmitOptions);
      await settle(stage);
      expect(floor.started).toEqual(["now"]);
      expect(await handle.snapshot()).toMatchObject({ availableAt: null });
    },
  );

  it("comes on time though the wall clock jumps", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    await stage.controller.submit(floor.work, ["later"], { delay: "1m" });
    stage.clock.jumpWall(3_600_000);
    await stage.clock.advance("59s");
    expect(floor.started).toEqual([]);
    await stage.clock.advance("1s");
    expect(floor.started).toEqual(["later"]);
  });

  it("may lie years ahead", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const handle = await stage.controller.submit(floor.work, ["later"], { delay: "36500d" });
    await stage.clock.advance("36499d");
    expect(floor.started).toEqual([]);
    expect(await handle.cancel()).toMatchObject({ status: "cancelled" });
  });

  it("obeys the verbs: start and resume change nothing, a pause outlasts it, a resume keeps its time", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const [paused, resumed, started] = await Promise.all(
      ["paused", "resumed", "started"].map((label) => stage.controller.submit(floor.work, [label], { delay: "10s" })),
    );
    if (paused === undefined || resumed === undefined || started === undefined) throw new Error("three were submitted");
    expect(await stage.controller.start(started.id)).toMatchObject({ status: "queued" });
    expect(await stage.controller.retry(started.id)).toMatchObject({ status: "queued" });
    expect(await paused.pause()).toBe(true);
    expect(await resumed.pause()).toBe(true);
    expect(await resumed.resume()).toMatchObject({ status: "queued", availableAt: stage.clock.now() + 10_000 });
    await settle(stage);
    expect(floor.started).toEqual([]);
    await stage.clock.advance("10s");
    expect(floor.started.toSorted()).toEqual(["resumed", "started"]);
    await paused.resume();
    await settle(stage);
    expect(floor.started.at(-1)).toBe("paused");
  });

  it.each(["stop", "cancel", "skip"] as const)("ends on %s, and leaves no timer", async (verb) => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const handle = await stage.controller.submit(floor.work, ["never"], { delay: "10s" });
    await stage.controller[verb](handle.id);
    expect(stage.clock.pendingTimers).toBe(0);
    await stage.clock.advance("1m");
    expect(floor.started).toEqual([]);
  });

  it("is forgotten by a reset: started then, it starts at once", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const handle = await stage.controller.submit(floor.work, ["again"], { delay: "1h" });
    expect(await stage.controller.reset(handle.id, { confirm: true })).toMatchObject({ status: "pending", availableAt: null });
    await stage.controller.start(handle.id);
    await settle(stage);
    expect(floor.started).toEqual(["again"]);
  });

  it.each([
    [{ delay: "1s", runAt: 5 }, "submit: give delay, a length of time, or runAt, an instant; not both"],
    [{ delay: -1 }, "submit: delay must be a duration"],
    [{ delay: NaN }, "submit: delay must be a duration"],
    [{ delay: null }, "submit: delay must be a duration"],
    [{ delay: Number.MAX_SAFE_INTEGER }, "submit: delay is too long"],
    [{ runAt: null }, "submit: runAt must be an instant"],
    [{ runAt: 1.5 }, "submit: runAt must be an instant"],
    [{ runAt: Infinity }, "submit: runAt must be an instant"],
    [{ runAt: 9e15 }, "submit: runAt must be an instant"],
    [{ runAt: new Date("tomorrow") }, "submit: runAt must be an instant: a Date, or epoch milliseconds as an integer; found Invalid Date."],
    [{ runAt: "2026-01-01T00:00:00Z" }, 'Did you mean new Date("2026-01-01T00:00:00Z")?'],
  ])("refuses %o", async (options, message) => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const problem: unknown = await call(stage.controller, "submit", [floor.work, [], options]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });
});

describe("buckets", () => {
  it("take a task by its key, or by its id, the same on every machine", async () => {
    await using bench = await openFloor({ buckets: { count: 64, own: "all" } });
    const { floor, stage } = bench;
    const keyed = await stage.controller.submit(floor.work, ["a"], { bucketKey: "tenant-42" });
    const same = await stage.controller.submit(floor.other, ["b"], { bucketKey: "tenant-42" });
    const own = await stage.controller.submit(floor.work, ["c"]);
    expect(await keyed.snapshot()).toMatchObject({ bucket: TENANT_42, bucketKey: "tenant-42" });
    expect(await same.snapshot()).toMatchObject({ bucket: TENANT_42 });
    expect(await own.snapshot()).toMatchObject({ bucket: expect.any(Number), bucketKey: own.id });
  });

  it("take all nodes of a run by one key, items of maps too", async () => {
    const floor = new Floor();
    const flow = definePipeline("flow", {}, (p) => {
      const list = p.add(task({ name: "list" }, () => ["x", "y"]));
      p.map(
        task({ name: "each" }, (_ctx, item: string) => item),
        { deps: [list], items: (up) => up(list) },
      );
    });
    await using stage = await openStage({ pipelines: [flow], tasks: [floor.work], buckets: { count: 64 } });
    await (await stage.controller.startRun(flow, [], { bucketKey: "tenant-42" })).wait({ timeout: "none" });
    const { items } = await stage.controller.list();
    expect(items.map(({ bucketKey, bucket }) => [bucketKey, bucket])).toEqual(items.map(() => ["tenant-42", TENANT_42]));
    expect(items).toHaveLength(4);
    expect(await stage.controller.bucketCounts()).toEqual(new Map([[TENANT_42, 4]]));
  });

  it("limit what runs of each, and hold up nobody else", async () => {
    await using bench = await openFloor({ buckets: { count: 64 }, concurrency: { maxParallel: 9, perBucket: 2 } });
    const { floor, stage } = bench;
    for (const label of ["a1", "a2", "a3"]) await stage.controller.submit(floor.work, [label], { bucketKey: "tenant-42" });
    await stage.controller.submit(floor.work, ["b1"], { bucketKey: "tenant-1" });
    await settle(stage);
    expect(floor.started).toEqual(["a1", "a2", "b1"]);
    await floor.end(stage, "a1");
    expect(floor.started).toEqual(["a1", "a2", "b1", "a3"]);
  });

  it("are counted, by any query", async () => {
    await using bench = await openFloor({ buckets: { count: 64 }, concurrency: { maxParallel: 1 } });
    const { floor, stage } = bench;
    expect(await stage.controller.bucketCounts()).toEqual(new Map());
    for (const label of ["a1", "a2"]) await stage.controller.submit(floor.work, [label], { bucketKey: "tenant-42" });
    await stage.controller.submit(floor.other, ["b1"], { bucketKey: "tenant-1" });
    await floor.end(stage, "a1");
    expect([...(await stage.controller.bucketCounts())].toSorted(([a], [b]) => a - b)).toEqual([
      [TENANT_42, 2],
      [TENANT_1, 1],
    ]);
    expect(await stage.controller.bucketCounts({ status: ["succeeded"] })).toEqual(new Map([[TENANT_42, 1]]));
    expect(await stage.controller.bucketCounts({ name: "other" })).toEqual(new Map([[TENANT_1, 1]]));
    await expect(call(stage.controller, "bucketCounts", [{ buket: 1 }])).rejects.toThrow('Did you mean "bucket"?');
  });

  it.each([
    [{ buckets: { count: 0 } }, "buckets.count must be an integer of at least 1; found 0"],
    [{ buckets: { count: "64" } }, "buckets.count must be an integer"],
    [{ buckets: {} }, "buckets.count must be an integer"],
    [{ buckets: 64 }, "buckets must be a plain object; found 64"],
    [{ buckets: null }, "buckets must be a plain object; found null"],
    [{ buckets: { cout: 64 } }, 'Did you mean "count"?'],
    [{ buckets: { count: 64, own: "0-15" } }, 'buckets.own can only be "all" here'],
    [{ buckets: { count: 64, own: "0-99" } }, "there is no bucket 99"],
    [{ buckets: { count: 64, own: 7 } }, "buckets.own must be"],
    [{ concurrency: { perBucket: 2 } }, "concurrency.perBucket limits the tasks of a bucket, and there are none"],
  ])("refuses to open with %o", async (options, message) => {
    await expect(openStage(options as ControllerOptions)).rejects.toThrow(message);
  });

  it.each([
    [{ bucketKey: "" }, "submit: bucketKey must not be empty"],
    [{ bucketKey: 42 }, "submit: bucketKey must be text; found 42"],
    [{ bucketKey: null }, "submit: bucketKey must be text; found null"],
    [{ bucketKey: "a\nb" }, "submit: bucketKey must be printable on one line"],
    [{ bucketKey: "x".repeat(201) }, "submit: bucketKey must have at most 200 characters"],
  ])("refuses the key of %o", async (options, message) => {
    await using bench = await openFloor({ buckets: { count: 4 } });
    await expect(call(bench.stage.controller, "submit", [bench.floor.work, [], options])).rejects.toThrow(message);
  });

  it("refuse a key where there are none", async () => {
    const flow = definePipeline("flow", {}, () => {});
    await using bench = await openFloor({ pipelines: [flow] });
    const { floor, stage } = bench;
    await expect(stage.controller.submit(floor.work, [], { bucketKey: "a" })).rejects.toThrow("submit: bucketKey needs buckets, and this controller has none");
    await expect(stage.controller.startRun(flow, [], { bucketKey: "a" })).rejects.toThrow("startRun: bucketKey needs buckets");
  });
});

describe("a hold", () => {
  it("on a name keeps back what is queued and what comes, and lets go on what runs", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    const running = await stage.controller.submit(floor.work, ["runs"]);
    await settle(stage);
    const held = await stage.controller.hold({ name: "work" }, { actor: "ada", reason: "the disk is full" });
    expect(held).toEqual({ target: { name: "work" }, actor: "ada", reason: "the disk is full", since: stage.clock.now() });
    await stage.controller.submit(floor.work, ["held"]);
    await stage.controller.submit(floor.other, ["free"]);
    await floor.end(stage, "runs");
    expect(await running.result()).toBe("runs");
    expect(floor.started).toEqual(["runs", "free"]);
    expect(await stage.controller.holds()).toEqual([held]);
    expect(await stage.controller.release({ name: "work" })).toBe(true);
    await settle(stage);
    expect(floor.started).toEqual(["runs", "free", "held"]);
    expect(await stage.controller.holds()).toEqual([]);
  });

  it("on a tag or a bucket does the same", async () => {
    await using bench = await openFloor({ buckets: { count: 64 } });
    const { floor, stage } = bench;
    await stage.controller.hold({ tag: "io" });
    await stage.controller.hold({ bucket: TENANT_42 });
    await stage.controller.submit(floor.other, ["tagged"], { bucketKey: "tenant-1" });
    await stage.controller.submit(floor.work, ["in the bucket"], { bucketKey: "tenant-42" });
    await stage.controller.submit(floor.work, ["free"], { bucketKey: "tenant-1" });
    await settle(stage);
    expect(floor.started).toEqual(["free"]);
    await stage.controller.release({ bucket: TENANT_42 });
    await settle(stage);
    expect(floor.started).toEqual(["free", "in the bucket"]);
    await stage.controller.release({ tag: "io" });
    await settle(stage);
    expect(floor.started).toEqual(["free", "in the bucket", "tagged"]);
  });

  it("holds the nodes of runs, and items of maps, by the name of their task", async () => {
    const each = task({ name: "each" }, (_ctx, item: string) => item);
    const flow = definePipeline("flow", {}, (p) => void p.map(each, { items: ["x", "y"] }));
    await using stage = await openStage({ pipelines: [flow] });
    await (await stage.controller.startRun(flow, [])).wait({ timeout: "none" });
    await stage.controller.hold({ name: "each" });
    const run = await stage.controller.startRun(flow, []);
    await settle(stage);
    expect(run.summary()).toMatchObject({ status: "running", counts: { queued: 1 } });
    await stage.controller.release({ name: "each" });
    expect(await run.wait({ timeout: "none" })).toMatchObject({ status: "succeeded" });
  });

  it("is not ended by the resume of a task under it, nor by start or retry", async () => {
    await using bench = await openFloor();
    const { floor, stage } = bench;
    await stage.controller.hold({ name: "work" });
    const handle = await stage.controller.submit(floor.work, ["held"]);
    await handle.pause();
    expect(await handle.resume()).toMatchObject({ status: "queued" });
    await stage.controller.start(handle.id);
    await stage.controller.retry(handle.id);
    await settle(stage);
    expect(floor.started).toEqual([]);
    expect(await handle.cancel()).toMatchObject({ status: "cancelled" });
  });

  it("given twice is one, and stays as the first was", async () => {
    await using bench = await openFloor();
    const { controller } = bench.stage;
    const first = await controller.hold({ name: "work" }, { actor: "ada" });
    expect(await controller.hold({ name: "work" }, { actor: "bob", reason: "me too" })).toEqual(first);
    expect(await controller.release({ name: "work" })).toBe(true);
    expect(await controller.release({ name: "work" })).toBe(false);
  });

  it.each(["hold", "release"] as const)("refuses to %s what is none", async (verb) => {
    await using bench = await openFloor({ buckets: { count: 4 } });
    const { controller } = bench.stage;
    const problem: unknown = await controller[verb]({ name: "wrok" }).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(UnknownName);
    expect(problem).toMatchObject({ code: "UNKNOWN_NAME", nearest: ["work"], message: expect.stringContaining('Did you mean "work"?') });
    for (const [target, message] of [
      [undefined, `${verb} takes one of { name }, { tag } and { bucket }`],
      [{}, `${verb} takes one of { name }, { tag } and { bucket }`],
      [{ name: "work", tag: "io" }, "takes one of"],
      ["work", `${verb} must be a plain object; found "work"`],
      [{ nam: "work" }, 'Did you mean "name"?'],
      [{ name: 5 }, `${verb}: name must be text; found 5`],
      [{ tag: "" }, `${verb}: tag must not be empty`],
      [{ tag: "a\u0000" }, `${verb}: tag must be printable on one line`],
      [{ bucket: 4 }, `${verb}: there is no bucket 4; with count 4 they are 0 to 3`],
      [{ bucket: -1 }, `${verb}: bucket must be an integer of at least 0`],
      [{ bucket: 0.5 }, `${verb}: bucket must be an integer`],
    ] as const) {
      await expect(call(controller, verb, [target])).rejects.toThrow(message);
    }
    await expect(call(controller, "hold", [{ name: "work" }, { reason: "" }])).rejects.toThrow("hold: reason must be a non-empty text");
    expect(await controller.holds()).toEqual([]);
  });

  it("of a bucket needs buckets, and everything needs an open controller", async () => {
    await using bench = await openFloor();
    const { controller } = bench.stage;
    await expect(controller.hold({ bucket: 0 })).rejects.toThrow("hold: this controller has no buckets");
    await controller.hold({ name: "work" });
    await controller.close();
    await expect(controller.hold({ name: "other" })).rejects.toThrow(ControllerClosed);
    await expect(controller.release({ name: "work" })).rejects.toThrow(ControllerClosed);
    await expect(controller.setLimits({ maxParallel: 3 })).rejects.toThrow(ControllerClosed);
  });
});

describe("limits", () => {
  it("are read, and changed in part", async () => {
    await using bench = await openFloor({ concurrency: { maxParallel: 4, limits: { io: 2, db: 1 }, perBucket: 3 }, buckets: { count: 4 } });
    const { controller } = bench.stage;
    expect(controller.limits).toEqual({ maxParallel: 4, limits: { io: 2, db: 1 }, perBucket: 3 });
    expect(await controller.setLimits({ limits: { io: 5, db: null, cpu: 2 } })).toEqual({ maxParallel: 4, limits: { io: 5, cpu: 2 }, perBucket: 3 });
    expect(await controller.setLimits({ maxParallel: 7, perBucket: null })).toEqual({ maxParallel: 7, limits: { io: 5, cpu: 2 }, perBucket: null });
    expect(await controller.setLimits({})).toEqual(controller.limits);
  });

  it("take effect at once where they are raised, as tasks end where they are lowered", async () => {
    await using bench = await openFloor({ concurrency: { maxParallel: 3 } });
    const { floor, stage } = bench;
    for (const label of ["a", "b", "c", "d", "e", "f"]) await stage.controller.submit(floor.work, [label]);
    await settle(stage);
    await stage.controller.setLimits({ maxParallel: 1 });
    expect([...floor.running]).toEqual(["a", "b", "c"]);
    await floor.end(stage, "a", "b");
    expect([...floor.running]).toEqual(["c"]);
    await floor.end(stage, "c");
    expect([...floor.running]).toEqual(["d"]);
    await stage.controller.setLimits({ maxParallel: 3 });
    await settle(stage);
    expect([...floor.running]).toEqual(["d", "e", "f"]);
  });

  it("of a tag and of a bucket bind what is queued already", async () => {
    await using bench = await openFloor({ concurrency: { maxParallel: 1 }, buckets: { count: 64 } });
    const { floor, stage } = bench;
    await stage.controller.submit(floor.work, ["first"], { bucketKey: "tenant-1" });
    for (const label of ["a", "b"]) await stage.controller.submit(floor.other, [label], { bucketKey: "tenant-2" });
    for (const label of ["c", "d"]) await stage.controller.submit(floor.work, [label], { bucketKey: "tenant-42" });
    await stage.controller.setLimits({ maxParallel: 9, limits: { io: 1 }, perBucket: 1 });
    await settle(stage);
    expect(floor.started).toEqual(["first", "a", "c"]);
    await stage.controller.setLimits({ limits: { io: null }, perBucket: null });
    await settle(stage);
    expect(floor.started).toEqual(["first", "a", "c", "b", "d"]);
  });

  it("refuse what makes no sense, and stay as they were", async () => {
    await using bench = await openFloor({ concurrency: { maxParallel: 4, limits: { io: 2 } } });
    const { controller } = bench.stage;
    const before = controller.limits;
    for (const [change, message] of [
      [{ maxParallel: 0 }, "setLimits: maxParallel must be an integer of at least 1; found 0"],
      [{ maxParallel: null }, "setLimits: maxParallel must be an integer"],
      [{ maxParallel: 5, limits: { io: 0 } }, "setLimits: limits.io must be an integer of at least 1; found 0"],
      [{ limits: { io: "3" } }, 'setLimits: limits.io must be an integer of at least 1, or null for no limit; found "3"'],
      [{ limits: { "": 1 } }, "setLimits: limits: a limit needs the name of a tag"],
      [{ limits: [3] }, "setLimits: limits must be a plain object"],
      [{ perBucket: NaN }, "setLimits: perBucket must be an integer"],
      [{ perBucket: 2 }, "setLimits: perBucket limits the tasks of a bucket, and there are none"],
      [{ max: 5 }, "setLimits has no option"],
      [{ aging: "1s" }, "setLimits has no option"],
      [5, "setLimits must be a plain object; found 5"],
    ] as const) {
      await expect(call(controller, "setLimits", [change])).rejects.toThrow(message);
    }
    expect(controller.limits).toEqual(before);
  });
});

describe("semaphores", () => {
  it("of an abandoned body stay held until it has ended", async () => {
    const door = gate();
    const deaf = task({ name: "deaf", tags: ["io"] }, async () => await door.opened);
    await using bench = await openFloor({ concurrency: { maxParallel: 1, limits: { io: 1 } } });
    const { floor } = bench;
    await using stage = await openStage({ tasks: [deaf, floor.work, floor.other], concurrency: { maxParallel: 1, limits: { io: 1 } } });
    const handle = await stage.controller.submit(deaf);
    await settle(stage);
    const stopped = handle.stop({ grace: "1s" });
    await stage.clock.advance("1s");
    expect(await stopped).toMatchObject({ status: "lost" });
    await stage.controller.submit(floor.other, ["needs the semaphore"]);
    await stage.controller.submit(floor.work, ["needs a slot"]);
    await settle(stage);
    expect(floor.started).toEqual(["needs a slot"]);
    await floor.end(stage, "needs a slot");
    expect(floor.started).toEqual(["needs a slot"]);
    door.open();
    await settle(stage);
    expect(floor.started).toEqual(["needs a slot", "needs the semaphore"]);
  });
});

describe("aging", () => {
  it("lets what has waited long go before what is more important", async () => {
    await using bench = await openFloor({ concurrency: { maxParallel: 1, aging: "1m" } });
    const { floor, stage } = bench;
    await stage.controller.submit(floor.work, ["first"]);
    await stage.controller.submit(floor.work, ["old"], { priority: 0 });
    await stage.clock.advance("5m");
    await stage.controller.submit(floor.work, ["more important"], { priority: 4 });
    await stage.controller.submit(floor.work, ["most important"], { priority: 6 });
    for (const label of ["first", "most important", "old"]) await floor.end(stage, label);
    expect(floor.started).toEqual(["first", "most important", "old", "more important"]);
  });
});
