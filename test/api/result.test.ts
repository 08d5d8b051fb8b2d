import { describe, expect, it } from "vitest";
import { constant, memoryStore, task } from "../../src/index.ts";
import { gate, listen, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);

describe("result of a task that succeeded", () => {
  it("is the value, each time anew from the store", async () => {
    const given = { rows: [1, 2], at: new Date(0), tags: new Set(["a"]), none: undefined };
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo, [given]);
    const [first, second] = [await handle.result(), await handle.result()];
    expect(first).toEqual(given);
    expect(second).toEqual(given);
    expect(second).not.toBe(first);
  });

  it("is undefined where the task returned nothing", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo);
    expect(await handle.result()).toBeUndefined();
    expect(await handle.snapshot()).toMatchObject({ status: "succeeded", outcomeMissing: null });
  });

  it("is the value in memory where it cannot be stored; the row says why it is missing", async () => {
    const connect = task({ name: "connect" }, () => ({ close: () => "closed" }));
    await using stage = await openStage({ tasks: [connect] });
    const handle = await stage.controller.submit(connect);
    expect((await handle.result()).close()).toBe("closed");
    const snapshot = await handle.snapshot();
    expect(snapshot).toMatchObject({ status: "succeeded", failure: null, outcome: undefined, outcomeMissing: expect.stringContaining("outcome.close") });
    expect(await stage.controller.wait(handle.id, { timeout: "1s" })).toEqual(snapshot);
    await stage.clock.advance("1d");
    expect((await handle.result()).close()).toBe("closed");
  });

  it("is the value in memory where it is too large to be stored", async () => {
    const big = task({ name: "big" }, () => "x".repeat(1_000));
    await using stage = await openStage({ tasks: [big], store: memoryStore({ maxValueBytes: 100 }) });
    const handle = await stage.controller.submit(big);
    expect(await handle.result()).toHaveLength(1_000);
    expect(await handle.snapshot()).toMatchObject({ status: "succeeded", outcomeMissing: expect.stringContaining("100") });
  });
});

describe("result of a task that failed", () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ["an error", new RangeError("off by one"), "failed (exception): off by one"],
    ["an error with a cause", new Error("outer", { cause: new Error("inner") }), "failed (exception): outer"],
    ["a text", "plain text", "failed (exception): plain text"],
    ["an object", { code: 7 }, "was thrown"],
    ["null", null, "was thrown"],
  ];

  it.each(cases)("throws with the very cause: %s", async (_what, thrown, message) => {
    const throws = task({ name: "throws" }, () => {
      throw thrown;
    });
    await using stage = await openStage({ tasks: [throws] });
    const handle = await stage.controller.submit(throws);
    const problem: unknown = await handle.result().catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: "TASK_EXECUTION",
      name: "TaskExecutionError",
      failure: { kind: "exception" },
      message: expect.stringContaining(message),
    });
    expect(problem).toHaveProperty("message", expect.stringContaining(`task ${handle.id} ("throws") failed (exception): `));
    expect(problem instanceof Error && problem.cause).toBe(thrown);
  });

  it("throws with the cause of the last attempt", async () => {
    const errors = [new Error("first"), new Error("second")];
    const throws = task({ name: "throws", retry: { maxAttempts: 2, backoff: constant({ delay: 0 }) } }, (ctx) => {
      throw errors[ctx.attempt - 1];
    });
    await using stage = await openStage({ tasks: [throws] });
    const handle = await stage.controller.submit(throws);
    await stage.clock.advance(1);
    expect(await handle.result().catch(causeOf)).toBe(errors[1]);
  });

  it.each([["handle"], ["controller"]])("throws with the cause of the retry by hand, asked for through the %s", async (through) => {
    const errors = [new Error("first"), new Error("second")];
    const throws = task({ name: "throws" }, (ctx) => {
      throw errors[ctx.attempt - 1];
    });
    await using stage = await openStage({ tasks: [throws] });
    const handle = await stage.controller.submit(throws);
    expect(await handle.result().catch(causeOf)).toBe(errors[0]);
    if (through === "handle") await handle.retry();
    else await stage.controller.retry(handle.id);
    const early = handle.result();
    expect(await early.catch(causeOf)).toBe(errors[1]);
    expect(await handle.result().catch(causeOf)).toBe(errors[1]);
  });

  it("throws with a cause made from the record where the error is no longer in memory", async () => {
    const errors = [new Error("first"), new RangeError("second")];
    const throws = task({ name: "throws" }, (ctx) => {
      throw errors[ctx.attempt - 1];
    });
    await using stage = await openStage({ tasks: [throws] });
    const handle = await stage.controller.submit(throws);
    await handle.wait({ timeout: "1s" });
    await stage.controller.retry(handle.id);
    await stage.controller.wait(handle.id, { timeout: "1s" });
    const cause = await handle.result().catch(causeOf);
    expect(cause).toMatchObject({ name: "RangeError", message: "second", stack: errors[1]?.stack });
    expect(cause).not.toBe(errors[1]);
  });

  it("says which timeout it was", async () => {
    const slow = task({ name: "slow", timeout: { attempt: "1s" } }, async (ctx) => await listen(ctx, stage.clock));
    await using stage = await openStage({ tasks: [slow] });
    const handle = await stage.controller.submit(slow);
    const ended = handle.result().catch((error: unknown) => error);
    await stage.clock.advance("2s");
    expect(await ended).toMatchObject({
      code: "TASK_TIMEOUT",
      scope: "attempt",
      failure: { kind: "timeout_attempt" },
      message: expect.stringMatching(/the attempt ran longer than 1 ?s/),
    });
  });
});

