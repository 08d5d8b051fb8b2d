import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { allSettled, definePipeline } from "../../src/index.ts";
import type { TaskHandle, TaskSnapshot, TimeoutPolicy } from "../../src/index.ts";
import type { ExecutorKind } from "../../src/core/ports/executor.ts";
import { processEcho, threadEcho } from "./fixtures/deaths.ts";
import { processNeverLoads, threadNeverLoads, TIMED } from "./fixtures/timed.ts";
import type { Pace } from "./fixtures/timed.ts";
import { busyProcessTicking, busyThreadTicking } from "./fixtures/ticking.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { eventually } from "./support/eventually.ts";
import { KILLABLE, KINDS } from "./support/kinds.ts";
import { expectSound } from "./support/soundness.ts";
import { Stage } from "./support/stage.ts";

const MINUTE_MS = 60_000;
const open = async (): Promise<CarrierRig> =>
  await CarrierRig.open({ tasks: Object.values(TIMED), concurrency: { maxParallel: 50 }, processes: { standby: 2 } });

async function submit(rig: CarrierRig, kind: ExecutorKind, pace: Pace, timeout: TimeoutPolicy, ms = MINUTE_MS): Promise<TaskHandle<string>> {
  return await rig.controller.submit(TIMED[kind], [pace, ms], { timeout });
}

