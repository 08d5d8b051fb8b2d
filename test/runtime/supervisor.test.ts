import { beforeEach, describe, expect, test, vi } from "vitest";
import { CarrierAbandoned, ConcurrencyConflict } from "../../src/core/errors.ts";
import { constant, exponential } from "../../src/core/policies/backoff.ts";
import { Puppet, polling } from "./support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, ONE_RUNS, Rig } from "./support/rig.ts";
import type { RigOptions } from "./support/rig.ts";

let rig: Rig;
let puppet: Puppet;

beforeEach(async () => {
  rig = await Rig.open();
  puppet = new Puppet();
});

function heldTags(): number {
  return rig.engine.load.slots.byTag.get("db") ?? 0;
}

async function reopen(options: RigOptions): Promise<void> {
  rig = await Rig.open(options);
}

/** A body that notes when it began and throws. */
function failing(begun: number[]): () => never {
  return () => {
    begun.push(rig.clock.monotonic());
    throw new Error("boom");
  };
}

describe("retries", () => {
  test("each attempt begins at its exact instant: base, factor, cap and jitter of the policy", async () => {
    const begun: number[] = [];
    const chances = [0, 0.5, 0.25, 0.75];
    await reopen({ random: () => chances.shift() ?? 1 });
    const cell = await rig.submit(failing(begun), { retry: { maxAttempts: 5, backoff: exponential({ base: "1s", factor: 2, max: "3s" }) } });
    await rig.clock.advance("1h");
    // Delays: 1,000 × 0, 2,000 × 0.5, 3,000 (capped) × 0.25, 3,000 × 0.75.
    expect(begun).toEqual([0, 0, 1_000, 1_750, 4_000]);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", attempt: 5, maxAttempts: 5, failure: { kind: "exception", message: "boom" } });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("while it backs off it holds no slot, and the row says until when and why", async () => {
    await reopen({ concurrency: { maxParallel: 1 } });
    const cell = await rig.submit(failing([]), { retry: { maxAttempts: 2, backoff: constant({ delay: "10s", jitter: "none" }) } });
    expect(await rig.row(cell)).toMatchObject({ status: "retry_wait", availableAt: rig.clock.now() + 10_000, failure: { message: "boom" }, owner: null });
    expect(rig.left).toEqual({ ...NOTHING_LEFT, tasks: 1, timers: 1 });
    const other = await rig.submit(puppet.run);
    expect((await rig.row(other)).status).toBe("running");
    await rig.clock.advance("10s");
    expect(await rig.steps(cell)).toContain("retry_wait → queued (retry:backoff-elapsed)");
    puppet.last.returns(1);
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "failed", attempt: 2 });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("with a slot free it starts straight out of the backoff", async () => {
    const cell = await rig.submit(failing([]), { retry: { maxAttempts: 2, backoff: constant({ delay: "10s", jitter: "none" }) } });
    await rig.clock.advance("10s");
    expect(await rig.steps(cell)).toEqual([
      "pending → queued (scheduler:ready)",
      "queued → starting (scheduler:dispatch)",
      "starting → running (executor:launched)",
      "running → retry_wait (retry:backoff)",
      "retry_wait → starting (scheduler:dispatch)",
      "starting → running (executor:launched)",
      "running → failed (retry:exhausted)",
    ]);
    expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
  });

  test("a jump of the wall clock neither brings it forward nor puts it off", async () => {
    const begun: number[] = [];
    await rig.submit(failing(begun), { retry: { maxAttempts: 2, backoff: constant({ delay: "10s", jitter: "none" }) } });
    rig.clock.jumpWall(86_400_000);
    await rig.clock.advance(9_999);
    rig.clock.jumpWall(-172_800_000);
    expect(begun).toEqual([0]);
    await rig.clock.advance(1);
    expect(begun).toEqual([0, 10_000]);
  });

  test("the attempts are on the record, each with its times and its end", async () => {
    let calls = 0;
    const cell = await rig.submit(
      async () => {
        calls += 1;
        await new Promise<void>((resolve) => {
          rig.clock.setTimer(100 * calls, resolve);
        });
        if (calls < 3) throw new Error(`boom ${calls}`);
        return "at last";
      },
      { retry: { maxAttempts: 3, backoff: constant({ delay: "1s", jitter: "none" }) } },
    );
    const begunAt = rig.clock.now();
    await rig.clock.advance("1m");
    const owner = expect.stringMatching(/^[0-9a-z]{16}:1$/);
    const common = { taskId: cell.taskId, epoch: 0, executor: "async", pid: null, owner, forced: false };
    expect(await rig.store.audit.attempts(cell.taskId)).toMatchObject([
      { ...common, attempt: 1, startedAt: begunAt, endedAt: begunAt + 100, durationMs: 100, endedAs: "retry_wait", failure: { message: "boom 1" } },
      { ...common, attempt: 2, startedAt: begunAt + 1_100, durationMs: 200, endedAs: "retry_wait", failure: { message: "boom 2" } },
      { ...common, attempt: 3, startedAt: begunAt + 2_300, durationMs: 300, endedAs: "succeeded", failure: null },
    ]);
    const events = rig.events.filter(({ type }) => type === "AttemptStarted" || type === "AttemptFailed").map(({ type }) => type);
    expect(events).toEqual(["AttemptStarted", "AttemptFailed", "AttemptStarted", "AttemptFailed", "AttemptStarted"]);
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "at last", failure: null, attempt: 3 });
  });

  test("none where the policy gives up on it, and none of a configuration error", async () => {
    const given = await rig.submit(failing([]), { retry: { maxAttempts: 5, giveUpOn: ["exception"] } });
    expect(await rig.row(given)).toMatchObject({ status: "failed", attempt: 1 });
    const wrong = await rig.submit(async (ctx) => await ctx.upstream("raw"), { retry: { maxAttempts: 5 } });
    expect(await rig.row(wrong)).toMatchObject({ status: "failed", attempt: 1 });
  });

  test("none while it is stopping: what fails then ends stopped", async () => {
    const cell = await rig.submit(puppet.run, { retry: { maxAttempts: 5 } });
    const stopped = rig.engine.control.halt(cell, "stop", ADA);
    puppet.last.throws(new Error("cleanup broke"));
    expect(await stopped).toMatchObject({ status: "stopped", attempt: 1, failure: { message: "cleanup broke" } });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("a carrier that cannot be made", () => {
  test("is a failed attempt and holds nothing", async () => {
    const executor = rig.engine.executors.get("async");
    if (executor === undefined) throw new Error("there is no async executor");
    vi.spyOn(executor, "launch").mockImplementationOnce(() => {
      throw new Error("no thread left");
    });
    const cell = await rig.submit(() => "second time", { timeout: { start: "1s", attempt: "1s" }, retry: { maxAttempts: 2 } });
    expect(await rig.row(cell)).toMatchObject({ status: "retry_wait", failure: { message: "no thread left" } });
    await rig.clock.advance("1h");
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second time" });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("a start that cannot be stored", () => {
  test("launches nothing, tells whoever waits, and holds nothing", async () => {
    const barrier = rig.store.hold("commit");
    rig.store.fail("commit", new ConcurrencyConflict("t", 1, 2), { times: 100 });
    const cell = await rig.submit(puppet.run, { timeout: { start: "1m" } });
    const waiting = rig.engine.wait(cell.taskId, null, { timeoutMs: null });
    barrier.release();
    await expect(waiting).rejects.toThrow(ConcurrencyConflict);
    await rig.settle();
    expect(puppet.calls).toHaveLength(0);
    expect(rig.left).toEqual(NOTHING_LEFT);
    expect(rig.said.length).toBeGreaterThan(0);
  });
});

describe("an abandoned body", () => {
  /** A task whose deaf body has been given up on. */
  async function abandoned(tags: readonly string[] = []): ReturnType<Rig["submit"]> {
    const cell = await rig.submit(puppet.run, { tags });
    const stopped = rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 1_000 });
    await rig.clock.advance(1_000);
    expect(await stopped).toMatchObject({ status: "lost" });
    return cell;
  }

  test("is an orphan until it ends; its end is on the record and changes nothing else", async () => {
    const cell = await abandoned();
    const before = await rig.row(cell);
    expect(before.abandonedBy).not.toBeNull();
    expect(rig.engine.health.orphans).toBe(1);
    puppet.last.returns("late");
    await rig.settle();
    expect(await rig.row(cell)).toEqual({ ...before, abandonedBy: null });
    expect([rig.engine.health.orphans, rig.warnings(cell)]).toEqual([0, ["abandoned_body_ended"]]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("that throws at last is recorded with what it threw", async () => {
    const cell = await abandoned();
    puppet.last.throws(new Error("too late"));
    await rig.settle();
    expect(rig.events.findLast(({ type }) => type === "TaskWarning")).toMatchObject({ code: "abandoned_body_ended", failure: { message: "too late" } });
    expect((await rig.row(cell)).status).toBe("lost");
  });

  test("keeps the task from being run again, unless forced, until it has ended", async () => {
    const cell = await abandoned();
    const again = await rig.engine.cellOf(cell.taskId, () => cell.definition);
    await expect(rig.engine.control.retry(again, ADA)).rejects.toThrow(CarrierAbandoned);
    puppet.last.returns("late");
    await rig.settle();
    const free = await rig.engine.cellOf(cell.taskId, () => cell.definition);
    rig.engine.hold(free);
    expect(await rig.engine.control.retry(free, ADA)).toMatchObject({ status: "queued" });
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 2 });
  });

  test("keeps its tags and nothing else", async () => {
    await reopen({ concurrency: { maxParallel: 2, limits: { db: 1 } } });
    await abandoned(["db"]);
    expect([rig.engine.load.slots.total, heldTags()]).toEqual([0, 1]);
    const other = new Puppet();
    const next = await rig.submit(other.run, { tags: ["db"] });
    expect((await rig.row(next)).status).toBe("queued");
    puppet.last.returns("late");
    await rig.settle();
    expect((await rig.row(next)).status).toBe("running");
    other.last.returns(1);
    await rig.settle();
    expect(heldTags()).toBe(0);
  });

  test("of an attempt before takes no tags of the attempt that was forced beside it", async () => {
    await reopen({ concurrency: { limits: { db: 2 } } });
    const cell = await abandoned(["db"]);
    const again = await rig.engine.cellOf(cell.taskId, () => cell.definition);
    rig.engine.hold(again);
    await rig.engine.control.retry(again, { ...ADA, force: true });
    await rig.settle();
    expect(heldTags()).toBe(2);
    puppet.call(1).returns("second");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second" });
    expect(heldTags()).toBe(1);
    puppet.call(0).returns("late");
    await rig.settle();
    expect(heldTags()).toBe(0);
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second", abandonedBy: null });
  });

  test("that ends while the next attempt runs does not settle that one", async () => {
    const cell = await abandoned();
    const again = await rig.engine.cellOf(cell.taskId, () => cell.definition);
    rig.engine.hold(again);
    await rig.engine.control.retry(again, { ...ADA, force: true });
    await rig.settle();
    puppet.call(0).returns("late-1");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "running", attempt: 2, abandonedBy: null });
    puppet.call(1).returns("second");
    await rig.settle();
    expect(await rig.row(cell)).toMatchObject({ status: "succeeded", outcome: "second" });
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});

describe("slots, timers, listeners and memory come back in every ending", () => {
  const TIMEOUTS = { start: "1m", attempt: "1m", idle: "1m" } as const;

  test.each([
    ["success", () => puppet.last.returns(1)],
    ["a failure", () => puppet.last.throws(new Error("boom"))],
    ["a stop that is heard", () => puppet.last.throws(puppet.last.ctx.signal.reason)],
  ])("%s", async (what, end) => {
    await reopen({ concurrency: { maxParallel: 1, limits: { db: 1 } } });
    const cell = await rig.submit(puppet.run, { timeout: TIMEOUTS, tags: ["db"] });
    puppet.last.ctx.progress({ done: 1 });
    puppet.last.ctx.progress({ done: 2 });
    expect(rig.left).toMatchObject({ slots: 1, tasks: 1 });
    const halted = what.startsWith("a stop") ? rig.engine.control.halt(cell, "stop", { ...ADA, graceMs: 60_000 }) : null;
    end();
    await halted;
    await rig.settle();
    expect(rig.left).toEqual(NOTHING_LEFT);
    expect([heldTags(), cell.watcherCount]).toEqual([0, 0]);
  });

  test.each(["stop", "cancel"] as const)("%s before the start", async (verb) => {
    await reopen({ concurrency: { maxParallel: 1 } });
    const first = await rig.submit(puppet.run);
    const second = await rig.submit(puppet.run, { timeout: TIMEOUTS });
    await rig.engine.control.halt(second, verb, ADA);
    expect(rig.left).toEqual(ONE_RUNS);
    const stopped = rig.engine.control.halt(first, verb, { ...ADA, graceMs: 0 });
    await rig.settle();
    await stopped;
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test.each(["stop", "cancel", "pause"] as const)("%s while it backs off", async (verb) => {
    const cell = await rig.submit(failing([]), { retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } });
    if (verb === "pause") expect(await rig.engine.control.pause(cell, ADA)).toBe(true);
    else await rig.engine.control.halt(cell, verb, ADA);
    expect(rig.left).toMatchObject({ slots: 0, timers: 0 });
  });

  test("a hundred tasks of every kind", async () => {
    await reopen({ concurrency: { maxParallel: 7 } });
    const bodies = [() => 1, failing([]), polling(rig.clock), new Puppet().run];
    const cells = [];
    for (let index = 0; index < 100; index += 1) {
      const body = bodies[index % bodies.length] ?? (() => 1);
      cells.push(
        await rig.submit(body, { timeout: { attempt: "2s" }, retry: { maxAttempts: 1 + (index % 3) }, executor: index % 2 === 0 ? "async" : "inline" }),
      );
    }
    const halts = cells
      .filter((_cell, index) => index % 5 === 0)
      .map((cell) => rig.engine.control.halt(cell, "cancel", { ...ADA, graceMs: 100 }).catch(String));
    await rig.clock.advance("1h");
    await Promise.all(halts);
    expect(rig.left).toEqual(NOTHING_LEFT);
    const counts = await rig.store.tasks.counts({});
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(100);
    for (const cell of cells) expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
  });
});
