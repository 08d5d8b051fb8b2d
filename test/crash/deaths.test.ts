import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { TaskExecutionError } from "../../src/index.ts";
import type { TaskHandle } from "../../src/index.ts";
import {
  asyncEcho,
  litteringProcess,
  processDeath,
  processDiesWhenStopped,
  processEcho,
  stubbornProcess,
  threadDeath,
  threadDiesWhenStopped,
  threadEcho,
} from "../carriers/fixtures/deaths.ts";
import type { Death } from "../carriers/fixtures/deaths.ts";
import { processPuppet } from "../carriers/fixtures/puppets.ts";
import { CarrierRig } from "../carriers/support/carrier-rig.ts";
import { eventually } from "../carriers/support/eventually.ts";
import { expectNoneLeft, isThere, marked, markDescendants } from "../carriers/support/leftovers.ts";
import { expectSound } from "../carriers/support/soundness.ts";
import { Stage } from "../carriers/support/stage.ts";

const mark = markDescendants();
const TWICE = { maxAttempts: 2, backoff: () => 0 } as const;

interface DeathCase {
  readonly how: Death;
  readonly on: readonly ("thread" | "process")[];
  readonly exitCode: number | null;
  readonly signal: string | null;
}

const DEATHS: readonly DeathCase[] = [
  { how: "exit 0", on: ["thread", "process"], exitCode: 0, signal: null },
  { how: "exit 7", on: ["thread", "process"], exitCode: 7, signal: null },
  { how: "exit 1 later", on: ["thread", "process"], exitCode: 1, signal: null },
  { how: "abort", on: ["process"], exitCode: null, signal: "SIGABRT" },
  { how: "SIGKILL", on: ["process"], exitCode: null, signal: "SIGKILL" },
  { how: "SIGTERM", on: ["process"], exitCode: null, signal: "SIGTERM" },
  { how: "SIGSEGV", on: ["process"], exitCode: null, signal: "SIGSEGV" },
];

describe("a carrier that goes without a word", () => {
  for (const { how, on, exitCode, signal } of DEATHS) {
    test.each(on)(`${how}: a %s fails its task, twice where twice is allowed, with all it printed`, async (kind) => {
      const [death, echo] = kind === "thread" ? ([threadDeath, threadEcho] as const) : ([processDeath, processEcho] as const);
      await using rig = await CarrierRig.open({ tasks: [death, echo], concurrency: { maxParallel: 1 }, processes: { standby: 0 } });
      const handle = await rig.controller.submit(death, [how, 300], { retry: TWICE });
      const snapshot = await expectSound(rig.controller, handle.id);

      expect(snapshot).toMatchObject({ status: "failed", attempt: 2, failure: { kind: "nonzero_exit", exitCode, signal, forced: false } });
      expect(snapshot.failure?.message).toContain(signal ?? `code ${exitCode}`);
      expect(snapshot.failure?.message).toContain("side effects are possible");
      const lines = Array.from({ length: 300 }, (_, line) => `line ${line}`);
      await eventually("all lines are heard", () => rig.outputs(handle.id, "stdout").length >= 600, 2_000);
      expect(rig.outputs(handle.id, "stdout").join()).toBe([...lines, ...lines].join());
      await expect(handle.result()).rejects.toBeInstanceOf(TaskExecutionError);
      expect(await (await rig.controller.submit(echo, ["next"])).result()).toBe("next");
    });
  }

  test.each(["close line", "close line and stay busy"] as const)("%s: a child that nobody can reach is ended", async (how) => {
    await using rig = await CarrierRig.open({ tasks: [processDeath, processEcho], concurrency: { maxParallel: 1 }, processes: { standby: 0 } });
    const handle = await rig.controller.submit(processDeath, [how]);
    await handle.wait({ timeout: "5s" });
    expect(await expectSound(rig.controller, handle.id)).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit", signal: "SIGKILL" } });
    expect(await (await rig.controller.submit(processEcho, ["next"])).result()).toBe("next");
  });

  test("out of memory in a thread fails that task alone", async () => {
    await using rig = await CarrierRig.open({
      tasks: [threadDeath, threadEcho, asyncEcho],
      threads: { keep: 1, resourceLimits: { maxOldGenerationSizeMb: 32 } },
    });
    const handle = await rig.controller.submit(threadDeath, ["out of memory"]);
    const other = await rig.controller.submit(asyncEcho, ["beside"]);
    expect(await expectSound(rig.controller, handle.id)).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit" } });
    expect((await handle.snapshot()).failure?.message).toContain("ran out of memory");
    expect(await other.result()).toBe("beside");
    expect(await (await rig.controller.submit(threadEcho, ["next"])).result()).toBe("next");
  });

  test("out of memory in a child names the signal, and the memory", async () => {
    await using rig = await CarrierRig.open({ tasks: [processDeath], processes: { standby: 0, execArgv: ["--max-old-space-size=32"] } });
    const handle = await rig.controller.submit(processDeath, ["out of memory"]);
    expect(await expectSound(rig.controller, handle.id)).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit", signal: "SIGABRT" } });
    expect((await handle.snapshot()).failure?.message).toContain("ran out of memory");
  });

  test.each([
    { name: "thread", subject: threadDiesWhenStopped },
    { name: "process", subject: processDiesWhenStopped },
  ])("a $name that dies by itself in the grace window has failed, it was not stopped", async ({ subject }) => {
    await using rig = await CarrierRig.open({ tasks: [subject] });
    const early = await begun(rig, await rig.controller.submit(subject, [10]));
    expect((await early.stop({ grace: "10s" })).status).toBe("failed");
    expect(await expectSound(rig.controller, early.id)).toMatchObject({ failure: { exitCode: 7, forced: false } });
  });

  test("a thread that dies by itself late in the grace window was not ended by us", async () => {
    await using rig = await CarrierRig.open({ tasks: [threadDiesWhenStopped] });
    const late = await begun(rig, await rig.controller.submit(threadDiesWhenStopped, [1_700]));
    expect((await late.stop({ grace: 2_000 })).status).toBe("failed");
    expect(await expectSound(rig.controller, late.id)).toMatchObject({ failure: { exitCode: 7, forced: false } });
  });
});

