import { describe, expect, it } from "vitest";
import { allSettled, constant, Controller, definePipeline, runTask, task } from "../../src/index.ts";
import type { TaskHooks, TaskSnapshot } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { callNow, gate, listen, openStage, storeWith } from "./stage.ts";

/** Hooks that write down what they are told. */
function noting(seen: unknown[], who = ""): TaskHooks {
  const of = ({ name, node, attempt }: TaskSnapshot): string => `${who}${node ?? name}#${attempt}`;
  return {
    onStart: (snapshot) => seen.push([of(snapshot), "start", snapshot.status]),
    onSuccess: (snapshot, result) => seen.push([of(snapshot), "success", result]),
    onFailure: (snapshot, failure) => seen.push([of(snapshot), "failure", snapshot.status, failure.kind]),
    onRetry: (snapshot, failure) => seen.push([of(snapshot), "retry", snapshot.availableAt !== null, failure.message]),
    onCancel: (snapshot) => seen.push([of(snapshot), "cancel", snapshot.status]),
  };
}

const twice = { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) };

describe("hooks of a task", () => {
  it("tell of each attempt, of the end and what it brought, once and in order", async () => {
    const seen: unknown[] = [];
    const works = task({ name: "works" }, (_ctx, value: number) => ({ value }), noting(seen));
    const flaky = task(
      { name: "flaky", retry: twice },
      (ctx) => {
        if (ctx.attempt === 1) throw new Error("once");
        return "second time";
      },
      noting(seen),
    );
    const fails = task(
      { name: "fails", retry: twice },
      () => {
        throw new Error("no");
      },
      noting(seen),
    );
    await using stage = await openStage({ tasks: [works, flaky, fails], concurrency: { maxParallel: 1 } });
    await stage.controller.submit(works, [1]);
    await stage.clock.advance(1);
    expect(seen.splice(0)).toEqual([
      ["works#1", "start", "running"],
      ["works#1", "success", { value: 1 }],
    ]);
    await stage.controller.submit(flaky);
    await stage.clock.advance("1s");
    expect(seen.splice(0)).toEqual([
      ["flaky#1", "start", "running"],
      ["flaky#1", "retry", true, "once"],
      ["flaky#2", "start", "running"],
      ["flaky#2", "success", "second time"],
    ]);
    const failed = await stage.controller.submit(fails);
    await stage.clock.advance("1s");
    expect(seen.splice(0)).toEqual([
      ["fails#1", "start", "running"],
      ["fails#1", "retry", true, "no"],
      ["fails#2", "start", "running"],
      ["fails#2", "failure", "failed", "exception"],
    ]);
    await failed.retry();
    await stage.clock.advance("1s");
    expect(seen.splice(0)).toEqual([
      ["fails#3", "start", "running"],
      ["fails#3", "failure", "failed", "exception"],
    ]);
  });

  it("tell of a stop, a cancel and a loss; of a skip and of what is forced nothing", async () => {
    const seen: unknown[] = [];
    const works = task({ name: "works" }, async (ctx) => await listen(ctx, clock), noting(seen));
    const deaf = task({ name: "deaf" }, async () => await gate().opened, noting(seen));
    await using stage = await openStage({ tasks: [works, deaf], concurrency: { maxParallel: 1 } });
    const { controller, clock } = stage;
    const running = await controller.submit(works);
    await clock.advance(1);
    const [queued, skipped, forced] = [await controller.submit(works), await controller.submit(works), await controller.submit(works)];
    await queued.cancel();
    await controller.skip(skipped.id);
    await controller.forceTransition(forced.id, "succeeded", { actor: "ann", reason: "done by hand", outcome: 1 });
    void running.stop();
    await clock.advance(20);
    expect(seen.splice(0)).toEqual([
      ["works#1", "start", "running"],
      ["works#0", "cancel", "cancelled"],
      ["works#1", "cancel", "stopped"],
    ]);
    const lost = await controller.submit(deaf);
    await clock.advance(1);
    void lost.stop({ grace: 0 });
    await clock.advance(1);
    expect(seen).toEqual([
      ["deaf#1", "start", "running"],
      ["deaf#1", "failure", "lost", "lost"],
    ]);
  });

  it("tell of nodes, also of those that never began", async () => {
    const seen: unknown[] = [];
    const works = task({ name: "works" }, () => 1, noting(seen));
    const three = definePipeline("three", {}, (p) => {
      const first = p.add(works, { name: "first" });
      const broken = p.add(works, {
        name: "broken",
        deps: [first],
        when: () => {
          throw new Error("no");
        },
      });
      p.add(works, { name: "below", deps: [broken] });
    });
    await using stage = await openStage({ pipelines: [three] });
    await stage.controller.startRun(three);
    await stage.clock.advance(1);
    expect(seen).toEqual([
      ["first#1", "start", "running"],
      ["first#1", "success", 1],
      ["broken#1", "failure", "failed", "exception"],
      ["below#0", "cancel", "cancelled"],
    ]);
  });

  it("tell a failed item from its map by its node, and by the name of the failure", async () => {
    const seen: unknown[] = [];
    const own: unknown[] = [];
    const odd = task(
      { name: "odd" },
      (_ctx, value: number) => {
        if (value % 2 === 1) throw new RangeError(`odd: ${value}`);
        return value;
      },
      { onFailure: ({ node }, failure) => own.push([node, failure.name]) },
    );
    const all = definePipeline("all", { onFailure: allSettled() }, (p) => p.map(odd, { name: "each", items: [1, 2, 3] }));
    await using stage = await openStage({ pipelines: [all], onFailure: ({ node }, failure) => seen.push([node, failure.name]) });
    await (await stage.controller.startRun(all)).wait({ timeout: "1m" });
    const items = [
      ["each[0]", "RangeError"],
      ["each[2]", "RangeError"],
    ];
    expect(own).toEqual(items);
    expect(seen).toEqual([...items, ["each", "ItemsFailed"]]);
  });

  it("tell of the items of a map; of the map itself only the controller's do", async () => {
    const seen: unknown[] = [];
    const common: unknown[] = [];
    const item = task({ name: "item" }, (_ctx, value: number) => value * 2, { onSuccess: ({ node }, result) => seen.push([node, result]) });
    const all = definePipeline("all", {}, (p) => void p.map(item, { name: "each", items: [1, 2] }));
    await using stage = await openStage({ pipelines: [all], onSuccess: ({ node }, result) => common.push([node, result]) });
    const run = await stage.controller.startRun(all);
    await stage.clock.advance(1);
    expect((await run.snapshot()).status).toBe("succeeded");
    expect(seen).toEqual([
      ["each[0]", 2],
      ["each[1]", 4],
    ]);
    expect(common).toEqual([...seen, ["each", [2, 4]]]);
  });

  it("are called before those of the controller, which hears of every task", async () => {
    const seen: unknown[] = [];
    const own = task({ name: "own" }, () => 1, noting(seen, "own:"));
    const plain = task({ name: "plain" }, () => 2);
    await using stage = await openStage({ tasks: [own, plain], ...noting(seen, "all:") });
    await stage.controller.submit(own);
    await stage.controller.submit(plain);
    await stage.clock.advance(1);
    expect(seen.filter((each) => Array.isArray(each) && each[1] === "success")).toEqual([
      ["own:own#1", "success", 1],
      ["all:own#1", "success", 1],
      ["all:plain#1", "success", 2],
    ]);
  });

  it("are called by runTask too", async () => {
    const seen: unknown[] = [];
    const works = task({ name: "works" }, () => 1, noting(seen));
    expect(await (await runTask(works)).result()).toBe(1);
    expect(seen).toEqual([
      ["works#1", "start", "running"],
      ["works#1", "success", 1],
    ]);
  });

  it("are not called before the step is stored", async () => {
    const seen: unknown[] = [];
    const door = gate();
    const slow = storeWith(async () => await door.opened);
    const works = task({ name: "works" }, () => 1);
    await using stage = await openStage({
      tasks: [works],
      store: slow,
      onSuccess: async ({ taskId }) => seen.push((await stage.controller.get(taskId)).status),
      onCancel: ({ status }) => seen.push(status),
    });
    const handle = await stage.controller.submit(works);
    void handle.cancel().catch(() => undefined);
    await stage.clock.advance(1);
    expect(seen).toEqual([]);
    door.open();
    await stage.clock.advance(1);
    expect(seen).toEqual(["cancelled"]);
    await stage.controller.submit(works);
    await stage.clock.advance(1);
    expect(seen).toEqual(["cancelled", "succeeded"]);
  });
});

