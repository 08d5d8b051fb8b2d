import { Controller, task } from "../../../src/index.ts";
import { processEcho, threadEcho, processDeath } from "../../carriers/fixtures/deaths.ts";
import { holdings, holdingsAfter, settleIn } from "../support/holdings.ts";
import { say } from "../support/say.ts";

// Tasks whose timeouts are a minute long end at once: no timer may keep this process.
const MINUTE = { timeout: { start: "60s", attempt: "60s", idle: "60s" } } as const;
const quick = task({ name: "quick" }, () => "done");
const broken = task({ name: "broken" }, () => Promise.reject(new Error("broken")));
const heedful = task({ name: "heedful" }, async (ctx) => {
  for (;;) {
    await ctx.checkpoint();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

await settleIn();
const before = holdings();
const controller = await Controller.open({ tasks: [quick, broken, heedful, threadEcho, processEcho, processDeath], processes: { standby: 0 } });
const handles = [
  await controller.submit(quick, [], MINUTE),
  await controller.submit(broken, [], MINUTE),
  await controller.submit(heedful, [], MINUTE),
  await controller.submit(threadEcho, ["x"], MINUTE),
  await controller.submit(processEcho, ["x"], MINUTE),
  await controller.submit(processDeath, ["exit 7"], MINUTE),
];
await handles[2]?.stop({ grace: "60s" });
const statuses = await Promise.all(handles.map(async (handle) => (await handle.wait({ timeout: "60s" })).status));
await controller.close({ grace: "60s" });
const after = await holdingsAfter(before);
const closedAt = performance.now();
say({ ends: { statuses, before: before.resources, after: after.resources } });
process.once("exit", () => say({ idleForMs: performance.now() - closedAt }));
