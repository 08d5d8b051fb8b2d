import { Controller, exponential, task, TaskExecutionError } from "../src/index.ts"; // in your project: "chongming-task"

class BadRequest extends Error {
  override readonly name = "BadRequest";
}

// The third attempt goes through. Jitter is on by default; without it the delays here are 10 ms and 20 ms.
const fetchPrices = task(
  {
    name: "fetch-prices",
    retry: { maxAttempts: 5, backoff: exponential({ base: "10ms", max: "1s", jitter: "none" }), giveUpOn: [BadRequest] },
  },
  (ctx, currency: string): number => {
    if (currency === "XXX") throw new BadRequest("there is no currency XXX");
    if (ctx.attempt < 3) throw new Error(`the server is busy (attempt ${ctx.attempt})`);
    return 42;
  },
);

const controller = await Controller.open({ tasks: [fetchPrices] });

const handle = await controller.submit(fetchPrices, ["EUR"]);
console.log(`price: ${await handle.result()}`);
for (const attempt of await controller.attempts(handle.id)) {
  console.log(`attempt ${attempt.attempt}: ${attempt.endedAs}${attempt.failure === null ? "" : `, ${attempt.failure.message}`}`);
}

const hopeless = await controller.submit(fetchPrices, ["XXX"]);
try {
  await hopeless.result();
} catch (error) {
  if (!(error instanceof TaskExecutionError)) throw error;
  console.log(`${error.code}: ${error.failure?.name} after ${(await hopeless.snapshot()).attempt} attempt`);
}

await controller.close();

// Output:
// price: 42
// attempt 1: retry_wait, the server is busy (attempt 1)
// attempt 2: retry_wait, the server is busy (attempt 2)
// attempt 3: succeeded
// TASK_EXECUTION: BadRequest after 1 attempt
