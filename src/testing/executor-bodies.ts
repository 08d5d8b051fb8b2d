import { setTimeout as sleep } from "node:timers/promises";
import type { TaskBody } from "../core/ports/executor.ts";
import type { TaskContext } from "../core/ports/task-context.ts";

/** How far apart the steps of a body lie that comes by a checkpoint again and again. */
const STEP_MS = 2;

/** An error with a code and a class of its own: both are to cross threads and processes. */
class ContractError extends Error {
  override readonly name = "ContractError";
  readonly code = "E_CONTRACT";
}

async function steps(ctx: TaskContext, what: (count: number) => void): Promise<never> {
  ctx.emit("ready", null);
  for (let count = 1; ; count += 1) {
    await ctx.checkpoint();
    what(count);
    await sleep(STEP_MS);
  }
}

function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/**
 * The tasks that `executorContract` runs, by name. An executor that takes closures is handed them as they are. For
 * one that loads tasks by module and name, export each under its name from a module of your own, as a task of yours
 * would be, and give the contract that module's URL.
 */
export const contractBodies = Object.freeze({
  /** Returns its argument. */
  returns: (ctx, value) => {
    ctx.emit("ready", null);
    return value;
  },
  /** Throws an error of its own class, with a code. */
  throws: (ctx, message) => {
    ctx.emit("ready", null);
    throw new ContractError(String(message), { cause: new RangeError("the root") });
  },
  /** Returns what its context says of the attempt. */
  facts: (ctx) => {
    const { taskId, pipelineRunId, name, attempt, fencingToken, deadline, saved } = ctx;
    return { taskId, pipelineRunId, name, attempt, fencingToken, deadline, saved, artifacts: ctx.artifacts.folder };
  },
  /** Comes by a checkpoint for ever, and counts aloud. */
  checkpoints: async (ctx) => await steps(ctx, (count) => ctx.emit("step", count)),
  /** The same in silence: nothing but checkpoints. */
  "quiet checkpoints": async (ctx) => await steps(ctx, () => {}),
  /** Says its deadline after each checkpoint. */
  deadline: async (ctx) => await steps(ctx, () => ctx.emit("deadline", ctx.deadline)),
  /** Comes by a checkpoint, and returns "part" when that throws. */
  "cleans up": async (ctx) => {
    try {
      return await steps(ctx, () => {});
    } catch {
      ctx.emit("cleaned", null);
      return "part";
    }
  },
  /** Never gives way to its event loop, but comes by `checkpointSync`. */
  "sync checkpoints": (ctx) => {
    ctx.emit("ready", null);
    for (let count = 1; ; count += 1) {
      ctx.checkpointSync();
      ctx.emit("step", count);
      spin(STEP_MS);
    }
  },
  /** Comes by `checkpointSync` once. */
  "one sync checkpoint": (ctx) => ctx.checkpointSync(),
  /** Never gives way and never looks. */
  deaf: (ctx) => {
    ctx.emit("ready", null);
    for (;;) spin(STEP_MS);
  },
  /** Does not look for so many milliseconds, then returns "done". */
  unaware: async (ctx, ms) => {
    ctx.emit("ready", null);
    await sleep(Number(ms));
    return "done";
  },
  /** Does not look for so many milliseconds, then comes by a checkpoint once. */
  "one checkpoint": async (ctx, ms) => {
    ctx.emit("ready", null);
    await sleep(Number(ms));
    await ctx.checkpoint();
    return "done";
  },
  /** Talks for so many milliseconds, and never looks. */
  talks: async (ctx, ms) => {
    ctx.emit("ready", null);
    for (const until = performance.now() + Number(ms); performance.now() < until; await sleep(STEP_MS)) ctx.emit("step", null);
  },
  /** Waits for its signal, and returns what it had with what the signal says. */
  "takes signal": async (ctx) => {
    const { signal } = ctx;
    ctx.emit("ready", null);
    const { promise, resolve } = Promise.withResolvers<void>();
    signal.addEventListener("abort", () => resolve(), { once: true });
    // Listeners alone keep no thread alive.
    const alive = setInterval(() => {}, 1_000);
    await promise;
    clearInterval(alive);
    return `part: ${signal.reason instanceof Error ? signal.reason.message : "no error"}`;
  },
  /** Says something in each way there is, and returns. */
  speaks: (ctx) => {
    ctx.progress({ done: 1, total: 4, unit: "rows" });
    ctx.log.warn("a line", { row: 7 });
    ctx.emit("value", { list: [1, "two"] });
    ctx.save({ at: 1 });
    ctx.save({ at: 3 });
    ctx.progress({ done: 3, message: "nearly" });
  },
  /** Asks for the value of an upstream node, and returns it. */
  "asks upstream": async (ctx, node) => {
    ctx.emit("ready", null);
    return await ctx.upstream(String(node));
  },
  /** Returns at once, and goes on talking for so many milliseconds. */
  haunts: (ctx, ms) => {
    const haunting = setInterval(() => {
      ctx.emit("ghost", null);
      ctx.save("ghost");
    }, STEP_MS);
    setTimeout(() => clearInterval(haunting), Number(ms));
    return "gone";
  },
  /** Returns what cannot be copied. */
  "uncloneable result": () => ({ rows: [1, { callback: () => 1 }] }),
  /** Ends its own carrier with exit code 3. */
  exits: (ctx) => {
    ctx.emit("ready", null);
    process.exit(3);
  },
} as const satisfies Readonly<Record<string, TaskBody>>);

/** The name of a task that `executorContract` runs. */
export type ContractBodyName = keyof typeof contractBodies;
