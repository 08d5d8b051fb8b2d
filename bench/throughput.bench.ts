import { alternate } from "./lib/alternate.ts";
import { chongmingPool, chongmingQueue } from "./lib/chongming-pool.ts";
import { elapsedMs } from "./lib/elapsed.ts";
import { fastqPool, pQueuePool } from "./lib/in-process-pools.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { platformaticPool, platformaticQueue } from "./lib/platformatic-pool.ts";
import { MAX_PARALLEL } from "./lib/pool.ts";
import type { Pool, Queue } from "./lib/pool.ts";
import { ratios, report } from "./lib/report.ts";
import type { Target } from "./lib/report.ts";

// No-op tasks, ten at a time, from submit to result: what the library itself costs, against peers in the
// same run. The job queue keeps rows and results as we do (but no audit), the pools keep nothing.
const TASKS = sized(10_000, 200);
const ROUND_TRIPS = sized(3_000, 100);

const pools = { chongming: chongmingPool, platformatic: platformaticPool, pQueue: pQueuePool, fastq: fastqPool };
const queues = { chongming: chongmingQueue, platformatic: platformaticQueue };
type PoolName = keyof typeof pools;

type Work = (pool: Pool, count: number) => Promise<void>;

/** The first half of the pool's work is not timed: a collection shrinks the young heap, which then has to grow again. */
async function poolUs(name: PoolName, count: number, work: Work): Promise<number> {
  const pool = await pools[name]();
  await work(pool, count);
  const ms = await elapsedMs(async () => await work(pool, count));
  await pool.close();
  return (ms * 1_000) / count;
}

async function alternatePools(count: number, work: Work): Promise<Readonly<Record<PoolName, readonly number[]>>> {
  const names: readonly PoolName[] = ["chongming", "platformatic", "pQueue", "fastq"];
  const contenders = names.map((name) => ({ name, measure: async () => await poolUs(name, count, work) }));
  return await alternate(contenders, { rounds: ROUNDS, warmups: sized(1, 0) });
}

async function drainUs(open: () => Promise<Queue>, fills: number[]): Promise<number> {
  const queue = await open();
  fills.push(((await elapsedMs(async () => await queue.fill(TASKS))) * 1_000) / TASKS);
  const ms = await elapsedMs(async () => await queue.drain());
  await queue.close();
  return (ms * 1_000) / TASKS;
}

function reportUs(metric: string, samples: readonly number[], target?: Target): void {
  report({
    bench: "throughput",
    metric,
    unit: "µs/task",
    samples,
    details: { tasks: TASKS, maxParallel: MAX_PARALLEL },
    ...(target === undefined ? {} : { target }),
  });
}

function reportRatio(metric: string, samples: readonly number[], target?: Target): void {
  report({ bench: "throughput", metric, unit: "ratio", samples, ...(target === undefined ? {} : { target }) });
}

const all = await alternatePools(TASKS, async (pool, count) => await pool.all(count));
reportUs("submit to result, all at once: chongming", all.chongming, { atMost: 25 });
reportUs("submit to result, all at once: platformatic job-queue, memory", all.platformatic);
reportUs("submit to result, all at once: p-queue", all.pQueue);
reportUs("submit to result, all at once: fastq", all.fastq);
reportRatio("overhead a task: chongming / p-queue", ratios(all.chongming, all.pQueue), { atMost: 5 });
reportRatio("tasks a second, submit to result: chongming / platformatic", ratios(all.platformatic, all.chongming));

const trips = await alternatePools(ROUND_TRIPS, async (pool, count) => await pool.oneByOne(count));
reportUs("round trip, one after another: chongming", trips.chongming);
reportUs("round trip, one after another: platformatic job-queue, memory", trips.platformatic);
reportUs("round trip, one after another: p-queue", trips.pQueue);
reportUs("round trip, one after another: fastq", trips.fastq);
reportRatio("round trips a second: chongming / platformatic", ratios(trips.platformatic, trips.chongming));

const fills = { chongming: new Array<number>(), platformatic: new Array<number>() };
const warmups = sized(2, 0);
const drains = await alternate(
  [
    { name: "chongming", measure: async () => await drainUs(queues.chongming, fills.chongming) },
    { name: "platformatic", measure: async () => await drainUs(queues.platformatic, fills.platformatic) },
  ],
  { rounds: ROUNDS, warmups },
);
const filled = { chongming: fills.chongming.slice(warmups), platformatic: fills.platformatic.slice(warmups) };
reportUs("submit, all at once: chongming", filled.chongming);
reportUs("submit, all at once: platformatic job-queue, memory", filled.platformatic);
reportUs("drain of a full queue: chongming", drains.chongming);
reportUs("drain of a full queue: platformatic job-queue, memory", drains.platformatic);
reportRatio("drain, tasks a second: chongming / platformatic", ratios(drains.platformatic, drains.chongming), { atLeast: 1 });
