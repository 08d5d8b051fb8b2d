import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, test } from "vitest";
import { ControllerClosed, StoreError } from "../../src/core/errors.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, Rig, submission } from "../runtime/support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open({ concurrency: { maxParallel: 4 } });
  puppet = new Puppet();
});

/** The last step of the task, as it was published: the store is gone by then. */
function lastStep(taskId: string): unknown {
  const step = rig.events.findLast((event) => event.type === "TaskStatusChanged" && event.taskId === taskId);
  return step?.type === "TaskStatusChanged" ? { to: step.to, trigger: step.trigger, actor: step.actor } : null;
}

describe("close", () => {
  test("stops what runs or is paused in place, cancels what has not begun, gives up on what is deaf, and returns", async () => {
    const backsOff = await rig.submit(
      () => {
        throw new Error("boom");
      },
      { retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } },
    );
    const runs = await rig.submit(polling(rig.clock));
    const paused = await rig.submit(polling(rig.clock));
    void rig.engine.control.pause(paused, ADA);
    await rig.clock.advance(10);
    const deaf = await rig.submit(puppet.run);
    const pausing = await rig.submit(polling(rig.clock, 10_000));
    void rig.engine.control.pause(pausing, ADA);
    const queued = await rig.submit(() => 1);
    const held = await rig.submit(() => 1);
    await rig.engine.control.pause(held, ADA);
    expect([backsOff, runs, paused, deaf, pausing, queued, held].map(({ snapshot }) => snapshot.status)).toEqual([
      "retry_wait",
      "running",
      "paused",
      "running",
      "pausing",
      "queued",
      "paused",
    ]);

    const closed = rig.engine.close(1_000);
    await rig.clock.advance(1_000);
    await closed;
    const system = { actor: "system" };
    expect(lastStep(runs.taskId)).toEqual({ to: "stopped", trigger: "executor:stopped", ...system });
    expect(lastStep(paused.taskId)).toEqual({ to: "stopped", trigger: "executor:stopped", ...system });
    expect(lastStep(deaf.taskId)).toEqual({ to: "lost", trigger: "executor:lost", ...system });
    expect(lastStep(pausing.taskId)).toEqual({ to: "lost", trigger: "executor:lost", ...system });
    for (const cell of [queued, held, backsOff]) expect(lastStep(cell.taskId)).toEqual({ to: "cancelled", trigger: "controller:close", ...system });
    const asked = rig.events.filter((event) => event.type === "TaskStatusChanged" && event.to === "stopping");
    expect(asked).toHaveLength(4);
    for (const step of asked) expect(step).toMatchObject({ trigger: "controller:close", actor: "system", reason: "the controller closes" });
    expect(rig.left).toMatchObject({ slots: 0, tasks: 0, listeners: -1 });
  });

  test("settles every wait that is pending, with the end or with why there is none", async () => {
    const cells = [await rig.submit(polling(rig.clock)), await rig.submit(puppet.run)];
    const waits = cells.flatMap(({ taskId }) => [
      rig.engine.wait(taskId, null, { timeoutMs: null }),
      rig.engine.wait(taskId, "paused", { timeoutMs: 86_400_000 }),
    ]);
    const settled = Promise.allSettled(waits);
    const closed = rig.engine.close(1_000);
    await rig.clock.advance(1_000);
    await closed;
    expect((await settled).map((wait) => (wait.status === "fulfilled" ? wait.value.status : (wait.reason as Error).name))).toEqual([
      "stopped",
      "WaitImpossible",
      "lost",
      "WaitImpossible",
    ]);
    expect(rig.clock.pendingTimers).toBe(0);
    expect(cells.map(({ watcherCount }) => watcherCount)).toEqual([0, 0]);
  });

  test("is one close however often it is asked for, and nothing is taken afterwards", async () => {
    await rig.submit(polling(rig.clock));
    const both = [rig.engine.close(1_000), rig.engine.close(0)];
    await expect(rig.engine.submit(submission(() => 1))).rejects.toThrow(ControllerClosed);
    await rig.clock.advance(10);
    await Promise.all(both);
    await rig.engine.close();
    await expect(rig.engine.submit(submission(() => 1))).rejects.toThrow(ControllerClosed);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test("returns though the store has been out of reach since, and says why to whoever waits", async () => {
    const cell = await rig.submit(polling(rig.clock));
    rig.store.fail("commit", new StoreError("the disk is full", { transient: true }), { times: 1_000_000 });
    const waiting = Promise.allSettled([rig.engine.wait(cell.taskId, null, { timeoutMs: null })]);
    const closed = rig.engine.close(1_000);
    await rig.clock.advance(6_000);
    await closed;
    expect(await waiting).toMatchObject([{ status: "rejected", reason: { code: "CONTROLLER_CLOSED" } }]);
    expect(rig.clock.pendingTimers).toBe(0);
  });

  test("of an engine whose tasks are at every stage leaves a clean record", async () => {
    const cells: Cell[] = [];
    for (let index = 0; index < 40; index += 1) cells.push(await rig.submit(index % 3 === 0 ? puppet.run : polling(rig.clock, 1 + index)));
    const rows: (readonly string[])[] = [];
    rig.store.close = async () => {
      for (const cell of cells) rows.push(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell)));
    };
    const closed = rig.engine.close(20);
    await rig.clock.advance(20);
    await closed;
    expect(rows).toHaveLength(40);
    expect(rows.flat()).toEqual([]);
    expect({ ...rig.left, listeners: 0 }).toEqual(NOTHING_LEFT);
  });
});

const HOST = fileURLToPath(new URL("../runtime/fixtures/timer-host.ts", import.meta.url));

test("C058: tasks that end early leave no timer: the process ends by itself, though timeouts and grace were a minute", async () => {
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", HOST], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = await once(child, "close");
  const [statuses, exitedAfterMs] = output.trim().split("\n");
  expect([code, statuses]).toEqual([0, "succeeded failed stopped"]);
  expect(Number(exitedAfterMs)).toBeLessThan(5_000);
});
