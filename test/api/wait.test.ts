import { describe, expect, it } from "vitest";
import { constant, Controller, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, TaskHandle } from "../../src/index.ts";
import { call, gate, HEARTBEAT, listen, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const fails = task({ name: "fails" }, () => {
  throw new Error("no");
});

describe("wait", () => {
  it.each([
    [undefined, 'wait needs a timeout: a length such as "30s", or "none" to wait for ever.'],
    [{}, "wait needs a timeout"],
    [{ for: "running" }, "wait needs a timeout"],
    [{ timeout: "soon" }, "wait: timeout"],
    [{ timeout: -1 }, "wait: timeout"],
    [{ timeout: "1s", until: "failed" }, 'wait has no option "until"'],
    [{ timeout: "1s", for: "finishd" }, 'found "finishd". Did you mean "succeeded"?'],
    [{ timeout: "1s", for: "runing" }, 'found "runing". Did you mean "running"?'],
    [{ timeout: "1s", for: "done" }, "wait: for must be one of"],
    [{ timeout: "1s", signal: true }, "wait: signal must be an AbortSignal; found true"],
  ])("refuses %o", async (options, message) => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo);
    for (const [object, args] of [
      [handle, [options]],
      [stage.controller, [handle.id, options]],
    ] as const) {
      await expect(call(object, "wait", args)).rejects.toMatchObject({ code: "CONFIGURATION", message: expect.stringContaining(message) });
    }
  });

  it("gives the row with its outcome once the task has ended, also when it ended long ago", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo, [{ a: 1 }]);
    expect(await handle.wait({ timeout: "1s" })).toMatchObject({ status: "succeeded", outcome: { a: 1 } });
    await stage.clock.advance("1d");
    expect(await stage.controller.wait(handle.id, { timeout: 0 })).toMatchObject({ status: "succeeded", outcome: { a: 1 } });
    expect(await handle.wait({ for: "succeeded", timeout: "none" })).toMatchObject({ status: "succeeded" });
  });

  it("gives up in time, and neither the task nor a timer notices", async () => {
    const hold = task({ name: "hold" }, async () => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [hold] });
    const handle = await stage.controller.submit(hold);
    const waits = Promise.allSettled([handle.wait({ timeout: "1s" }), handle.wait({ for: "paused", timeout: "2s" }), handle.wait({ timeout: 0 })]);
    await stage.clock.advance("2s");
    const [ended, paused, now] = await waits;
    expect(ended).toMatchObject({ reason: { code: "WAIT_TIMEOUT", message: expect.stringMatching(/its end was not reached within 1 ?s/) } });
    expect(paused).toMatchObject({ reason: { code: "WAIT_TIMEOUT", message: expect.stringMatching(/"paused" was not reached within 2 ?s/) } });
    expect(now).toMatchObject({ reason: { code: "WAIT_TIMEOUT" } });
    expect(stage.clock.pendingTimers).toBe(HEARTBEAT);
    expect(await handle.snapshot()).toMatchObject({ status: "running", requestedAction: null });
    expect((await stage.controller.history(handle.id)).map(({ to }) => to)).toEqual(["queued", "starting", "running"]);
    const inTime = handle.wait({ timeout: "1h" });
    door.open();
    await inTime;
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("sees a status that lasts no longer than a moment", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo);
    const seen = await Promise.all([handle.wait({ for: "starting", timeout: "1s" }), handle.wait({ for: "running", timeout: "1s" })]);
    expect(seen.map(({ status }) => status)).toEqual(["starting", "running"]);
  });

  it("says so as soon as the status can no longer come", async () => {
    await using stage = await openStage({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    const waits = [handle.wait({ for: "succeeded", timeout: "none" }), handle.wait({ for: "paused", timeout: "none" })];
    await expect(waits[0]).rejects.toMatchObject({
      code: "WAIT_IMPOSSIBLE",
      message: expect.stringContaining('ended failed, so "succeeded" cannot come any more'),
    });
    await expect(waits[1]).rejects.toMatchObject({ code: "WAIT_IMPOSSIBLE" });
    await expect(handle.wait({ for: "running", timeout: "none" })).rejects.toMatchObject({ code: "WAIT_IMPOSSIBLE" });
  });

  it("does not take a backoff for the end", async () => {
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1m", jitter: "none" }) } }, (ctx) => {
      if (ctx.attempt === 1) throw new Error("first");
    });
    await using stage = await openStage({ tasks: [flaky] });
    const handle = await stage.controller.submit(flaky);
    expect(await handle.wait({ for: "retry_wait", timeout: "1s" })).toMatchObject({ failure: { message: "first" } });
    const end = handle.wait({ timeout: "2m" });
    await stage.clock.advance("1m");
    expect(await end).toMatchObject({ status: "succeeded" });
  });

  it("ends with the signal's own reason, at once or later", async () => {
    const hold = task({ name: "hold" }, async () => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [hold] });
    const handle = await stage.controller.submit(hold);
    const why = new Error("enough");
    await expect(handle.wait({ timeout: "1h", signal: AbortSignal.abort(why) })).rejects.toBe(why);
    const stop = new AbortController();
    const waiting = handle.wait({ timeout: "1h", signal: stop.signal });
    stop.abort(why);
    await expect(waiting).rejects.toBe(why);
    expect(stage.clock.pendingTimers).toBe(HEARTBEAT);
    door.open();
    expect(await handle.wait({ timeout: "1h" })).toMatchObject({ status: "succeeded" });
  });
});

