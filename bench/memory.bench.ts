import { Controller, task } from "../src/index.ts";
import { collectGarbage } from "./lib/collect-garbage.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { report } from "./lib/report.ts";

// What a finished task leaves behind in the memory store (row, result, audit, attempt), and what a queued
// one takes, with all that the controller keeps of it.
const TASKS = sized(50_000, 500);
const BATCH = 1_000;

const gates: PromiseWithResolvers<void>[] = [];
const work = task({ name: "work" }, async (_ctx, row: number) => row + 1);
const gated = task({ name: "gated" }, async () => await gates.at(-1)?.promise);

function heapNow(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
}

async function submitAll(controller: Controller): Promise<void> {
  for (let done = 0; done < TASKS; done += BATCH) {
    await Promise.all(Array.from({ length: Math.min(BATCH, TASKS - done) }, async (_, index) => await controller.submit(work, [done + index])));
  }
}

async function measure(): Promise<{ readonly queued: number; readonly finished: number }> {
  gates.push(Promise.withResolvers());
  const controller = await Controller.open({ tasks: [work, gated], concurrency: { maxParallel: 1 } });
  const first = await controller.submit(gated);
  await first.wait({ for: "running", timeout: "10s" });
  const before = heapNow();
  await submitAll(controller);
  const queued = (heapNow() - before) / TASKS;
  gates.at(-1)?.resolve();
  const last = await controller.submit(work, [0]);
  await last.result();
  const finished = (heapNow() - before) / TASKS;
  const { succeeded } = await controller.stats();
  await controller.close();
  if (succeeded !== TASKS + 2) throw new Error(`${TASKS + 2} tasks were to succeed, and ${succeeded} did.`);
  return { queued, finished };
}

const samples: { readonly queued: number; readonly finished: number }[] = [];
await measure();
for (let round = 0; round < Math.min(ROUNDS, 3); round += 1) samples.push(await measure());
const details = { tasks: TASKS };
report({ bench: "memory", metric: "a queued task", unit: "bytes", samples: samples.map(({ queued }) => queued), details });
report({ bench: "memory", metric: "a finished task", unit: "bytes", samples: samples.map(({ finished }) => finished), details });