describe("a hook that goes wrong", () => {
  it.each([
    ["throws", (): never => fail()],
    ["rejects", async (): Promise<never> => fail()],
    ["rejects later", async (): Promise<never> => await Promise.reject(new Error("broken hook"))],
    ["has a then that throws", () => Object.fromEntries(["then"].map((name) => [name, fail]))],
  ])("hurts nobody: it %s", async (_how, broken) => {
    const seen: unknown[] = [];
    const lines: unknown[] = [];
    const works = task({ name: "works" }, () => 1, { onStart: broken, onSuccess: broken });
    const quiet = { debug: () => {}, info: () => {}, warn: () => {} };
    await using stage = await openStage({
      tasks: [works],
      logger: { ...quiet, error: (message, fields) => lines.push([message, fields?.["hook"]]) },
      onSuccess: () => seen.push("the controller's own"),
    });
    const events = stage.controller.events({ types: ["TaskWarning"] });
    const handle = await stage.controller.submit(works);
    await stage.clock.advance(1);
    expect(await handle.result()).toBe(1);
    expect(seen).toEqual(["the controller's own"]);
    expect(lines).toEqual([
      ["a hook failed", "onStart"],
      ["a hook failed", "onSuccess"],
    ]);
    for (const hook of ["onStart", "onSuccess"]) {
      const { value } = await events.next();
      expect(value).toMatchObject({ type: "TaskWarning", code: "hook_failed", taskId: handle.id, message: `its hook ${hook} failed: broken hook` });
    }
    expect((await stage.controller.history(handle.id)).map(({ to }) => to)).toEqual(["queued", "starting", "running", "succeeded"]);
  });

  it("and never ends holds up neither its task nor, beyond the grace and 5 s, the close", async () => {
    const clock = new FakeClock();
    const works = task({ name: "works" }, () => 1, { onSuccess: async () => await gate().opened });
    const controller = await Controller.open({ clock, tasks: [works] });
    const handle = await controller.submit(works);
    await clock.advance(1);
    expect(await handle.result()).toBe(1);
    const closed = controller.close({ grace: "1s" });
    await clock.advance("6s");
    await closed;
  });

  it("is refused where it is no function, or no hook", async () => {
    expect(() => callNow({ task }, "task", [{ name: "x" }, () => 1, { onSuccess: 1 }])).toThrow('task "x": hooks: onSuccess must be a function; found 1.');
    expect(() => callNow({ task }, "task", [{ name: "x" }, () => 1, { onSucess: () => 1 }])).toThrow('Did you mean "onSuccess"?');
    expect(() => callNow({ task }, "task", [{ name: "x" }, () => 1, null])).toThrow('task "x": hooks must be a plain object');
    await expect(callNow(Controller, "open", [{ onStart: "x" }])).rejects.toThrow("Controller.open: onStart must be a function");
  });
});