describe("a task that asks for its own end", () => {
  it.each<[string, (handle: TaskHandle<unknown>, controller: Controller) => Promise<unknown>]>([
    ["wait", async (handle) => await handle.wait({ timeout: "1s" })],
    ["wait", async (handle, controller) => await controller.wait(handle.id, { for: "paused", timeout: "none" })],
    ["wait", async (handle) => await handle.result()],
    ["stop", async (handle) => await handle.stop()],
    ["stop", async (handle, controller) => await controller.stop(handle.id, { grace: 0 })],
    ["cancel", async (handle) => await handle.cancel()],
    ["pause", async (handle) => await handle.pause()],
    ["retry", async (handle) => await handle.retry()],
  ])("is told so: %s", async (verb, ask) => {
    const asks = task({ name: "asks" }, async () => await ask(await mine.opened, stage.controller));
    const mine = gate<TaskHandle<unknown>>();
    await using stage = await openStage({ tasks: [asks] });
    const handle = await stage.controller.submit(asks);
    mine.open(handle);
    await expect(handle.result()).rejects.toMatchObject({
      code: "TASK_EXECUTION",
      cause: { code: "DEADLOCK", message: expect.stringContaining(`asked for "${verb}" of itself and would wait for ever`) },
    });
    expect((await stage.controller.history(handle.id)).map(({ to }) => to)).toEqual(["queued", "starting", "running", "failed"]);
  });

  it("may ask for another's", async () => {
    const outer = task({ name: "outer" }, async () => {
      const inner = await stage.controller.submit(echo, [5]);
      await expect(inner.stop({ grace: 0 })).resolves.toMatchObject({ status: "stopped" });
      return await (await stage.controller.submit(echo, [6])).result();
    });
    await using stage = await openStage({ tasks: [outer, echo] });
    expect(await (await stage.controller.submit(outer)).result()).toBe(6);
  });

  it.each<[string, (run: RunHandle) => Promise<unknown>]>([
    ["wait", async (run) => await run.wait({ timeout: "none" })],
    ["stop", async (run) => await run.stop()],
    ["cancel", async (run) => await run.cancel()],
  ])("or for the end of the run it belongs to: %s", async (verb, ask) => {
    const asks = task({ name: "asks" }, async () => await ask(await mine.opened));
    const mine = gate<RunHandle>();
    const alone = definePipeline("alone", {}, (p) => void p.add(asks));
    await using stage = await openStage({ pipelines: [alone] });
    const run = await stage.controller.startRun(alone);
    mine.open(run);
    expect(await run.wait({ timeout: "1s" })).toMatchObject({ status: "failed" });
    expect(run.summary().firstFailure?.failure).toMatchObject({
      name: "Deadlock",
      message: expect.stringContaining(`asked for "${verb}" of run ${run.id}, which it belongs to`),
    });
  });
});

describe("a controller in an `await using`", () => {
  it("stops what runs at the end of the block, and cancels what has not begun", async () => {
    const busy = task({ name: "busy" }, async (ctx) => {
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve()));
      await ctx.checkpoint();
    });
    const ends: Promise<unknown>[] = [];
    {
      await using controller = await Controller.open({ tasks: [busy, echo], concurrency: { maxParallel: 1 } });
      const running = await controller.submit(busy);
      const queued = await controller.submit(echo);
      await running.wait({ for: "running", timeout: "none" });
      ends.push(
        running.wait({ timeout: "none" }),
        queued.wait({ timeout: "none" }),
        queued.result().catch((error: unknown) => error),
      );
    }
    expect(await Promise.all(ends)).toMatchObject([{ status: "stopped" }, { status: "cancelled" }, { code: "TASK_CANCELLED" }]);
  });

  it("waits for the grace, not longer", async () => {
    const deaf = task({ name: "deaf" }, async () => await gate().opened);
    await using stage = await openStage({ tasks: [deaf] });
    const handle = await stage.controller.submit(deaf);
    await stage.clock.advance(1);
    const end = handle.wait({ timeout: "none" });
    let closed = false;
    const closing = stage.controller.close({ grace: "3s" }).then(() => (closed = true));
    await stage.clock.advance(2_999);
    expect(closed).toBe(false);
    await stage.clock.advance(1);
    await closing;
    expect(await end).toMatchObject({ status: "lost", failure: { abandoned: true } });
  });

  it("stops a body that listens before the grace is over", async () => {
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
    await using stage = await openStage({ tasks: [busy] });
    const handle = await stage.controller.submit(busy);
    await stage.clock.advance(15);
    const end = handle.wait({ timeout: "none" });
    const closing = stage.controller.close({ grace: "3s" });
    await stage.clock.advance(10);
    await closing;
    expect(await end).toMatchObject({ status: "stopped" });
  });
});
