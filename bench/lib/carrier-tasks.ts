import { task } from "./built.ts";
import type { TaskContext } from "../../src/index.ts";

// The tasks of the carrier bench, exported so that threads and processes find them. A checkpoint about every 100 µs, as
// the targets say; waiting in a busy loop, since a timer's own grain would be measured else.
const module = import.meta.url;

function busyUs(us: number): void {
  const until = performance.now() + us / 1_000;
  while (performance.now() < until);
}

async function steps(ctx: TaskContext): Promise<never> {
  for (;;) {
    await ctx.checkpoint();
    busyUs(100);
  }
}

function stepsSync(ctx: TaskContext): never {
  for (;;) {
    ctx.checkpointSync();
    busyUs(100);
  }
}

function deaf(): never {
  for (;;) busyUs(1_000);
}

function nothing(_ctx: TaskContext, value: number): number {
  return value;
}

function size(): number {
  return process.memoryUsage.rss();
}

function checkpointNs(ctx: TaskContext, times: number): number {
  const from = performance.now();
  for (let i = 0; i < times; i += 1) ctx.checkpointSync();
  return ((performance.now() - from) * 1e6) / times;
}

export const asyncSteps = task({ name: "async-steps", executor: "async" }, steps);
export const threadSteps = task({ name: "thread-steps", executor: "thread", module }, stepsSync);
export const processSteps = task({ name: "process-steps", executor: "process", module }, stepsSync);
export const threadDeaf = task({ name: "thread-deaf", executor: "thread", module }, deaf);
export const processDeaf = task({ name: "process-deaf", executor: "process", module }, deaf);
export const asyncNothing = task({ name: "async-nothing", executor: "async" }, nothing);
export const threadNothing = task({ name: "thread-nothing", executor: "thread", module }, nothing);
export const processNothing = task({ name: "process-nothing", executor: "process", module }, nothing);
export const threadCheckpoints = task({ name: "thread-checkpoints", executor: "thread", module }, checkpointNs);
export const processCheckpoints = task({ name: "process-checkpoints", executor: "process", module }, checkpointNs);
export const processSize = task({ name: "process-size", executor: "process", module }, size);
