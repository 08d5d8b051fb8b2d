import { Controller, task } from "../src/index.ts";
import type { TaskContext } from "../src/index.ts";
import { alternate } from "./lib/alternate.ts";
import { isQuick, ROUNDS, sized } from "./lib/mode.ts";
import { ratios, report } from "./lib/report.ts";

// What a task's own loop pays: a checkpoint where nothing is asked, and progress for every row. Measured
// inside a task under full control, so that its async context and its reports are the real ones.
const AWAITS = sized(1_000_000, 10_000);
const REPORTS = sized(1_000_000, 10_000);
const RESOLVED = Promise.resolve();

async function bareAwaitNs(): Promise<number> {
  const from = performance.now();
  for (let i = 0; i < AWAITS; i += 1) await RESOLVED;
  return ((performance.now() - from) * 1e6) / AWAITS;
}

async function checkpointNs(ctx: TaskContext): Promise<number> {
  const from = performance.now();
  for (let i = 0; i < AWAITS; i += 1) await ctx.checkpoint();
  return ((performance.now() - from) * 1e6) / AWAITS;
}

function progressNs(ctx: TaskContext, total: number | undefined): number {
  if (total !== undefined) ctx.progress({ total, unit: "rows" });
  const from = performance.now();
  for (let i = 0; i < REPORTS; i += 1) ctx.progress({ done: i + 1 });
  return ((performance.now() - from) * 1e6) / REPORTS;
}

const awaiting = task({ name: "awaiting" }, async (ctx) => {
  const contenders = [
    { name: "bare", measure: bareAwaitNs },
    { name: "checkpoint", measure: async () => await checkpointNs(ctx) },
  ] as const;
  return await alternate(contenders, { rounds: ROUNDS, warmups: isQuick ? 0 : 2 });
});
const reporting = task({ name: "reporting" }, async (ctx, total: number | undefined) => progressNs(ctx, total));

const controller = await Controller.open({ tasks: [awaiting, reporting] });

/** A task of its own each time: what one has reported stays with it. */
async function reportNs(total: number | undefined): Promise<number> {
  const handle = await controller.submit(reporting, [total]);
  return await handle.result();
}

const handle = await controller.submit(awaiting);
const awaits = await handle.result();
const reports = await alternate(
  [
    { name: "open", measure: async () => await reportNs(undefined) },
    { name: "total", measure: async () => await reportNs(REPORTS) },
  ],
  { rounds: ROUNDS },
);
await controller.close();

report({ bench: "context", metric: "await of a resolved promise", unit: "ns", samples: awaits.bare });
report({ bench: "context", metric: "await ctx.checkpoint()", unit: "ns", samples: awaits.checkpoint });
report({
  bench: "context",
  metric: "await ctx.checkpoint() / await of a resolved promise",
  unit: "ratio",
  samples: ratios(awaits.checkpoint, awaits.bare),
  target: { atMost: 2 },
});
report({ bench: "context", metric: "ctx.progress(), no total", unit: "ns", samples: reports.open, target: { atMost: 100 }, details: { calls: REPORTS } });
report({ bench: "context", metric: "ctx.progress(), with total", unit: "ns", samples: reports.total, target: { atMost: 100 }, details: { calls: REPORTS } });
