import { setTimeout as sleep } from "node:timers/promises";
import { runTask, task } from "../src/index.ts"; // in your project: "chongming-task"

const backfill = task({ name: "backfill" }, async (ctx, days: number): Promise<number> => {
  let done = 0;
  for (; done < days && !ctx.signal.aborted; done += 1) await sleep(2);
  return done;
});

// One task under full control, no controller: the same handle, verbs and record.
const handle = await runTask(backfill, [3], { timeout: { attempt: "5s" } });
console.log(`filled ${await handle.result()} days`);

// This task took `ctx.signal`, so it may have seen the stop: what it returns then is kept as `partialOutcome`,
// and it counts as stopped, not as a success with half the days.
const long = await runTask(backfill, [1_000_000]);
await long.wait({ for: "running", timeout: "10s" });
const snapshot = await long.stop({ grace: "10s" });
console.log(`${snapshot.status}; outcome: ${typeof snapshot.outcome}, partial outcome: ${typeof snapshot.partialOutcome}`);

// Output:
// filled 3 days
// stopped; outcome: undefined, partial outcome: number
