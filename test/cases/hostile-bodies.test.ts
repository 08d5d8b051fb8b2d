/* oxlint-disable typescript/no-misused-promises, unicorn/no-thenable -- hostile on purpose: that is what is tested here */
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { constant, Controller, runTask, task } from "../../src/index.ts";
import type { TaskEvent } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";

// What bodies, their listeners and loggers did to their host in a trial that set out to break it.

async function opened(
  tasks: Parameters<typeof Controller.open>[0] & object,
): Promise<{ readonly clock: FakeClock; readonly controller: Controller; readonly warnings: TaskEvent[] }> {
  const clock = new FakeClock();
  const controller = await Controller.open({ clock, ...tasks });
  const warnings: TaskEvent[] = [];
  void (async () => {
    for await (const event of controller.events({ types: ["TaskWarning"] })) warnings.push(event);
  })();
  return { clock, controller, warnings };
}

describe("an abort listener of a task", () => {
  test.each(["throws", "rejects"])("that %s is that task's stray, whoever stops it", async (how) => {
    const listens = task({ name: "listens" }, async (ctx) => {
      await new Promise((_resolve, reject) => {
        ctx.signal.addEventListener("abort", async () => {
          if (how === "rejects") await Promise.resolve();
          throw new Error("clean-up failed");
        });
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
      });
    });
    const stops = task({ name: "stops" }, async (_ctx, id: string) => void (await controller.stop(id)));
    const { clock, controller, warnings } = await opened({ tasks: [listens, stops] });
    const handle = await controller.submit(listens);
    await clock.advance(0);
    const stopper = await controller.submit(stops, [handle.id]);
    await clock.advance(0);
    await clock.advance(0);
    expect((await handle.snapshot()).status).toBe("stopped");
    expect((await stopper.snapshot()).status).toBe("succeeded");
    expect(warnings.map((event) => event.taskId)).toEqual([handle.id]);
    await controller.close();
  });
});

test("a logger that rejects is asked once for each line, and not again for its own rejections", async () => {
  let calls = 0;
  const say = async (): Promise<void> => {
    calls += 1;
    await Promise.reject(new Error("log server down"));
  };
  const gate = Promise.withResolvers<void>();
  const strays = task({ name: "strays" }, () => void gate.promise.then(() => Promise.reject(new Error("left behind"))));
  const { clock, controller } = await opened({ tasks: [strays], logger: { debug: say, info: say, warn: say, error: say } });
  await controller.submit(strays);
  await clock.advance(0);
  await controller.close();
  // Its record is closed: the logger is all that is left to tell.
  gate.resolve();
  await nextTurn();
  await nextTurn();
  expect(calls).toBe(1);
});

test("a retry gets the arguments and the saved state as they were given, whatever the failed attempt did to them", async () => {
  const seen: unknown[] = [];
  const eats = task({ name: "eats", retry: { maxAttempts: 2, backoff: constant({ delay: 1, jitter: "none" }) } }, (ctx, queue: number[]) => {
    seen.push([...queue], structuredClone(ctx.saved));
    if (ctx.attempt > 1) return;
    ctx.save({ at: 1 });
    Object.assign(ctx.saved ?? {}, { at: 99 });
    queue.length = 0;
    throw new Error("flaky");
  });
  const { clock, controller } = await opened({ tasks: [eats] });
  const handle = await controller.submit(eats, [[1, 2, 3]]);
  await clock.advance("1s");
  expect((await handle.snapshot()).status).toBe("succeeded");
  expect(seen).toEqual([[1, 2, 3], undefined, [1, 2, 3], { at: 1 }]);
  await controller.close();
});

