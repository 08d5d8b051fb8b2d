import { beforeEach, describe, expect, test } from "vitest";
import type { TaskContext } from "../../src/core/ports/task-context.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { polling, sleep } from "../runtime/support/puppet.ts";
import { ADA, NOTHING_LEFT, Rig } from "../runtime/support/rig.ts";

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.open();
});

/** A body that waits for the abort and then does something else. */
function whenAborted(act: (ctx: TaskContext) => unknown): (ctx: TaskContext) => Promise<unknown> {
  return async (ctx) => {
    await new Promise<void>((resolve) => {
      ctx.signal.addEventListener("abort", () => resolve());
    });
    return await act(ctx);
  };
}

async function statusesOf(cell: Cell): Promise<readonly string[]> {
  return (await rig.store.audit.history(cell.taskId)).map(({ to }) => to);
}

describe("C002: a messy stop is not a failure and is not retried", () => {
  const variants: readonly (readonly [string, (ctx: TaskContext) => unknown, string])[] = [
    [
      "throws a TypeError of its own",
      () => {
        throw new TypeError("cleanup broke");
      },
      "cleanup broke",
    ],
    [
      "throws the abort reason itself",
      (ctx) => {
        throw ctx.signal.reason;
      },
      "stopped by ada",
    ],
    ["throws undefined", async () => await Promise.reject(undefined), "undefined was thrown"],
  ];

  test.each(variants)("the body %s", async (_what, act, detail) => {
    const cell = await rig.submit(whenAborted(act), { retry: { maxAttempts: 3 } });
    await rig.clock.advance(100);
    const row = await rig.engine.control.halt(cell, "stop", ADA);
    expect(row).toMatchObject({ status: "stopped", attempt: 1, failure: { kind: "cancelled", retryable: false, message: expect.stringContaining(detail) } });
    await rig.clock.advance("1h");
    expect(await statusesOf(cell)).toEqual(["queued", "starting", "running", "stopping", "stopped"]);
    expect(await rig.store.audit.attempts(cell.taskId)).toHaveLength(1);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("the same with cancel ends cancelled", async () => {
    const cell = await rig.submit(
      whenAborted(() => {
        throw new TypeError("cleanup broke");
      }),
      { retry: { maxAttempts: 3 } },
    );
    expect(await rig.engine.control.halt(cell, "cancel", ADA)).toMatchObject({ status: "cancelled", attempt: 1, failure: { message: "cleanup broke" } });
  });
});

describe("C014: a body that swallows the abort and returns is never succeeded", () => {
  const swallows = whenAborted(async () => {
    await sleep(rig.clock, 50);
    return "ok";
  });

  test("an attempt timeout of 100 ms: failed with the timeout as its reason, at 150 ms", async () => {
    const cell = await rig.submit(swallows, { timeout: { attempt: 100 } });
    await rig.clock.advance(149);
    expect((await rig.row(cell)).status).toBe("running");
    await rig.clock.advance(1);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", failure: { kind: "timeout_attempt" } });
    expect(rig.warnings(cell)).toEqual(["late_result_discarded"]);
  });

  test("a stop at 100 ms: stopped, with the value kept as its partial outcome", async () => {
    const cell = await rig.submit(swallows);
    await rig.clock.advance(100);
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    await rig.clock.advance(50);
    expect(await stopped).toMatchObject({ status: "stopped", partialOutcome: "ok" });
    expect((await rig.row(cell)).outcome).toBeUndefined();
  });

  test("it loops on for 2 s under a grace of 300 ms: settled at 400 ms, and lost, since the body still runs", async () => {
    const cell = await rig.submit(async (ctx) => {
      for (let turn = 0; turn < 200; turn += 1) {
        await ctx.checkpoint().catch(() => {});
        await sleep(rig.clock, 10);
      }
      return "ok";
    });
    await rig.clock.advance(100);
    const stopped = rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 300 });
    await rig.clock.advance(300);
    expect(await stopped).toMatchObject({ status: "lost", failure: { abandoned: true } });
    await rig.clock.advance("1m");
    expect(await rig.row(cell)).toMatchObject({ status: "lost", abandonedBy: null });
    expect(await statusesOf(cell)).toEqual(["queued", "starting", "running", "stopping", "lost"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("C023: a pause of a body that never looks", () => {
  async function pausing(timeout?: { readonly attempt: number }): Promise<{ readonly cell: Cell; readonly paused: Promise<boolean> }> {
    const cell = await rig.submit(
      async () => {
        await sleep(rig.clock, 2_000);
        return "done";
      },
      timeout === undefined ? {} : { timeout },
    );
    await rig.clock.advance(200);
    const paused = rig.engine.control.pause(cell, ADA);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "pausing", requestedAction: "pause" });
    return { cell, paused };
  }

  test("and nothing else: it finishes as succeeded, and the pause answers false", async () => {
    const { cell, paused } = await pausing();
    await rig.clock.advance(1_800);
    expect([await paused, (await rig.row(cell)).status]).toEqual([false, "succeeded"]);
    expect((await rig.steps(cell)).slice(3)).toEqual([
      "running → pausing (user:pause)",
      "pausing → running (pause:overtaken)",
      "running → succeeded (executor:finished)",
    ]);
  });

  test("and a resume at 400 ms: running again", async () => {
    const { cell, paused } = await pausing();
    await rig.clock.advance(200);
    expect(await rig.engine.control.resume(cell, ADA)).toMatchObject({ status: "running", requestedAction: null });
    expect(await paused).toBe(false);
    await rig.clock.advance(1_600);
    expect((await rig.row(cell)).status).toBe("succeeded");
  });

  test("and a stop at 400 ms: it cannot have noticed, so what it returns counts; with a short grace it is lost", async () => {
    const first = await pausing();
    await rig.clock.advance(200);
    const stopped = rig.engine.control.halt(first.cell, "stop", ADA);
    await rig.clock.advance(1_600);
    expect(await stopped).toMatchObject({ status: "succeeded", outcome: "done" });
    const second = await pausing();
    const lost = rig.engine.control.halt(second.cell, "stop", { ...ADA, graceMs: 100 });
    await rig.clock.advance(100);
    expect((await lost).status).toBe("lost");
  });

  test("and another pause: no change", async () => {
    const { cell } = await pausing();
    const { statusVersion } = await rig.row(cell);
    void rig.engine.control.pause(cell, ADA);
    await rig.clock.advance(200);
    expect(await rig.row(cell)).toMatchObject({ status: "pausing", statusVersion });
  });

  test("and an attempt timeout of 1 s: the time in pausing counts", async () => {
    const { cell, paused } = await pausing({ attempt: 1_000 });
    await rig.clock.advance(1_800);
    expect([await paused, await rig.row(cell)]).toMatchObject([false, { status: "failed", failure: { kind: "timeout_attempt" } }]);
    expect(rig.warnings(cell)).toEqual(["late_result_discarded"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("C058: nothing is left of a task that ended early", () => {
  test.each([
    ["success", async () => await sleep(rig.clock, 50), "succeeded"],
    ["failure", async () => await sleep(rig.clock, 50).then(() => Promise.reject(new Error("boom"))), "failed"],
    ["stop", async (ctx: TaskContext) => await polling(rig.clock, 50)(ctx), "stopped"],
  ] as const)("%s", async (_how, body, status) => {
    const cell = await rig.submit(body, { timeout: { start: "60s", attempt: "60s", idle: "60s" } });
    const halted = status === "stopped" ? rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 60_000 }) : null;
    await rig.clock.advance(50);
    await halted;
    expect((await rig.row(cell)).status).toBe(status);
    expect(rig.left).toEqual(NOTHING_LEFT);
    const before = rig.events.length;
    await rig.clock.advance("1h");
    expect(rig.events).toHaveLength(before);
  });
});
