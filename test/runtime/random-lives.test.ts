import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { StoreError, TaskError } from "../../src/core/errors.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import type { TaskBody } from "../../src/core/ports/executor.ts";
import { isTerminal } from "../../src/core/transitions.ts";
import { unreachable } from "../../src/core/unreachable.ts";
import type { Cell } from "../../src/runtime/cell.ts";
import { sleep } from "./support/puppet.ts";
import { ADA, brokenRules, NOTHING_LEFT, Rig, submission } from "./support/rig.ts";

/** What the body does, attempt after attempt: how long it works, whether it looks, and how it ends. */
interface Script {
  readonly stepMs: number;
  readonly steps: number;
  readonly looks: "checkpoint" | "signal" | "never" | "swallows";
  readonly ending: "returns" | "throws";
  readonly executor: "async" | "inline";
  readonly maxAttempts: number;
  readonly attemptMs: number | null;
  readonly idleMs: number | null;
  readonly tag: boolean;
}

const script: fc.Arbitrary<Script> = fc.record({
  stepMs: fc.constantFrom(1, 7, 100, 3_000),
  steps: fc.integer({ min: 0, max: 6 }),
  looks: fc.constantFrom("checkpoint", "signal", "never", "swallows"),
  ending: fc.constantFrom("returns", "throws"),
  executor: fc.constantFrom("async", "inline"),
  maxAttempts: fc.integer({ min: 1, max: 3 }),
  attemptMs: fc.constantFrom(null, 50, 500),
  idleMs: fc.constantFrom(null, 60),
  tag: fc.boolean(),
});

type Step =
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "stop" | "cancel" | "pause" | "resume" | "retry" | "start"; readonly task: number; readonly ms: number; readonly force: boolean }
  | { readonly do: "storeFails"; readonly times: number }
  | { readonly do: "submit"; readonly script: Script };

const ms = fc.constantFrom(0, 1, 5, 50, 400, 6_000);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("advance" as const), ms }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom("stop", "cancel", "pause", "resume", "retry", "start"),
      task: fc.nat(7),
      ms,
      force: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("storeFails" as const), times: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("submit" as const), script }) },
);

function bodyOf(rig: Rig, { stepMs, steps, looks, ending }: Script): TaskBody {
  return async (ctx) => {
    for (let done = 0; done < steps; done += 1) {
      if (looks === "checkpoint") await ctx.checkpoint();
      if (looks === "swallows") await ctx.checkpoint().catch(() => {});
      if (looks === "signal") ctx.signal.throwIfAborted();
      ctx.progress({ done, total: steps });
      await sleep(rig.clock, stepMs);
    }
    if (ending === "throws") throw new Error("boom");
    return steps;
  };
}

/** One life of an engine: what goes wrong in it, in words. */
async function live(steps: readonly Step[]): Promise<readonly string[]> {
  const rig = await Rig.open({ concurrency: { maxParallel: 2, limits: { db: 1 } } });
  const cells: Cell[] = [];
  const wrong: string[] = [];
  /** A verb may be refused; it may not fail in any other way. */
  const asked: Promise<unknown>[] = [];
  const ask = (verb: Promise<unknown>): void => {
    asked.push(verb.catch((error: unknown) => (error instanceof TaskError && error.code !== "INTERNAL" ? null : wrong.push(String(error)))));
  };
  for (const each of steps) {
    switch (each.do) {
      case "advance":
        await rig.clock.advance(each.ms);
        break;
      case "storeFails":
        rig.store.fail("commit", new StoreError("busy", { transient: true }), { times: each.times });
        break;
      case "submit": {
        const { executor, maxAttempts, attemptMs, idleMs, tag } = each.script;
        const timeout = { ...(attemptMs === null ? {} : { attempt: attemptMs }), ...(idleMs === null ? {} : { idle: idleMs }) };
        const retry = { maxAttempts, backoff: constant({ delay: 30 }) };
        const task = submission(bodyOf(rig, each.script), { executor, retry, timeout, tags: tag ? ["db"] : [] });
        // Not awaited: it may have to wait for a store that is away until the clock is moved.
        ask(rig.engine.submit(task).then((cell) => cells.push(cell)));
        await rig.settle();
        break;
      }
      case "start":
      case "stop":
      case "pause":
      case "resume":
      case "cancel":
      case "retry": {
        const made = cells[each.task];
        if (made !== undefined) ask(verb(rig, made, each));
        break;
      }
      default:
        unreachable(each);
    }
  }
  rig.store.heal();
  await rig.clock.advance(1_000);
  for (const { taskId } of cells) {
    const held = rig.engine.cell(taskId);
    if (held !== undefined && held.unstored === 0 && isTerminal(held.snapshot.status)) wrong.push(`${taskId} is kept though it has ended`);
  }
  const rows: { readonly id: string; readonly broken: readonly string[] }[] = [];
  // The store keeps what it has until everything has been looked at.
  rig.store.close = async () => {};
  const over = rig.engine.close(20);
  await rig.clock.advance("1h");
  await over;
  await Promise.all(asked);
  for (const { taskId: id } of cells) {
    const row = await rig.engine.get(id);
    rows.push({ id, broken: [...brokenRules(await rig.store.audit.history(id), row), ...(isTerminal(row.status) ? [] : [`it is ${row.status}`])] });
    const attempts = await rig.store.audit.attempts(id);
    if (attempts.length !== row.attempt || attempts.some(({ endedAt }) => endedAt === null)) wrong.push(`${id}: attempts ${JSON.stringify(attempts)}`);
  }
  wrong.push(...rows.flatMap(({ broken }) => broken));
  wrong.push(...rig.said.filter((line) => line.startsWith("error") && !line.includes("the store could not write")));
  if ((rig.engine.load.slots.byTag.get("db") ?? 0) !== 0) wrong.push("a tag is held");
  const left = { ...rig.left, listeners: 0 };
  if (JSON.stringify(left) !== JSON.stringify(NOTHING_LEFT)) wrong.push(`left: ${JSON.stringify(left)}`);
  if (rig.engine.health.orphans !== 0) wrong.push(`orphans: ${rig.engine.health.orphans}`);
  return wrong;
}

async function verb(rig: Rig, made: Cell, asked: Extract<Step, { readonly task: number }>): Promise<unknown> {
  const { control } = rig.engine;
  const cell = await rig.engine.cellOf(made.taskId, () => made.definition);
  switch (asked.do) {
    case "stop":
    case "cancel":
      return await control.halt(cell, asked.do, { ...ADA, graceMs: asked.ms });
    case "pause":
      return await control.pause(cell, { ...ADA, pauseTimeoutMs: asked.ms });
    case "retry": {
      const held = rig.engine.hold(cell);
      try {
        return await control.retry(held, { ...ADA, force: asked.force });
      } finally {
        rig.engine.letGo(held);
      }
    }
    case "resume":
    case "start":
      return await control[asked.do](cell, ADA);
    default:
      return unreachable(asked.do);
  }
}

describe("whatever is asked of tasks, and whenever", () => {
  test("every verb is answered, every task ends, the audit is a lawful story, and nothing is left", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        expect(await live([{ do: "submit", script: FIRST }, ...steps])).toEqual([]);
      }),
      { numRuns: process.env["CHONGMING_LONG"] === "1" ? 3_000 : 120 },
    );
  });
});

const FIRST: Script = {
  stepMs: 7,
  steps: 5,
  looks: "checkpoint",
  ending: "returns",
  executor: "async",
  maxAttempts: 2,
  attemptMs: null,
  idleMs: null,
  tag: true,
};
