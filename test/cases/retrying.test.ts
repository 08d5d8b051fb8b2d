import { beforeEach, describe, expect, test } from "vitest";
import { constant, exponential } from "../../src/core/policies/backoff.ts";
import type { Backoff, BackoffFunction } from "../../src/core/policies/backoff.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { sleep } from "../runtime/support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, Rig, submission } from "../runtime/support/rig.ts";

let rig: Rig;

beforeEach(async () => {
  rig = await Rig.open({ concurrency: { maxParallel: 1_000 } });
});

describe("C012: a cancel while the retry timer fires", () => {
  // From one controller: a memory store cannot be shared with a second one.
  test("no body starts after an acknowledged cancel, in 1,000 rounds around the instant", async () => {
    const startsAfter: string[] = [];
    const begun = new Set<string>();
    const acknowledged = new Set<string>();
    const cells: Cell[] = [];
    const body = async (ctx: { readonly taskId: string; readonly attempt: number; readonly checkpoint: () => Promise<void> }): Promise<string> => {
      if (acknowledged.has(ctx.taskId)) startsAfter.push(ctx.taskId);
      if (ctx.attempt === 1) throw new Error("boom");
      begun.add(ctx.taskId);
      for (let turn = 0; turn < 3; turn += 1) {
        await sleep(rig.clock, 5);
        await ctx.checkpoint();
      }
      return "done";
    };
    const halts: Promise<unknown>[] = [];
    for (let round = 0; round < 1_000; round += 1) {
      const cancel = async (): Promise<void> => {
        const cell = cells[round];
        if (cell === undefined) throw new Error("the round has no task yet");
        // So many microtasks behind whatever else happens at that instant.
        for (let hop = 0; hop < round % 25; hop += 1) await Promise.resolve();
        const snapshot = await rig.engine.control.halt(cell, "cancel", ADA);
        acknowledged.add(cell.taskId);
        expect(snapshot.status).toBe("cancelled");
      };
      // Half of the timers of T itself are set before the retry's own, half behind it.
      const dueMs = 1_000 + ((round >> 1) % 3) - 1;
      if (round % 2 === 0) halts.push(sleep(rig.clock, dueMs).then(cancel));
      cells.push(await rig.engine.submit(task(body)));
      if (round % 2 === 1) halts.push(sleep(rig.clock, dueMs).then(cancel));
    }
    await rig.clock.advance("1m");
    await Promise.all(halts);
    expect(acknowledged.size).toBe(1_000);
    expect(startsAfter).toEqual([]);
    // Both kinds of rounds were there: those in which the start had won, and those in which the cancel had.
    expect(begun.size).toBeGreaterThan(100);
    expect(begun.size).toBeLessThan(900);
    expect((await rig.store.tasks.counts({})).cancelled).toBe(1_000);
    for (const cell of cells) expect(brokenRules(await rig.store.audit.history(cell.taskId), await rig.row(cell))).toEqual([]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  function task(run: (ctx: never) => unknown): Parameters<Rig["engine"]["submit"]>[0] {
    return submission(run as Parameters<typeof submission>[0], { retry: { maxAttempts: 2, backoff: constant({ delay: 1_000, jitter: "none" }) } });
  }
});

describe("C013: a timed-out attempt never runs beside the next one", () => {
  test("a body of 1 s that ignores its abort: the next attempt begins only when the old body has ended", async () => {
    const log: string[] = [];
    const cell = await rig.submit(
      async (ctx) => {
        log.push(`begin ${ctx.attempt}`);
        await sleep(rig.clock, 1_000);
        log.push(`end ${ctx.attempt}`);
        return `late-${ctx.attempt}`;
      },
      { timeout: { attempt: 100 }, retry: { maxAttempts: 3, backoff: constant({ delay: 0, jitter: "none" }) } },
    );
    await rig.clock.advance("1m");
    expect(log).toEqual(["begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3"]);
    const row = await rig.row(cell);
    expect(row).toMatchObject({ status: "failed", attempt: 3, failure: { kind: "timeout_attempt" } });
    expect(row.outcome).toBeUndefined();
    expect(rig.warnings(cell)).toEqual(["late_result_discarded", "late_result_discarded", "late_result_discarded"]);
    expect(rig.left).toEqual(NOTHING_LEFT);
  });

  test("a body of 10 s, longer than the grace: it is lost and reported as abandoned, and no attempt is begun beside it", async () => {
    const begun: number[] = [];
    const cell = await rig.submit(
      async (ctx) => {
        begun.push(ctx.attempt);
        await sleep(rig.clock, 10_000);
        return `late-${ctx.attempt}`;
      },
      { timeout: { attempt: 100 }, retry: { maxAttempts: 3 } },
    );
    await rig.clock.advance(9_999);
    expect(await rig.row(cell)).toMatchObject({ status: "lost", failure: { kind: "timeout_attempt", abandoned: true } });
    expect(rig.engine.health.orphans).toBe(1);
    await rig.clock.advance("1h");
    expect([begun, await rig.row(cell)]).toMatchObject([[1], { status: "lost", abandonedBy: null }]);
    expect([rig.engine.health.orphans, rig.warnings(cell)]).toEqual([0, ["abandoned_body_ended"]]);
  });
});

describe("C016: no backoff makes a hot loop", () => {
  /** When each attempt began. */
  async function startsWith(backoff: Backoff | BackoffFunction, maxAttempts: number): Promise<{ readonly cell: Cell; readonly starts: readonly number[] }> {
    const starts: number[] = [];
    const cell = await rig.submit(
      () => {
        starts.push(rig.clock.monotonic());
        throw new Error("boom");
      },
      { retry: { maxAttempts, backoff } },
    );
    await rig.clock.advance("10h");
    return { cell, starts };
  }

  test.each([
    ["factor 2", exponential({ base: 100, factor: 2, max: "30s" })],
    ["factor 1e308", exponential({ base: 100, factor: 1e308, max: "30s" })],
    ["factor 1", exponential({ base: 100, factor: 1, max: "30s" })],
    ["factor 0.5", exponential({ base: 100, factor: 0.5, max: "30s" })],
    ["base 0", exponential({ base: 0, factor: 2, max: "30s" })],
  ])("%s: 200 attempts, each delay within [0, 30 s]", async (_what, backoff) => {
    const { cell, starts } = await startsWith(backoff, 200);
    expect(starts).toHaveLength(200);
    const delays = starts.slice(1).map((start, index) => start - (starts[index] ?? 0));
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...delays)).toBeLessThanOrEqual(30_000);
    expect(await rig.row(cell)).toMatchObject({ status: "failed", attempt: 200 });
  });

  test.each([
    ["NaN", () => Number.NaN],
    ["-5", () => -5],
    ["Infinity", () => Number.POSITIVE_INFINITY],
    ["'250'", () => "250"],
    ["undefined", () => undefined],
    ["a promise", async () => await Promise.resolve(5)],
    [
      "an error",
      () => {
        throw new RangeError("no delay today");
      },
    ],
  ])("a function that answers with %s fails the task once, with the task's own error preserved", async (_what, answer) => {
    const { cell, starts } = await startsWith(answer as BackoffFunction, 5);
    expect(starts).toHaveLength(1);
    const row = await rig.row(cell);
    expect(row).toMatchObject({ status: "failed", attempt: 1, failure: { name: "ConfigurationError", retryable: false } });
    expect(row.failure?.causes.map(({ message }) => message)).toContain("boom");
    expect(rig.left).toEqual(NOTHING_LEFT);
  });
});
