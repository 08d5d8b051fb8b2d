import { Controller } from "../../../src/index.ts";
import { processFlood, rawProcessFlood, threadFlood } from "../../carriers/fixtures/floods.ts";
import type { Flood } from "../../carriers/fixtures/floods.ts";
import { say } from "../support/say.ts";

// A supervisor of tasks that print too much, that tells how much memory that has cost it.
const [kind, how, bytes] = process.argv.slice(2) as [string, Flood | "raw", string];
const before = process.memoryUsage.rss();
await using controller = await Controller.open({ tasks: [threadFlood, processFlood, rawProcessFlood], processes: { standby: 0 }, threads: { keep: 0 } });
const task = kind === "thread" ? threadFlood : processFlood;
const handle = how === "raw" ? await controller.submit(rawProcessFlood, [Number(bytes)]) : await controller.submit(task, [how, Number(bytes)]);
let lines = 0;
const lastLines: string[] = [];
for await (const event of handle.events({ types: ["TaskOutput", "TaskStatusChanged"] })) {
  if (event.type !== "TaskOutput") continue;
  lines += 1;
  lastLines.push(String(event.payload).slice(0, 80));
  if (lastLines.length > 102) lastLines.shift();
}
const { status, outcome } = await handle.snapshot();
say({ end: { status, outcome, lines, lastLines, grownMb: Math.round((process.resourceUsage().maxRSS * 1024 - before) / 2 ** 20) } });
