import { alternate } from "./lib/alternate.ts";
import { Controller } from "./lib/built.ts";
import type { Task, TaskHandle } from "../src/index.ts";
import * as tasks from "./lib/carrier-tasks.ts";
import { elapsedMs } from "./lib/elapsed.ts";
import { ROUNDS as PEER_ROUNDS, sized } from "./lib/mode.ts";
import { percentile } from "./lib/percentile.ts";
import { ratios, report, reportSkipped } from "./lib/report.ts";
import type { Target } from "./lib/report.ts";
import { isInstalled, tasksPerSecond, workerPools } from "./lib/worker-pools.ts";

// Control latency and launches of the carriers, through the public API: verb called → effect stored and answered.
const ROUNDS = sized(100, 3);
const FORCED = sized(20, 2);
const THROUGHPUT = sized(2_000, 20);
/** A child for each task: each is a start of Node. */
const CHILDREN = sized(100, 4);
const IDLE = sized(8, 2);

type Loop = Task<string, readonly [], never>;
type Trivial = Task<string, readonly [value: number], number>;

const controller = await Controller.open({ tasks: Object.values(tasks), concurrency: { maxParallel: 2 }, threads: { keep: 2 }, processes: { standby: 2 } });

async function running(task: Loop): Promise<TaskHandle<never>> {
  const handle = await controller.submit(task);
  await handle.wait({ for: "running", timeout: "30s" });
  return handle;
}

function latency(metric: string, samples: readonly number[], target?: Target): void {
  report({ bench: "carriers", metric: `${metric}, p50`, unit: "ms", samples: [percentile(samples, 50)], details: { calls: samples.length } });
  report({
    bench: "carriers",
    metric: `${metric}, p99`,
    unit: "ms",
    samples: [percentile(samples, 99)],
    details: { calls: samples.length },
    ...(target === undefined ? {} : { target }),
  });
}

async function control(kind: string, task: Loop, atMostMs: number): Promise<void> {
  const [pauses, resumes, stops, seen]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const handle = await running(task);
    pauses.push(await elapsedMs(async () => await handle.pause()));
    resumes.push(await elapsedMs(async () => await handle.resume()));
    stops.push(await elapsedMs(async () => await handle.stop()));
    for (const { stopAskedAt, stopSeenAt } of await controller.attempts(handle.id))
      if (stopAskedAt !== null && stopSeenAt !== null) seen.push(stopSeenAt - stopAskedAt);
  }
  if (seen.length !== ROUNDS) throw new Error(`${kind}: ${seen.length} of ${ROUNDS} stops were seen`);
  latency(`${kind}: pause asked → paused`, pauses, { atMost: atMostMs });
  latency(`${kind}: resume asked → running`, resumes);
  latency(`${kind}: stop asked → seen by the body, to the millisecond`, seen, { atMost: atMostMs });
  latency(`${kind}: stop asked → stopped`, stops);
}

/** Beyond the grace: what the last resort itself takes. */
async function forced(kind: string, task: Loop, atMostMs: number): Promise<void> {
  const graceMs = 20;
  const samples: number[] = [];
  for (let round = 0; round < FORCED; round += 1) {
    const handle = await running(task);
    samples.push((await elapsedMs(async () => await handle.stop({ grace: graceMs }))) - graceMs);
  }
  latency(`${kind}: forced stop, beyond the grace`, samples, { atMost: atMostMs });
}

async function launches(kind: string, task: Trivial, count: number): Promise<void> {
  const trip = async (): Promise<number> => await elapsedMs(async () => await (await controller.submit(task, [1])).result());
  const warm: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) warm.push(await trip());
  latency(`${kind}: submit → result, one after another`, warm);
  const ms = await elapsedMs(async () => {
    const results = Array.from({ length: count }, async (_, index) => await (await controller.submit(task, [index])).result());
    await Promise.all(results);
  });
  report({ bench: "carriers", metric: `${kind}: trivial tasks, 2 at once`, unit: "tasks/s", samples: [(count / ms) * 1_000], details: { tasks: count } });
}