describe("a hook", () => {
  it("that has begun is waited for by close", async () => {
    const seen: string[] = [];
    const clock = new FakeClock();
    const works = task({ name: "works" }, async (ctx) => await listen(ctx, clock));
    const controller = await Controller.open({
      clock,
      tasks: [works],
      onCancel: async () => {
        await new Promise<void>((resolve) => void clock.setTimer(100, resolve));
        seen.push("told");
      },
    });
    await controller.submit(works);
    await clock.advance(1);
    const closed = controller.close().then(() => seen.push("closed"));
    await clock.advance("1s");
    await closed;
    expect(seen).toEqual(["told", "closed"]);
  });

  it("may stop its own task, and close the controller", async () => {
    const clock = new FakeClock();
    const stops = task({ name: "stops" }, async (ctx) => await listen(ctx, clock), { onStart: async ({ taskId }) => await controller.stop(taskId) });
    const over = gate<string>();
    const controller = await Controller.open({
      clock,
      tasks: [stops],
      onCancel: async ({ status }) => {
        await controller.close();
        over.open(status);
      },
    });
    await controller.submit(stops);
    await clock.advance(50);
    expect(await over.opened).toBe("stopped");
    expect(clock.pendingTimers).toBe(0);
  });
});

function fail(): never {
  throw new Error("broken hook");
}