describe("a child that is killed from outside", () => {
  test.each(["running", "paused"] as const)("while %s it fails its task; the next one runs", async (phase) => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [processPuppet, processEcho], concurrency: { maxParallel: 1 } });
    const handle = await begun(rig, await rig.puppet("process", { stage: stage.folder, manner: "heedful" }));
    if (phase === "paused") expect(await handle.pause()).toBe(true);
    const { pid } = await handle.snapshot();
    const killedAt = performance.now();
    process.kill(pid ?? Number.NaN, "SIGKILL");
    expect(await handle.wait({ timeout: "5s" })).toMatchObject({ status: "failed", failure: { kind: "nonzero_exit", signal: "SIGKILL" } });
    expect(performance.now() - killedAt).toBeLessThan(2_000);
    await expectSound(rig.controller, handle.id);
    expect(await (await rig.controller.submit(processEcho, ["next"])).result()).toBe("next");
  });

  test("a standby child that was killed is replaced", async () => {
    await using rig = await CarrierRig.open({ tasks: [processEcho] });
    const [standby, ...others] = await eventually("a standby child", () => (marked(mark).length === 1 ? marked(mark) : undefined));
    expect(others).toEqual([]);
    process.kill(standby ?? Number.NaN, "SIGKILL");
    await eventually("it is gone", () => !isThere(standby ?? 0));
    await sleep(50);
    expect(await (await rig.controller.submit(processEcho, ["next"])).result()).toBe("next");
  });

  test("a child that was frozen is ended all the same", async () => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [processPuppet] });
    const handle = await begun(rig, await rig.puppet("process", { stage: stage.folder, manner: "heedful" }));
    const { pid } = await handle.snapshot();
    process.kill(pid ?? Number.NaN, "SIGSTOP");
    expect(await handle.stop({ grace: 300 })).toMatchObject({ status: "stopped", failure: { forced: true, signal: "SIGKILL" } });
    await expectSound(rig.controller, handle.id);
  });
});

describe("descendants", () => {
  test("the message first, SIGTERM at three quarters of the grace, SIGKILL at its end, to the whole group", async () => {
    using stage = new Stage();
    await using rig = await CarrierRig.open({ tasks: [stubbornProcess], processes: { standby: 0 } });
    const log = stage.path("log");
    const handle = await begun(rig, await rig.controller.submit(stubbornProcess, [log]));
    const pids = JSON.parse(readFileSync(`${log}.pids`, "utf8")) as { readonly self: number; readonly inGroup: number; readonly elsewhere: number };
    expect(marked(mark).length).toBeGreaterThanOrEqual(4);

    const askedAt = performance.timeOrigin + performance.now();
    const snapshot = await handle.stop({ grace: 2_000 });
    const endedAt = performance.timeOrigin + performance.now();
    expect(snapshot).toMatchObject({ status: "stopped", failure: { kind: "cancelled", forced: true, signal: "SIGKILL" } });
    // Only what made itself a session of its own is beyond our reach: the guide says so.
    await eventually("the group is gone", () => marked(mark).every((pid) => pid === pids.elsewhere), 1_000);
    process.kill(pids.elsewhere, "SIGKILL");

    const [message, term, ...rest] = readFileSync(log, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split(" "));
    expect([message?.[0], term?.[0], ...rest]).toEqual(["message", "SIGTERM"]);
    expect(Number(message?.[1]) - askedAt).toBeLessThan(1_000);
    expect(Number(term?.[1]) - askedAt).toBeGreaterThanOrEqual(1_490);
    expect(Number(term?.[1]) - askedAt).toBeLessThan(2_000);
    expect(endedAt - askedAt).toBeGreaterThanOrEqual(1_990);
    expect(endedAt - askedAt).toBeLessThan(3_500);
    await expectSound(rig.controller, handle.id);
  });

  test("what a task that has returned left in its group is ended with its child", async () => {
    await using rig = await CarrierRig.open({ tasks: [litteringProcess], processes: { standby: 0 } });
    const left = await (await rig.controller.submit(litteringProcess)).result();
    expect(left).toBeGreaterThan(1);
    await eventually("the litter is gone", () => !isThere(left ?? 0), 2_000);
  });

  test("nothing is left of all this", async () => {
    await expectNoneLeft(mark, 2_000);
  });
});

async function begun<Result>(rig: CarrierRig, handle: TaskHandle<Result>): Promise<TaskHandle<Result>> {
  await rig.at(handle.id, "begun");
  return handle;
}