/** Trivial tasks through two warm workers, ours used again like the peer's, in turn. */
async function againstPeer(kind: "thread" | "process", peer: "piscina" | "workerpool", atLeast: number): Promise<void> {
  if (!isInstalled(peer)) {
    reportSkipped("carriers", `two warm workers, ${kind}`, `${peer} is not installed: run npm ci`);
    return;
  }
  const pools = workerPools[kind];
  const measured = await alternate(
    [
      { name: "chongming", measure: async () => await tasksPerSecond(pools.chongming) },
      { name: "peer", measure: async () => await tasksPerSecond(pools.peer) },
    ],
    { rounds: PEER_ROUNDS, warmups: sized(1, 0) },
  );
  const figure = { bench: "carriers", unit: "tasks/s" } as const;
  report({ ...figure, metric: `two warm workers, ${kind}: chongming`, samples: measured.chongming });
  report({ ...figure, metric: `two warm workers, ${kind}: ${peer}`, samples: measured.peer });
  report({
    ...figure,
    metric: `two warm workers, ${kind}: chongming / ${peer}`,
    unit: "ratio",
    samples: ratios(measured.chongming, measured.peer),
    target: { atLeast },
  });
}

/** What workers that wait cost this process; a child tells its own size. */
async function idleMemory(): Promise<void> {
  const options = { tasks: [tasks.threadNothing, tasks.processSize], concurrency: { maxParallel: IDLE }, threads: { keep: IDLE }, processes: { standby: 0 } };
  const fresh = await Controller.open(options);
  const before = process.memoryUsage.rss();
  const handles = await Promise.all(Array.from({ length: IDLE }, async (_, index) => await fresh.submit(tasks.threadNothing, [index])));
  await Promise.all(handles.map(async (handle) => await handle.result()));
  const grown = (process.memoryUsage.rss() - before) / IDLE / 2 ** 20;
  report({ bench: "carriers", metric: "memory of an idle worker thread", unit: "MiB", samples: [grown], details: { workers: IDLE } });
  report({
    bench: "carriers",
    metric: "memory of a child process",
    unit: "MiB",
    samples: [(await (await fresh.submit(tasks.processSize)).result()) / 2 ** 20],
  });
  await fresh.close();
}

async function cold(kind: "threads" | "processes", task: Trivial): Promise<void> {
  const samples: number[] = [];
  for (let round = 0; round < sized(5, 1); round += 1) {
    const fresh = await Controller.open({ tasks: [task], threads: { keep: 0 }, processes: { standby: 0 } });
    await (await fresh.submit(task, [0])).result();
    samples.push(await elapsedMs(async () => await (await fresh.submit(task, [1])).result()));
    await fresh.close();
  }
  report({ bench: "carriers", metric: `${kind}: submit → result with a cold carrier`, unit: "ms", samples });
}

await control("async", tasks.asyncSteps, 2);
await control("thread", tasks.threadSteps, 3);
await control("process", tasks.processSteps, 5);
await forced("thread", tasks.threadDeaf, 10);
await forced("process", tasks.processDeaf, 20);
await launches("async", tasks.asyncNothing, THROUGHPUT);
await launches("thread", tasks.threadNothing, THROUGHPUT);
await launches("process, each child once", tasks.processNothing, CHILDREN);
await cold("threads", tasks.threadNothing);
await cold("processes", tasks.processNothing);
for (const task of [tasks.threadCheckpoints, tasks.processCheckpoints]) {
  const samples: number[] = [];
  for (let round = 0; round < sized(5, 1); round += 1) samples.push(await (await controller.submit(task, [sized(1_000_000, 1_000)])).result());
  report({ bench: "carriers", metric: `${task.name}: ctx.checkpointSync(), nothing asked`, unit: "ns", samples, target: { atMost: 20 } });
}
await controller.close();

await againstPeer("thread", "piscina", 0.5);
await againstPeer("process", "workerpool", 1);
await idleMemory();
