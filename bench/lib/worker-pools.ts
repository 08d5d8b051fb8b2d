import { createRequire } from "node:module";
import type { Task } from "../../src/index.ts";
import { Controller } from "./built.ts";
import { processNothing, threadNothing } from "./carrier-tasks.ts";
import { elapsedMs } from "./elapsed.ts";
import { sized } from "./mode.ts";

/** Two warm workers that give back what they get. */
interface WorkerPool {
  readonly run: (value: number) => Promise<number>;
  readonly close: () => Promise<void>;
}

/** What is used of the peers; that they are installed is asked when they are measured, not when the bench is checked. */
interface Piscina {
  readonly run: (value: number) => Promise<number>;
  readonly destroy: () => Promise<void>;
}
type PiscinaClass = new (options: { readonly filename: string; readonly minThreads: number; readonly maxThreads: number }) => Piscina;
interface Workerpool {
  pool(options: { readonly workerType: "process"; readonly minWorkers: number; readonly maxWorkers: number }): {
    exec(body: (value: number) => number, args: readonly [number]): Promise<number>;
    terminate(): Promise<unknown>;
  };
}
const require = createRequire(import.meta.url);

const WORKERS = 2;
/** So many that nobody replaces a worker while it is measured. */
const MANY = 1_000_000;

async function chongming(task: Task<string, readonly [value: number], number>): Promise<WorkerPool> {
  const controller = await Controller.open({
    tasks: [task],
    concurrency: { maxParallel: WORKERS },
    threads: { keep: WORKERS, maxTasks: MANY },
    processes: { standby: WORKERS, reuse: true, maxTasks: MANY },
  });
  return { run: async (value) => await (await controller.submit(task, [value])).result(), close: async () => await controller.close() };
}

function piscina(): WorkerPool {
  const { Piscina } = require("piscina") as { readonly Piscina: PiscinaClass };
  const pool = new Piscina({
    filename: new URL("identity-worker.mjs", import.meta.url).href,
    minThreads: WORKERS,
    maxThreads: WORKERS,
  });
  return { run: async (value) => await pool.run(value), close: async () => await pool.destroy() };
}

function workerpoolProcesses(): WorkerPool {
  const workerpool = require("workerpool") as Workerpool;
  const pool = workerpool.pool({ workerType: "process", minWorkers: WORKERS, maxWorkers: WORKERS });
  const identity = (value: number): number => value;
  return { run: async (value) => await pool.exec(identity, [value]), close: async () => void (await pool.terminate()) };
}

/** A checkout that is older than the peer's line in package.json lacks it until the next `npm ci`. */
export function isInstalled(peer: "piscina" | "workerpool"): boolean {
  try {
    require.resolve(peer);
    return true;
  } catch {
    return false;
  }
}

/** Each keeps what it is given in a queue and has two workers; only ours keeps a row, an audit and a way to stop each task. */
export const workerPools = {
  thread: { chongming: async () => await chongming(threadNothing), peer: piscina },
  process: { chongming: async () => await chongming(processNothing), peer: workerpoolProcesses },
} as const;

/** Tasks a second, all given at once. The first half is not timed: workers start in it, and compilers. */
export async function tasksPerSecond(open: () => WorkerPool | Promise<WorkerPool>): Promise<number> {
  const count = sized(4_000, 20);
  const pool = await open();
  const all = async (): Promise<void> => {
    const values = await Promise.all(Array.from({ length: count }, async (_, index) => await pool.run(index)));
    if (values.some((value, index) => value !== index)) throw new Error("a task has not given back what it got");
  };
  await all();
  const ms = await elapsedMs(all);
  await pool.close();
  return (count / ms) * 1_000;
}
