import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { expectNoneLeft, marked, markDescendants } from "../carriers/support/leftovers.ts";
import { Host } from "./support/host.ts";

const mark = markDescendants();

test("a module that opens a controller when it is loaded is refused in the carrier: no child has children", { timeout: 60_000 }, async () => {
  await using host = new Host("self-opening.ts");
  let most = 0;
  let over = false;
  const counting = (async () => {
    for (; !over; await sleep(5)) most = Math.max(most, marked(mark).length);
  })();
  const outcome = await host.says("outcome");
  expect(outcome).toMatch(/Controller\.open was called while a module was loaded in a worker thread or child process/);
  expect((await host.end()).exitCode).toBe(1);
  over = true;
  await counting;
  // The host, and the one child that it opened to look.
  expect(most).toBeLessThanOrEqual(2);
  await expectNoneLeft(mark, 1_000);
});