test.each([
  [
    "its own then",
    {
      then: () => {
        throw new Error("hostile then");
      },
    },
  ],
  [
    "a constructor that throws",
    Object.defineProperty({}, "constructor", {
      get: () => {
        throw new Error("hostile constructor");
      },
    }),
  ],
])("a returned promise with %s fails its task and nothing else", async (_what, extra) => {
  const returns = task({ name: "returns" }, async () => 1);
  const hostile = { ...returns, run: () => Object.defineProperties(Promise.resolve(1), Object.getOwnPropertyDescriptors(extra)) };
  const { clock, controller } = await opened({ tasks: [hostile] });
  const handle = await controller.submit("returns");
  await clock.advance(0);
  expect(["failed", "succeeded"]).toContain((await handle.snapshot()).status);
  await controller.close();
});

test("a result that cannot be stored is there after a retry, too", async () => {
  const big = task({ name: "big" }, (ctx) => {
    if (ctx.attempt === 1) throw new Error("first");
    return { call: () => 7 };
  });
  const { clock, controller } = await opened({ tasks: [big] });
  const handle = await controller.submit(big);
  await clock.advance(0);
  await controller.retry(handle.id);
  await clock.advance(0);
  expect((await handle.result()).call()).toBe(7);
  await controller.close();
});

test("an event that one consumer changes is refused to be changed, so the others see it as it was", async () => {
  const noop = task({ name: "noop" }, () => 1);
  const { clock, controller } = await opened({ tasks: [noop] });
  const events = controller.events({ types: ["TaskStatusChanged"] });
  await controller.submit(noop);
  await clock.advance(0);
  const { value } = await events.next();
  expect(() => Object.assign(value ?? {}, { to: "hacked" })).toThrow(TypeError);
  await controller.close();
});

test("what a task left behind may ask for its retry once it has ended", async () => {
  const gate = Promise.withResolvers<void>();
  const answers: unknown[] = [];
  const leaves = task({ name: "leaves" }, (ctx) => {
    if (ctx.attempt > 1) return;
    void gate.promise.then(async () => answers.push((await controller.retry(ctx.taskId)).status));
    throw new Error("first");
  });
  const { clock, controller } = await opened({ tasks: [leaves] });
  const handle = await controller.submit(leaves);
  await clock.advance(0);
  gate.resolve();
  await clock.advance(0);
  expect([answers, (await handle.snapshot()).status]).toEqual([["queued"], "succeeded"]);
  await controller.close();
});

test("runTask keeps a lost task that its policy retries until its old body has ended", async () => {
  const clock = new FakeClock();
  const gate = Promise.withResolvers<void>();
  const deaf = task({ name: "deaf", timeout: { attempt: "1s" }, retry: { maxAttempts: 2, retryLost: true } }, async (ctx) => {
    if (ctx.attempt === 1) await gate.promise;
    return ctx.attempt;
  });
  const handle = await runTask(deaf, [], { clock });
  await clock.advance("7s");
  expect((await handle.snapshot()).status).toBe("lost");
  gate.resolve();
  await clock.advance("1s");
  expect((await handle.snapshot()).status).toBe("succeeded");
});

test("a wrong progress is refused with what was found, and a right one after it counts", async () => {
  const reports = task({ name: "reports" }, (ctx, report: unknown) => ctx.progress(Object(report)));
  const { clock, controller } = await opened({ tasks: [reports] });
  for (const [report, message] of [
    [{ done: "5" }, 'ctx.progress: done must be a finite number of at least 0, or left out while it is not known; found "5".'],
    [{ done: -3 }, "ctx.progress: done must be a finite number of at least 0, or left out while it is not known; found -3."],
    [{ done: Number.NaN }, "ctx.progress: done must be a finite number of at least 0, or left out while it is not known; found NaN."],
    [{ total: Number.NaN }, "ctx.progress: total must be a finite number of at least 0, or left out while it is not known; found NaN."],
    [{ total: Infinity }, "ctx.progress: total must be a finite number of at least 0, or left out while it is not known; found Infinity."],
    [{ message: 7 }, "ctx.progress: message must be text; found 7."],
  ] as const) {
    const handle = await controller.submit(reports, [report]);
    await clock.advance(0);
    expect((await handle.snapshot()).failure?.message).toBe(message);
  }
  await controller.close();
});
