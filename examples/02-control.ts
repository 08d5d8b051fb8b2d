import { setTimeout as sleep } from "node:timers/promises";
import { Controller, task } from "../src/index.ts"; // in your project: "chongming-task"

// Comes by a checkpoint in each turn of its loop, so it can be paused and stopped.
const polite = task({ name: "polite" }, async (ctx): Promise<never> => {
  for (let done = 1; ; done += 1) {
    await ctx.checkpoint();
    ctx.progress({ done });
    await sleep(5);
  }
});

// Never comes by one. Code in this very process cannot be killed, and nobody pretends it was.
const deaf = task({ name: "deaf" }, async (): Promise<void> => await sleep(1000));

const controller = await Controller.open({ tasks: [polite, deaf] });

const first = await controller.submit(polite);
await first.wait({ for: "running", timeout: "10s" });
console.log(`paused: ${await first.pause({ timeout: "10s" })}, now ${(await first.snapshot()).status}`);
console.log(`may it be resumed? ${(await controller.can(first.id, "resume")).allowed}`);
console.log(`after resume: ${(await first.resume()).status}`);
const stopped = await first.stop({ reason: "enough seen" });
console.log(`after stop: ${stopped.status}, failure kind ${stopped.failure?.kind}`);

const second = await controller.submit(deaf);
await second.wait({ for: "running", timeout: "10s" });
console.log(`paused: ${await second.pause({ timeout: "20ms" })}, still ${(await second.snapshot()).status}`);
const lost = await second.stop({ grace: "20ms" });
console.log(`after stop: ${lost.status}, abandoned ${lost.failure?.abandoned}: it may still run`);

await controller.close();

// Output:
// paused: true, now paused
// may it be resumed? true
// after resume: running
// after stop: stopped, failure kind cancelled
// paused: false, still running
// after stop: lost, abandoned true: it may still run
