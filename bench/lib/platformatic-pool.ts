import { MemoryStorage, Queue as JobQueue } from "@platformatic/job-queue";
import { MAX_PARALLEL } from "./pool.ts";
import type { Pool, Queue } from "./pool.ts";

/** It must give something: `enqueueAndWait` of version 0.5.0 waits in vain for a result that is `null`. */
const noop = async (): Promise<boolean> => true;

/** `@platformatic/job-queue` on its memory storage, defaults but for the concurrency. */
export async function platformaticPool(): Promise<Pool> {
  const queue = new JobQueue<null, boolean>({ storage: new MemoryStorage(), concurrency: MAX_PARALLEL });
  queue.execute(noop);
  await queue.start();
  let made = 0;
  const runOne = async (): Promise<boolean> => await queue.enqueueAndWait(`job-${(made += 1)}`, null, { timeout: 600_000 });
  return {
    all: async (count) => void (await Promise.all(Array.from({ length: count }, runOne))),
    oneByOne: async (count) => {
      for (let i = 0; i < count; i += 1) await runOne();
    },
    close: async () => await queue.stop(),
  };
}

/** The same, filled by a producer before the consumer starts. */
export async function platformaticQueue(): Promise<Queue> {
  const storage = new MemoryStorage();
  const producer = new JobQueue<null, boolean>({ storage, concurrency: MAX_PARALLEL });
  const consumer = new JobQueue<null, boolean>({ storage, concurrency: MAX_PARALLEL });
  const finished = Promise.withResolvers<void>();
  let left = 0;
  consumer.execute(noop);
  consumer.on("completed", () => {
    left -= 1;
    if (left === 0) finished.resolve();
  });
  await producer.start();
  return {
    fill: async (count) => {
      left = count;
      await Promise.all(Array.from({ length: count }, async (_, index) => await producer.enqueue(`job-${index}`, null)));
    },
    drain: async () => {
      await consumer.start();
      await finished.promise;
    },
    close: async () => {
      await consumer.stop();
      await producer.stop();
    },
  };
}