describe("result of a task that ended otherwise", () => {
  it.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("throws TaskCancelled after a %s", async (verb, status) => {
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
    await using stage = await openStage({ tasks: [busy] });
    const handle = await stage.controller.submit(busy);
    await stage.clock.advance(1);
    const asked = handle[verb]({ actor: "ada", reason: "enough" });
    await stage.clock.advance(10);
    expect(await asked).toMatchObject({ status });
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_CANCELLED", message: expect.stringContaining(`("busy") was ${status}`) });
  });

  it("throws TaskCancelled where it had not begun", async () => {
    const hold = task({ name: "hold" }, async () => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [hold, echo], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(hold);
    const handle = await stage.controller.submit(echo);
    await handle.cancel();
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_CANCELLED" });
    door.open();
  });

  it("throws TaskLost where the body was given up on, and keeps to it when the body ends after all", async () => {
    const deaf = task({ name: "deaf" }, async () => await door.opened);
    const door = gate<string>();
    await using stage = await openStage({ tasks: [deaf] });
    const handle = await stage.controller.submit(deaf);
    await stage.clock.advance(1);
    const stopped = handle.stop({ grace: "1s" });
    await stage.clock.advance("1s");
    expect(await stopped).toMatchObject({ status: "lost" });
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_LOST", failure: { kind: "lost", abandoned: true } });
    await expect(handle.retry()).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    expect(await stage.controller.can(handle.id, "retry")).toMatchObject({ allowed: false });
    door.open("late");
    await stage.clock.advance(1);
    await expect(handle.result()).rejects.toMatchObject({ code: "TASK_LOST" });
    expect(await handle.retry()).toMatchObject({ status: "queued" });
    expect(await handle.result()).toBe("late");
  });
});

describe("a retry by hand", () => {
  it("asked for twice at once is one retry", async () => {
    let calls = 0;
    const fails = task({ name: "fails" }, () => {
      calls += 1;
      throw new Error("no");
    });
    await using stage = await openStage({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    await handle.wait({ timeout: "1s" });
    await Promise.all([handle.retry(), handle.retry(), stage.controller.retry(handle.id)]);
    expect(await handle.wait({ timeout: "1s" })).toMatchObject({ status: "failed", attempt: 2, maxAttempts: 2 });
    expect(calls).toBe(2);
  });

  it("is refused as long as any of its bodies that were given up on still runs", async () => {
    const bodies = [gate(), gate()];
    const deaf = task({ name: "deaf" }, async (ctx) => await bodies[ctx.attempt - 1]?.opened);
    await using stage = await openStage({ tasks: [deaf] });
    const handle = await stage.controller.submit(deaf);
    const giveUp = async (): Promise<void> => {
      await stage.clock.advance(1);
      const stopped = handle.stop({ grace: 0 });
      await stage.clock.advance(0);
      expect(await stopped).toMatchObject({ status: "lost" });
    };
    await giveUp();
    await handle.retry({ force: true });
    await giveUp();
    bodies[0]?.open();
    await stage.clock.advance(0);
    await expect(handle.retry()).rejects.toMatchObject({ code: "CARRIER_ABANDONED" });
    bodies[1]?.open();
    await stage.clock.advance(0);
    expect(await handle.retry()).toMatchObject({ status: "queued" });
  });

  it("of a task that cannot be retried is refused, and leaves it alone", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo, [1]);
    await handle.result();
    for (const _ of [1, 2]) await expect(handle.retry()).rejects.toMatchObject({ code: "INVALID_TRANSITION", current: "succeeded", allowed: ["reset"] });
    expect(await handle.result()).toBe(1);
  });
});

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : error;
}
