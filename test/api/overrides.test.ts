import { expect, test } from "vitest";
import { Controller, task } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";

test("what a submit put in place of the task's own options holds for a later retry, too", async () => {
  const clock = new FakeClock();
  const slow = task({ name: "slow" }, async (ctx) => {
    await new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
  });
  const controller = await Controller.open({ tasks: [slow], clock });
  const handle = await controller.submit(slow, [], { timeout: { attempt: "1s" }, retry: { retryOn: [TypeError, "never"] } });
  await clock.advance("1s");
  expect((await handle.snapshot()).failure?.kind).toBe("timeout_attempt");
  await handle.retry();
  await clock.advance("1s");
  expect(await handle.snapshot()).toMatchObject({ status: "failed", attempt: 2, failure: { kind: "timeout_attempt" } });
  await controller.close();
});
