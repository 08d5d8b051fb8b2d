import { expect, test } from "vitest";
import { constant, Controller, task } from "../../src/index.ts";
import type { TaskEvent } from "../../src/index.ts";
import { Output } from "../../src/cli/output/output.ts";
import { createPlainReporter } from "../../src/cli/output/plain-reporter.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { fakeStream } from "./fake-host.ts";

const boom = (): never => {
  throw new Error("boom");
};
const fails = task({ name: "fails" }, boom);
const retries = task({ name: "retries", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, boom);
const deaf = task({ name: "deaf", timeout: { attempt: "1s" } }, async () => await new Promise(() => {}));
const speaks = task({ name: "speaks" }, (ctx) => {
  ctx.emit("stdout", "line 1");
  ctx.emit("stderr", "a warning\u001B[31m\nof two lines");
  ctx.emit("stdout", { rows: 3 });
  ctx.emit("rows", 3);
  ctx.log.warn("slow", { ms: 3 });
});

/** What `run` prints of the task in a pipe, without the times. */
async function linesOf(name: string, verbose = false): Promise<readonly string[]> {
  const clock = new FakeClock();
  const controller = await Controller.open({ clock, tasks: [fails, retries, deaf, speaks] });
  const events: TaskEvent[] = [];
  const listening = (async () => {
    for await (const event of controller.events()) events.push(event);
  })();
  const stream = fakeStream();
  const reporter = createPlainReporter(new Output(stream), new Output(fakeStream()), { paint: (_style, text) => text, verbose, quiet: false });
  const handle = await controller.submit(name);
  reporter.describe(await handle.snapshot());
  await clock.advance("10s");
  await controller.close({ grace: 0 });
  await listening;
  for (const event of events) reporter.event(event);
  return stream
    .text()
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(/^.*? {2}(?=[a-z])/, ""));
}

test("a failure is told once", async () => {
  expect(await linesOf("fails")).toEqual(["fails running", "fails failed (exception): boom"]);
});

test("a failure that is retried says so in place of the step, and the last one which it was", async () => {
  expect(await linesOf("retries")).toEqual([
    "retries running",
    "retries attempt 1/2 failed (exception): boom; again in 1 s",
    "retries running (attempt 2/2)",
    "retries failed at attempt 2/2 (exception): boom",
  ]);
});

test("what is lost says how", async () => {
  expect(await linesOf("deaf")).toEqual([
    "deaf running",
    "deaf lost (timeout_attempt): the attempt ran longer than 1 s; it did not end within the grace and cannot be killed: given up on, and it may still run",
  ]);
});

test("with -v each step is told, too", async () => {
  expect(await linesOf("fails", true)).toEqual([
    "fails queued (from pending, scheduler:ready by system)",
    "fails starting (from queued, scheduler:dispatch by system)",
    "fails running (from starting, executor:launched by system)",
    "fails failed (from running, executor:failed by system)",
    "fails failed (exception): boom",
  ]);
});

test("what a carrier prints looks like log lines; values have their kind", async () => {
  expect(await linesOf("speaks")).toEqual([
    "speaks running",
    "speaks | line 1",
    "speaks | a warning",
    "speaks | of two lines",
    'speaks output stdout: {"rows":3}',
    "speaks output rows: 3",
    'speaks | warn slow {"ms":3}',
    "speaks succeeded",
  ]);
});
