import { setTimeout as sleep } from "node:timers/promises";
import { Controller, task } from "../../../src/index.ts";
import type { TaskHandle } from "../../../src/index.ts";
import { processDeath, threadDeath } from "../../carriers/fixtures/deaths.ts";
import { asyncPuppet, inlinePuppet, processPuppet, threadPuppet } from "../../carriers/fixtures/puppets.ts";
import type { Manner } from "../../carriers/fixtures/puppets.ts";
import { holdings, holdingsAfter, settleIn } from "../support/holdings.ts";
import { say } from "../support/say.ts";

// A program that opens a controller, has something in flight in every phase on every carrier, closes it, and has nothing
// else to do.
const failing = task({ name: "failing", retry: { maxAttempts: 9, backoff: () => 60_000 } }, async (ctx) => {
  await ctx.artifacts.write("report.csv", "half of it");
  throw new Error("try again");
});
const tasks = [inlinePuppet, asyncPuppet, threadPuppet, processPuppet, threadDeath, processDeath, failing];
const stage = process.argv[2] ?? "";

await settleIn();
for (let round = 0; round < 2; round += 1) {
  const before = holdings();
  const statuses = await fillAndClose();
  const after = await holdingsAfter(before);
  const closedAt = performance.now();
  say({ [`round ${round}`]: { before, after, statuses } });
  if (round === 1) process.once("exit", () => say({ idleForMs: performance.now() - closedAt }));
}

async function fillAndClose(): Promise<readonly string[]> {
  const controller = await Controller.open({ tasks, concurrency: { maxParallel: 20, limits: {} }, threads: { keep: 2 }, processes: { standby: 1 } });
  const handles: TaskHandle<unknown>[] = [];
  const begun = new Set<string>();
  const listening = (async () => {
    for await (const event of controller.events()) if (event.type === "TaskOutput" && event.payload === "begun") begun.add(event.taskId);
  })();
  const puppets = { inlinePuppet, asyncPuppet, threadPuppet, processPuppet };
  const ready: TaskHandle<unknown>[] = [];
  for (const puppet of Object.values(puppets)) {
    const manners: readonly Manner[] = puppet === inlinePuppet ? ["heedful"] : ["heedful", "heedful"];
    for (const manner of manners) ready.push(await controller.submit(puppet, [{ stage, manner }]));
  }
  // Only what can be ended for certain may be deaf: an abandoned body is this process's own, and would keep it.
  for (const puppet of [threadPuppet, processPuppet])
    for (const manner of ["deaf", "busy", "busy-deaf"] as const) ready.push(await controller.submit(puppet, [{ stage, manner }]));
  while (begun.size < ready.length) await sleep(5);
  await Promise.all(ready.filter((_, index) => index % 2 === 0).map(async (handle) => await handle.pause({ timeout: 100 }).catch(() => false)));
  handles.push(...ready, await controller.submit(failing), await controller.submit(threadDeath, ["exit 7"]), await controller.submit(processDeath, ["exit 7"]));
  for (let nth = 0; nth < 8; nth += 1) handles.push(await controller.submit(nth % 2 === 0 ? threadPuppet : processPuppet, [{ stage, manner: "heedful" }]));
  await sleep(30);
  const ends = handles.map(async (handle) => (await handle.wait({ timeout: "none" })).status);
  await controller.close({ grace: 1_500 });
  await listening;
  return await Promise.all(ends);
}
