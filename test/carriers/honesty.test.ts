import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { CarrierAbandoned } from "../../src/index.ts";
import { asyncEcho, threadEcho } from "./fixtures/deaths.ts";
import { FACTS, QuotaError, THROWN_NAMES, threadFacts } from "./fixtures/facts.ts";
import { asyncPuppet, inlinePuppet } from "./fixtures/puppets.ts";
import { FaultStore } from "../runtime/support/fault-store.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { CarrierRig, PUPPETS } from "./support/carrier-rig.ts";
import { eventually } from "./support/eventually.ts";
import { KILLABLE, KINDS } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";
import { Stage } from "./support/stage.ts";

describe("a body that was given up on", () => {
  test.each([inlinePuppet, asyncPuppet])("$name: is lost for good, keeps its semaphore, is listed, and is free at last", async (puppet) => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [puppet, asyncEcho], concurrency: { maxParallel: 1, limits: { db: 1 } } });
    const { controller } = rig;
    const handle = await controller.submit(puppet, [{ stage: stage.folder, manner: "deaf" }], { tags: ["db"] });
    await rig.at(handle.id, "begun");
    expect(await handle.stop({ grace: 50 })).toMatchObject({ status: "lost", failure: { kind: "lost", abandoned: true, forced: false } });
    expect(controller.orphans).toMatchObject([{ taskId: handle.id, name: puppet.name, attempt: 1 }]);
    expect((await handle.snapshot()).abandonedBy).not.toBeNull();

    // The global slot is free, the semaphore is not.
    const waiting = await controller.submit(asyncEcho, ["db"], { tags: ["db"] });
    expect(await (await controller.submit(asyncEcho, ["other"])).result()).toBe("other");
    expect((await waiting.snapshot()).status).toBe("queued");
    expect((await controller.can(handle.id, "retry")).allowed).toBe(false);
    await expect(handle.retry()).rejects.toBeInstanceOf(CarrierAbandoned);

    stage.cue("finish");
    expect(await waiting.result()).toBe("db");
    await eventually("its end is on the record", () => rig.warnings(handle.id).includes("abandoned_body_ended"));
    expect(controller.orphans).toEqual([]);
    expect(await handle.snapshot()).toMatchObject({ status: "lost", abandonedBy: null });
    expect((await handle.snapshot()).outcome).toBeUndefined();
    await handle.retry();
    expect(await handle.result()).toBe("finished");
    await expectSound(controller, handle.id);
  });

  test("a thread caught in native code is lost after two seconds; another serves the next task", { timeout: 30_000 }, async () => {
    await using rig = await CarrierRig.open({ tasks: [threadFacts, threadEcho], concurrency: { maxParallel: 1 }, threads: { keep: 1 } });
    const handle = await rig.controller.submit(threadFacts, [{ does: "block in native code", seconds: 4 }]);
    await rig.at(handle.id, "begun");
    await sleep(100);
    const askedAt = performance.now();
    expect(await handle.stop({ grace: 100 })).toMatchObject({ status: "lost", failure: { abandoned: true } });
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(2_090);
    expect(performance.now() - askedAt).toBeLessThan(3_800);
    expect(rig.controller.orphans).toMatchObject([{ taskId: handle.id, executor: "thread" }]);
    expect(await (await rig.controller.submit(threadEcho, ["next"])).result()).toBe("next");
    await eventually("it has ended after all", () => rig.controller.orphans.length === 0);
    expect((await handle.snapshot()).status).toBe("lost");
  });
});

describe("two stops", () => {
  test.each(KINDS)("%s: the second with a shorter grace brings the end forward; one with a longer grace does not put it off", async (kind) => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [PUPPETS[kind]], processes: { standby: 0 } });
    const handle = await rig.puppet(kind, { stage: stage.folder, manner: "deaf" });
    await rig.at(handle.id, "begun");
    const askedAt = performance.now();
    const stops = [handle.stop({ grace: "60s" }), handle.cancel({ grace: 200 }), handle.stop({ grace: "60s" })];
    const ends = await Promise.all(stops);
    expect(performance.now() - askedAt).toBeLessThan(3_000);
    // The first of stop and cancel stays.
    const killable = kind === "thread" || kind === "process";
    for (const end of ends)
      expect(end).toMatchObject(killable ? { status: "stopped", failure: { forced: true } } : { status: "lost", failure: { abandoned: true } });
    stage.cue("finish");
    if (killable) await expectSound(rig.controller, handle.id);
    else await eventually("its late end is on the record", () => rig.warnings(handle.id).includes("abandoned_body_ended"));
  });
});

test.each(KINDS)("%s: a value that is returned under a stop is kept as the partial outcome, it is no success", async (kind) => {
  using stage = new Stage();
  await using rig = await CarrierRig.open({ tasks: [PUPPETS[kind]], processes: { standby: 0 } });
  const handle = await rig.puppet(kind, { stage: stage.folder, manner: "swallowing" });
  await rig.at(handle.id, "begun");
  expect(await handle.stop()).toMatchObject({ status: "stopped", partialOutcome: "nevertheless", failure: { kind: "cancelled", retryable: false } });
  await expectSound(rig.controller, handle.id);
});

