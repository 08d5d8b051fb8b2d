import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { constant, runTask, task } from "../../src/index.ts";
import { watchStrays } from "../../src/runtime/strays.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { gate, listen } from "./stage.ts";

/** A clock, and how many listeners the process had at first. */
function before(): { readonly clock: FakeClock; readonly expectNothingLeft: () => Promise<void> } {
  const clock = new FakeClock();
  // The watch over strays stays for good; it is one for the whole process.
  watchStrays();
  const listeners = process.listenerCount("unhandledRejection");
  const expectNothingLeft = async (): Promise<void> => {
    await clock.advance(0);
    expect(clock.pendingTimers).toBe(0);
    expect(process.listenerCount("unhandledRejection")).toBe(listeners);
  };
  return { clock, expectNothingLeft };
}

describe("runTask", () => {
  it("gives the result, and lets go of everything", async () => {
    const { clock, expectNothingLeft } = before();
    const sum = task({ name: "sum", timeout: { start: "1s", attempt: "1s", idle: "1s" } }, async (ctx, a: number, b: number) => {
      ctx.progress({ done: 1, total: 2 });
      await ctx.checkpoint();
      return a + b;
    });
    const handle = await runTask(sum, [1, 2], { clock });
    expect(await handle.result()).toBe(3);
    await expectNothingLeft();
    // The record is in memory as long as the handle.
    expect(await handle.result()).toBe(3);
    expect(await handle.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded", outcome: 3 });
    const types = [];
    for await (const event of handle.events()) types.push(event.type);
    expect(types.at(-1)).toBe("TaskStatusChanged");
    await expectNothingLeft();
  });

  it("throws what the task threw, and nothing where nobody asks", async () => {
    const { clock, expectNothingLeft } = before();
    const error = new Error("no");
    const fails = task({ name: "fails" }, () => {
      throw error;
    });
    const handle = await runTask(fails, [], { clock });
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_EXECUTION", cause: error });
    await runTask(fails, [], { clock });
    await expectNothingLeft();
  });

  it("retries by the task's policy or the one given", async () => {
    const { clock, expectNothingLeft } = before();
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } }, (ctx) => {
      if (ctx.attempt < 3) throw new Error(`attempt ${ctx.attempt}`);
      return ctx.attempt;
    });
    const own = await runTask(flaky, [], { clock });
    const given = await runTask(flaky, [], { clock, retry: { maxAttempts: 3, backoff: constant({ delay: "1m" }) }, random: () => 0 });
    await clock.advance("1m");
    expect(await given.result()).toBe(3);
    await expect(own.result()).rejects.toMatchObject({ message: expect.stringContaining("attempt 2") });
    await expectNothingLeft();
  });

  it("can be paused, resumed and stopped", async () => {
    const { clock, expectNothingLeft } = before();
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, clock));
    const handle = await runTask(busy, [], { clock });
    await clock.advance(1);
    const paused = handle.pause({ timeout: "1s" });
    await clock.advance(10);
    expect(await paused).toBe(true);
    await handle.resume();
    const stopped = handle.stop({ reason: "enough" });
    await clock.advance(10);
    expect(await stopped).toMatchObject({ status: "stopped" });
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_CANCELLED" });
    await expectNothingLeft();
  });

  it("gives up on a body that does not listen, by its timeout", async () => {
    const { clock, expectNothingLeft } = before();
    const deaf = task({ name: "deaf" }, async () => await gate().opened);
    const handle = await runTask(deaf, [], { clock, timeout: { attempt: "1s" } });
    const result = handle.result().catch((error: unknown) => error);
    await clock.advance("10s");
    expect(await result).toMatchObject({ code: "TASK_LOST", failure: { kind: "timeout_attempt" } });
    await expectNothingLeft();
  });

  it("takes no verb after the end: what ran it has let go", async () => {
    const { clock } = before();
    const fails = task({ name: "fails" }, () => {
      throw new Error("no");
    });
    const handle = await runTask(fails, [], { clock });
    await handle.wait({ timeout: "1s" });
    await clock.advance(0);
    await expect(handle.retry()).rejects.toMatchObject({ code: "CONTROLLER_CLOSED" });
    await expect(handle.stop()).rejects.toMatchObject({ code: "INVALID_TRANSITION" });
  });

  it.each<[unknown, string]>([
    [{ idle: "1s" }, "It belongs one level deeper: timeout: { idle }."],
    [{ priority: 1 }, 'runTask has no option "priority"'],
    [{ clock: {} }, "clock must have the methods"],
    [{ logger: "loud" }, "logger must have the methods"],
    [{ random: 1 }, "random must be a function"],
    [{ retry: { maxAttempts: "3" } }, 'task "tick": retry.maxAttempts'],
    [{ timeout: 5 }, 'task "tick": timeout must be a plain object'],
  ])("refuses %o, and leaves nothing behind", async (options, message) => {
    const { expectNothingLeft } = before();
    const tick = task({ name: "tick" }, () => 1);
    await expect(Reflect.apply(runTask, undefined, [tick, [], options])).rejects.toMatchObject({
      code: "CONFIGURATION",
      message: expect.stringContaining(message),
    });
    await expectNothingLeft();
  });

  it("refuses arguments that cannot be stored, and leaves nothing behind", async () => {
    const { clock, expectNothingLeft } = before();
    const call = task({ name: "call" }, (_ctx, callback: () => number) => callback());
    await expect(runTask(call, [() => 1], { clock })).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining("args[0]") });
    await expectNothingLeft();
  });

  it("lets the process end by itself", async () => {
    const script = fileURLToPath(new URL("fixtures/run-task-and-leave.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 15_000 });
    expect(stdout.trim().split("\n")).toEqual(["3", "true", "true"]);
  });
});
