import fastq from "fastq";
import PQueue from "p-queue";
import { MAX_PARALLEL } from "./pool.ts";
import type { Pool } from "./pool.ts";

const noop = async (): Promise<void> => {};

/** `p-queue`: functions and a limit; nothing is kept of a task, and it cannot be paused, stopped or retried. */
export function pQueuePool(): Pool {
  const queue = new PQueue({ concurrency: MAX_PARALLEL });
  return poolOf(async () => await queue.add(noop));
}

/** `fastq`: the same, faster still. */
export function fastqPool(): Pool {
  const queue = fastq.promise<unknown, null>(noop, MAX_PARALLEL);
  return poolOf(async () => await queue.push(null));
}

function poolOf(runOne: () => Promise<unknown>): Pool {
  return {
    all: async (count) => void (await Promise.all(Array.from({ length: count }, runOne))),
    oneByOne: async (count) => {
      for (let i = 0; i < count; i += 1) await runOne();
    },
    close: async () => {},
  };
}