describe("a task that listens", () => {
  test.each(KINDS)("%s: fails with the timeout's kind as soon as it has heard of it, and is tried again", async (kind) => {
    await using rig = await open();
    const attempt = await rig.controller.submit(TIMED[kind], ["heedful", MINUTE_MS], {
      timeout: { attempt: 150 },
      retry: { maxAttempts: 2, backoff: () => 0 },
    });
    const idle = await submit(rig, kind, "listening", { idle: 150 });
    const both = await submit(rig, kind, "listening", { attempt: 300, idle: 150 });
    const all = await submit(rig, kind, "heedful", { start: "10s", attempt: 150, idle: "10s" });

    const failed = await expectSound(rig.controller, attempt.id);
    expect(failed).toMatchObject({ status: "failed", attempt: 2, failure: { kind: "timeout_attempt", name: "TaskTimeout", forced: false } });
    for (const { failure, durationMs, stopAskedAt } of await rig.controller.attempts(attempt.id)) {
      expect(failure?.kind).toBe("timeout_attempt");
      expect(durationMs).toBeGreaterThanOrEqual(149);
      expect(durationMs).toBeLessThan(4_500);
      expect(stopAskedAt).not.toBeNull();
    }
    expect(await expectSound(rig.controller, idle.id)).toMatchObject({ status: "failed", failure: { kind: "timeout_idle", forced: false } });
    expect(await expectSound(rig.controller, both.id)).toMatchObject({ status: "failed", failure: { kind: "timeout_idle" } });
    expect(await expectSound(rig.controller, all.id)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
  });

  test.each(KINDS)("%s: what it returns after its time is discarded, on the record", async (kind) => {
    await using rig = await open();
    const handle = await submit(rig, kind, "too late", { attempt: 100 });
    expect(await expectSound(rig.controller, handle.id)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" }, partialOutcome: undefined });
    expect((await handle.snapshot()).outcome).toBeUndefined();
    await eventually("the warning is heard", () => rig.warnings(handle.id).includes("late_result_discarded"));
  });
});

test("a task that hears nothing is ended five seconds after its time, or given up on: each carrier says which", { timeout: 60_000 }, async () => {
  await using rig = await open();
  const asked: [string, TaskHandle<string>][] = [];
  for (const kind of KILLABLE) {
    asked.push([`failed timeout_attempt forced`, await submit(rig, kind, "deaf", { attempt: 100 })]);
    asked.push([`failed timeout_idle forced`, await submit(rig, kind, "deaf", { idle: 100 })]);
    asked.push([`failed timeout_attempt forced`, await submit(rig, kind, "busy", { attempt: 100 })]);
  }
  for (const kind of ["async", "inline"] as const) {
    asked.push(["lost timeout_attempt abandoned", await submit(rig, kind, "deaf", { attempt: 100 }, 6_500)]);
    asked.push(["lost timeout_idle abandoned", await submit(rig, kind, "deaf", { idle: 100 }, 6_500)]);
  }
  const stopped = await submit(rig, "thread", "deaf", { attempt: 100 });
  // In the grace of its timeout somebody stops it: the stop wins, and the earlier deadline holds.
  await rig.at(stopped.id, "begun");
  await sleep(600);
  const stopping = stopped.stop({ grace: "60s" });
  for (const [expected, handle] of asked) expect(wordsOf(await handle.wait({ timeout: "30s" })), handle.id).toBe(expected);
  for (const [, handle] of asked.filter(([expected]) => expected.startsWith("failed"))) {
    const [attempt] = await rig.controller.attempts(handle.id);
    // A child has SIGTERM at three quarters of the grace.
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(attempt?.executor === "process" ? 3_800 : 5_050);
    // Far more than a busy machine adds, far less than for ever.
    expect(attempt?.durationMs).toBeLessThan(25_000);
    await expectSound(rig.controller, handle.id);
  }
  expect(wordsOf(await stopping)).toBe("stopped cancelled forced");
  // The given up bodies end after all: that is recorded, and changes nothing.
  for (const [expected, handle] of asked.filter(([words]) => words.startsWith("lost"))) {
    await eventually("its late end is heard", () => rig.warnings(handle.id).includes("abandoned_body_ended"));
    const snapshot = await handle.snapshot();
    expect(wordsOf(snapshot)).toBe(expected);
    expect(snapshot.abandonedBy).toBeNull();
  }
});

function wordsOf({ status, failure }: TaskSnapshot): string {
  return [status, failure?.kind, failure?.forced === true ? "forced" : [], failure?.abandoned === true ? "abandoned" : []].flat().join(" ");
}

test.concurrent.each(["async", "thread", "process"] as const)("%s: paused time does not count, and the deadline moves by it", async (kind) => {
  await using rig = await open();
  const handle = await submit(rig, kind, "watching its deadline", { attempt: 2_500, idle: 2_000 }, 2_500);
  await eventually("it has said its deadline", () => rig.outputs(handle.id, "deadline").length > 0);
  expect(await handle.pause()).toBe(true);
  await sleep(2_600);
  await handle.resume();
  // It returns once its deadline has moved by more than an attempt may take.
  expect(await handle.result()).toBe("in time");
  await expectSound(rig.controller, handle.id);
});

const stuck = definePipeline("stuck", { onFailure: allSettled() }, (p) => {
  p.add(threadNeverLoads);
  p.add(processNeverLoads);
});

test.concurrent("a module whose top level never ends is a start timeout; the pool serves the next task", async () => {
  await using rig = await CarrierRig.open({ tasks: [threadEcho, processEcho], pipelines: [stuck], threads: { keep: 1 }, processes: { standby: 1 } });
  const run = await rig.controller.startRun(stuck);
  await run.wait({ timeout: "10s" });
  const { items } = await rig.controller.list({ namePrefix: "never-loads" });
  expect(items).toHaveLength(2);
  for (const { taskId } of items) {
    const snapshot = await expectSound(rig.controller, taskId);
    expect(snapshot).toMatchObject({ status: "failed", failure: { kind: "timeout_start", forced: true } });
    const [attempt] = await rig.controller.attempts(taskId);
    expect(attempt?.durationMs).toBeLessThan(3_000);
  }
  expect(await (await rig.controller.submit(threadEcho, ["next"])).result()).toBe("next");
  expect(await (await rig.controller.submit(processEcho, ["next"])).result()).toBe("next");
});

test.each(KILLABLE)("a launch that runs out of time never begins, however near it was (%s)", { timeout: 30_000 }, async (kind) => {
  await using rig = await CarrierRig.open({ tasks: [TIMED[kind]], threads: { keep: 0 }, processes: { standby: 0 }, concurrency: { maxParallel: 1 } });
  const ends: string[] = [];
  for (const start of [1, 10, 20, 30, 40, 50, 60, 80]) {
    const handle = await submit(rig, kind, "deaf", { start }, 1);
    const { status, failure } = await expectSound(rig.controller, handle.id);
    const hasBegun = rig.outputs(handle.id, "at").length > 0;
    ends.push(`${status} ${failure?.kind ?? ""} ${hasBegun} ${rig.warnings(handle.id).join()}`);
  }
  expect(ends.filter((end) => end !== "failed timeout_start false " && end !== "succeeded  true ")).toEqual([]);
  expect(ends).toContain("failed timeout_start false ");
});

test("a task that is paused in a synchronous loop goes on beating, and costs no time", { timeout: 30_000 }, async () => {
  using stage = new Stage();
  await using rig = await CarrierRig.open({ tasks: [busyThreadTicking, busyProcessTicking] });
  const handles = [await rig.controller.submit(busyThreadTicking, [stage.folder]), await rig.controller.submit(busyProcessTicking, [stage.folder])];
  for (const handle of handles) expect(await handle.pause()).toBe(true);
  const pausedAt = Date.now();
  const usage = process.cpuUsage();
  for (const handle of handles) {
    await eventually(`${handle.id} beats`, async () => ((await handle.snapshot()).lastHeartbeatAt ?? 0) > pausedAt, 12_000);
    expect((await handle.snapshot()).status).toBe("paused");
  }
  // The paused thread is a part of this process.
  const { user } = process.cpuUsage(usage);
  expect(user / 1_000).toBeLessThan((Date.now() - pausedAt) / 2);
  stage.cue("finish");
  for (const handle of handles) {
    await handle.resume();
    await handle.result();
  }
});
