import { setTimeout as sleep } from "node:timers/promises";
import { Controller, task } from "../src/index.ts";
import { collectGarbage } from "./lib/collect-garbage.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { report } from "./lib/report.ts";

// What a controller takes of a CPU while it waits: nothing to do, and a queue in which everything waits for something.
const QUEUED = sized(10_000, 100);
const WATCHED_MS = sized(3_000, 100);

const work = task({ name: "work", tags: ["io"] }, () => 1);

/** Percent of one CPU. */
async function watch(): Promise<number> {
  collectGarbage();
  await sleep(200);
  const from = { at: performance.now(), cpu: process.cpuUsage() };
  await sleep(WATCHED_MS);
  const { user, system } = process.cpuUsage(from.cpu);
  return (user + system) / 10 / (performance.now() - from.at);
}

const bare: number[] = [];
const idle: number[] = [];
const waiting: number[] = [];
for (let round = 0; round < ROUNDS; round += 1) {
  bare.push(await watch());
  const controller = await Controller.open({ tasks: [work], buckets: { count: 64 }, concurrency: { limits: { io: 1 }, perBucket: 1, aging: "1m" } });
  await (await controller.submit(work)).result();
  idle.push(await watch());
  await controller.hold({ name: "work" });
  for (let i = 0; i < QUEUED; i += 1) await controller.submit(work, [], i % 2 === 0 ? {} : { delay: "1h" });
  waiting.push(await watch());
  await controller.close();
}

const target = { atMost: 0.1 };
report({ bench: "idle", metric: "CPU of a bare process", unit: "%", samples: bare });
report({ bench: "idle", metric: "CPU of a controller with nothing to do", unit: "%", samples: idle, target });
report({ bench: "idle", metric: `CPU of a controller with ${QUEUED} that wait`, unit: "%", samples: waiting, target });
