import { describe, expect, it } from "vitest";
import { ConfigurationError, constant, memoryStore, task, UnknownName } from "../../src/index.ts";
import { call, gate, openStage } from "./stage.ts";

const sum = task({ name: "sum" }, (_ctx, a: number, b: number) => a + b);
const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);

describe("which task", () => {
  it("takes the task itself or its name", async () => {
    await using stage = await openStage({ tasks: [sum] });
    expect(await (await stage.controller.submit(sum, [1, 2])).result()).toBe(3);
    expect(await (await stage.controller.submit("sum", [3, 4])).result()).toBe(7);
  });

  it("refuses a name that is not registered, and shows the nearest", async () => {
    await using stage = await openStage({ tasks: [sum, echo] });
    const problem = await stage.controller.submit("sun").catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(UnknownName);
    expect(problem).toMatchObject({ code: "UNKNOWN_NAME", requested: "sun", nearest: ["sum"], message: expect.stringContaining('Did you mean "sum"?') });
    await expect(stage.controller.submit(task({ name: "other" }, () => 1))).rejects.toMatchObject({ code: "UNKNOWN_NAME", requested: "other" });
    await expect(stage.controller.startRun("nightly")).rejects.toThrow('no pipeline named "nightly" is registered');
  });

  it("refuses another task of a registered name", async () => {
    await using stage = await openStage({ tasks: [sum] });
    const impostor = task({ name: "sum" }, () => 0);
    await expect(stage.controller.submit(impostor)).rejects.toThrow('another task named "sum" is registered here');
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });

  it.each([[undefined], [null], [7], [{}], [{ name: 7 }]])("refuses %o for a task", async (asked) => {
    await using stage = await openStage({ tasks: [sum] });
    await expect(call(stage.controller, "submit", [asked])).rejects.toThrow("expected a task or its name; found");
    await expect(call(stage.controller, "startRun", [asked])).rejects.toThrow("expected a pipeline or its name; found");
  });
});

describe("options", () => {
  it.each([
    [{ maxAttempts: 3 }, "It belongs one level deeper: retry: { maxAttempts }."],
    [{ prio: 1 }, 'submit has no option "prio". Did you mean "priority"?'],
    [{ priority: 1.5 }, "submit: priority must be an integer; found 1.5"],
    [{ priority: "1" }, 'submit: priority must be an integer; found "1"'],
    [{ retry: { maxAttempts: 0 } }, 'task "echo": retry.maxAttempts'],
    [{ retry: null }, 'task "echo": retry must be a plain object; found null'],
    [{ timeout: { idle: -1 } }, 'task "echo": timeout.idle'],
    [{ tags: ["a", ""] }, 'task "echo": tags: each tag must be a non-empty string'],
    ["high", "submit must be a plain object"],
  ])("refuses %o", async (options, message) => {
    await using stage = await openStage({ tasks: [echo] });
    const problem: unknown = await call(stage.controller, "submit", [echo, [], options]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });

  it("lets the higher priority go first, and equal ones in their order", async () => {
    const order: string[] = [];
    const note = task({ name: "note" }, (_ctx, name: string) => void order.push(name));
    const hold = task({ name: "hold" }, async (_ctx) => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [note, hold], concurrency: { maxParallel: 1, defaultPriority: 2 } });
    await stage.controller.submit(hold);
    const given = [undefined, 1, 3, 3, 2, -5];
    const handles = [];
    for (const [index, priority] of given.entries()) {
      handles.push(await stage.controller.submit(note, [`${index}:${priority}`], priority === undefined ? {} : { priority }));
    }
    door.open();
    await Promise.all(handles.map((handle) => handle.result()));
    expect(order).toEqual(["2:3", "3:3", "0:undefined", "4:2", "1:1", "5:-5"]);
  });

  it("puts retry, timeout and tags in place of the task's own", async () => {
    let calls = 0;
    const flaky = task({ name: "flaky", tags: ["own"], timeout: { attempt: "1s" } }, async () => {
      calls += 1;
      if (calls < 3) throw new Error(`call ${calls}`);
      await late.opened;
      return calls;
    });
    const late = gate();
    await using stage = await openStage({ tasks: [flaky], concurrency: { limits: { given: 1 } } });
    const handle = await stage.controller.submit(flaky, [], {
      retry: { maxAttempts: 3, backoff: constant({ delay: "10s", jitter: "none" }) },
      timeout: { attempt: "1h" },
      tags: ["given", "given", "more"],
    });
    await stage.clock.advance("20s");
    await stage.clock.advance("30m");
    late.open();
    expect(await handle.result()).toBe(3);
    expect(await handle.snapshot()).toMatchObject({ tags: ["given", "more"], attempt: 3, maxAttempts: 3 });
    expect(await stage.controller.attempts(handle.id)).toHaveLength(3);
  });

  it("leaves the task's own policies to the next submit", async () => {
    const fails = task({ name: "fails", tags: ["own"] }, () => {
      throw new Error("no");
    });
    await using stage = await openStage({ tasks: [fails] });
    await stage.controller.submit(fails, [], { retry: { maxAttempts: 2 }, tags: [] });
    const plain = await stage.controller.submit(fails);
    await stage.clock.advance("1m");
    expect(await plain.snapshot()).toMatchObject({ status: "failed", attempt: 1, maxAttempts: 1, tags: ["own"] });
    expect(await stage.controller.stats()).toMatchObject({ failed: 2 });
  });
});

describe("arguments", () => {
  it.each([[1], ["a"], [{ 0: 1, length: 1 }], [null], [new Set([1])]])("refuses %o for the tuple", async (args) => {
    await using stage = await openStage({ tasks: [echo] });
    await expect(call(stage.controller, "submit", [echo, args])).rejects.toThrow('"echo": the arguments must be given as an array');
  });

  it.each([
    [[() => 1], "args[0]"],
    [[{ deep: [1, { callback: () => 1 }] }], "args[0].deep[1].callback"],
    [[Symbol("x")], "args[0]"],
    [["x".repeat(2_000)], "limit"],
  ])("stores nothing of a task whose arguments cannot be stored: %#", async (args, place) => {
    await using stage = await openStage({ tasks: [echo], store: memoryStore({ maxValueBytes: 1_000 }) });
    const problem: unknown = await stage.controller.submit("echo", args).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(place));
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });

  it("does not let one bad submit sink those that are stored with it", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const settled = await Promise.allSettled([
      stage.controller.submit(echo, [1]),
      stage.controller.submit(echo, [() => 2]),
      stage.controller.submit(echo, [3]),
    ]);
    expect(settled.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await stage.controller.list()).toMatchObject({ items: [{ name: "echo" }, { name: "echo" }] });
  });

  it("runs with the arguments as they were given, whatever becomes of the array later", async () => {
    const hold = task({ name: "hold" }, async () => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [echo, hold], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(hold);
    const args: [number] = [1];
    const handle = await stage.controller.submit(echo, args);
    args[0] = 2;
    door.open();
    expect(await handle.result()).toBe(1);
  });
});