test.each(KINDS)("%s: stopped before its code began, nothing of it runs", async (kind) => {
  using stage = new Stage();
  const store = new FaultStore(memoryStore());
  await using rig = await CarrierRig.open({ store, tasks: [PUPPETS[kind]], processes: { standby: 0 } });
  const barrier = store.hold("commit");
  const handle = await rig.puppet(kind, { stage: stage.folder, manner: "heedful" });
  await eventually("it is starting", () => barrier.arrived > 0);
  const stopping = handle.stop();
  barrier.release();
  const end = await stopping;
  expect(end.status).toBe("stopped");
  expect(end.failure?.message).toContain("nothing ran");
  await sleep(50);
  expect(rig.outputs(handle.id, "at")).toEqual([]);
  await expectSound(rig.controller, handle.id);
});

describe.each(KINDS)("%s: what a body throws", (kind) => {
  test("fails it with a reason that can be read, whatever it is, after as many attempts as it may have", { timeout: 60_000 }, async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1, reuse: true } });
    const handles = [];
    for (const what of THROWN_NAMES)
      handles.push(await rig.controller.submit(FACTS[kind], [{ does: "throw", what }], { retry: { maxAttempts: 2, backoff: () => 0 } }));
    for (const [index, handle] of handles.entries()) {
      const { status, attempt, failure } = await handle.wait({ timeout: "20s" });
      expect([status, attempt], THROWN_NAMES[index]).toEqual(["failed", 2]);
      expect(failure?.message.trim(), THROWN_NAMES[index]).not.toBe("");
      expect(() => JSON.stringify(failure)).not.toThrow();
    }
    expect(await (await rig.controller.submit(FACTS[kind], [{ does: "give back", value: "next" }])).result()).toBe("next");
  });

  test("is told apart by class and by code when it comes to another attempt", async () => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], processes: { standby: 1 } });
    const deed = { does: "throw quota until", attempt: 2 } as const;
    const policy = { maxAttempts: 2, backoff: (): number => 0 };
    const byClass = await rig.controller.submit(FACTS[kind], [deed], { retry: { ...policy, retryOn: [QuotaError] } });
    const byCode = await rig.controller.submit(FACTS[kind], [deed], { retry: { ...policy, retryOn: ["E_QUOTA"] } });
    const other = await rig.controller.submit(FACTS[kind], [deed], { retry: { ...policy, retryOn: [RangeError, "E_OTHER"] } });
    const givenUp = await rig.controller.submit(FACTS[kind], [deed], { retry: { ...policy, giveUpOn: [QuotaError] } });
    expect(await byClass.result()).toBe(2);
    expect(await byCode.result()).toBe(2);
    expect(await expectSound(rig.controller, other.id)).toMatchObject({
      status: "failed",
      attempt: 1,
      failure: { name: "QuotaError", message: "no more today" },
    });
    expect(await expectSound(rig.controller, givenUp.id)).toMatchObject({ status: "failed", attempt: 1 });
  });
});

describe("strays", () => {
  test.each(["async", "thread"] as const)("%s: what a task leaves behind is put on its own record, once, and hurts nobody", async (kind) => {
    await using rig = await CarrierRig.open({ tasks: [FACTS[kind]], threads: { keep: 4 } });
    const strays = [];
    for (const how of ["rejection", "exception", "emitter"] as const)
      strays.push(await rig.controller.submit(FACTS[kind], [{ does: "leave a stray", how, afterMs: 150 }]));
    for (const handle of strays) expect(await handle.result()).toBe("ended");
    const others = [];
    for (let nth = 0; nth < 5; nth += 1) others.push(await rig.controller.submit(FACTS[kind], [{ does: "give back", value: `${nth}` }]));
    for (const handle of strays) await eventually("the stray is on its record", () => rig.warnings(handle.id).includes("stray_error"), 3_000);
    await sleep(50);
    for (const handle of strays) {
      expect(rig.warnings(handle.id)).toEqual(["stray_error"]);
      expect((await handle.snapshot()).status).toBe("succeeded");
    }
    for (const [nth, handle] of others.entries()) {
      expect(await handle.result()).toBe(`${nth}`);
      expect(rig.warnings(handle.id)).toEqual([]);
    }
  });

  test.each(KILLABLE)("%s: what a body goes on saying after its end does not reach the next task on its carrier", async (kind) => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({
      tasks: [FACTS[kind], PUPPETS[kind]],
      concurrency: { maxParallel: 1 },
      threads: { keep: 1 },
      processes: { standby: 0, reuse: true },
    });
    const first = await rig.controller.submit(FACTS[kind], [{ does: "go on after its end" }]);
    expect(await first.result()).toBe("ended");
    const next = await rig.puppet(kind, { stage: stage.folder, manner: "heedful" });
    await rig.at(next.id, "begun");
    await sleep(250);
    stage.cue("finish");
    expect(await next.result()).toBe("finished");
    expect(rig.outputs(next.id, "late")).toEqual([]);
    expect((await next.snapshot()).progress).toBeNull();
    expect(rig.eventsOf(next.id).some((event) => event.type === "TaskLogLine")).toBe(false);
  });
});
