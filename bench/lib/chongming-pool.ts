import { Controller, task } from "../../src/index.ts";
import type { TaskHandle } from "../../src/index.ts";
import { MAX_PARALLEL } from "./pool.ts";
import type { Pool, Queue } from "./pool.ts";

const noop = task({ name: "noop" }, async () => {});

const STEPS = ["queued", "starting", "running", "succeeded"];

/** Our own, as anybody would use it: memory store, every step in the audit. */
export async function chongmingPool(): Promise<Pool> {
  const controller = await Controller.open({ tasks: [noop], concurrency: { maxParallel: MAX_PARALLEL } });
  let total = 0;
  return {
    all: async (count) => {
      total += count;
      await Promise.all(
        Array.from({ length: count }, async () => {
          const handle = await controller.submit(noop);
          return await handle.result();
        }),
      );
    },
    oneByOne: async (count) => {
      total += count;
      for (let i = 0; i < count; i += 1) {
        const handle = await controller.submit(noop);
        await handle.result();
      }
    },
    close: async () => await closeChecked(controller, total, await controller.submit(noop)),
  };
}

/** The same as a queue that is filled first: its slots are taken by tasks that wait for the start. */
export async function chongmingQueue(): Promise<Queue> {
  const gate = Promise.withResolvers<void>();
  const gated = task({ name: "gated" }, async () => await gate.promise);
  const controller = await Controller.open({ tasks: [noop, gated], concurrency: { maxParallel: MAX_PARALLEL } });
  for (let i = 0; i < MAX_PARALLEL; i += 1) {
    const holder = await controller.submit(gated);
    await holder.wait({ for: "running", timeout: "10s" });
  }
  let handles: readonly TaskHandle<unknown>[] = [];
  let total = MAX_PARALLEL;
  return {
    fill: async (count) => {
      total += count;
      handles = await Promise.all(Array.from({ length: count }, async () => await controller.submit(noop)));
    },
    drain: async () => {
      gate.resolve();
      // First in, first out: when the last ones have ended, all have. `close` checks it.
      for (const handle of handles.slice(-2 * MAX_PARALLEL)) await handle.wait({ timeout: "none" });
    },
    close: async () => await closeChecked(controller, total, await controller.submit(noop)),
  };
}

/** A figure counts only where all tasks succeeded with their whole history on record. */
async function closeChecked(controller: Controller, total: number, last: TaskHandle<unknown>): Promise<void> {
  await last.result();
  const counts = await controller.stats();
  const history = await controller.history(last.id);
  await controller.close();
  if (counts.succeeded !== total + 1) throw new Error(`${total + 1} tasks were to succeed: ${JSON.stringify(counts)}.`);
  const steps = history.map((step) => step.to);
  if (steps.join() !== STEPS.join()) throw new Error(`the audit is not whole: ${steps.join()}.`);
}
