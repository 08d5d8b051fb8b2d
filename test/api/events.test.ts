import { describe, expect, it } from "vitest";
import { ConfigurationError, constant, definePipeline, task } from "../../src/index.ts";
import type { Controller, TaskEvent } from "../../src/index.ts";
import { callNow, gate, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const fails = task({ name: "fails" }, () => {
  throw new Error("no");
});

function brief(event: TaskEvent): string {
  if (event.type === "TaskStatusChanged") return event.to;
  return event.type === "PipelineRunStatusChanged" ? `run ${event.to}` : event.type;
}

async function collect(events: AsyncIterable<TaskEvent>, limit = Infinity): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const event of events) if (seen.push(brief(event)) >= limit) break;
  return seen;
}

const LIFE = ["TaskCreated", "queued", "starting", "AttemptStarted", "running", "succeeded"];

describe("controller.events", () => {
  it("gives what happens from the call on, also before it is first read", async () => {
    await using stage = await openStage({ tasks: [echo] });
    await (await stage.controller.submit(echo)).result();
    const events = stage.controller.events();
    const { id } = await stage.controller.submit(echo);
    const seen = [];
    for await (const event of events) {
      seen.push(brief(event));
      expect(event.taskId).toBe(id);
      if (seen.length === LIFE.length) break;
    }
    expect(seen).toEqual(LIFE);
  });

  it("keeps to the types asked for", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const events = stage.controller.events({ types: ["TaskCreated", "AttemptStarted"] });
    await (await stage.controller.submit(echo)).result();
    expect(await collect(events, 2)).toEqual(["TaskCreated", "AttemptStarted"]);
  });

  it.each([
    [{ types: ["TaskOutputs"] }, 'Did you mean "TaskOutput"?'],
    [{ type: ["TaskCreated"] }, 'events has no option "type". Did you mean "types"?'],
    [{ types: "TaskCreated" }, "events: types must be a list of event types"],
    [{ types: ["TaskDone"] }, "events: types must be one of"],
    [{ signal: {} }, "events: signal must be an AbortSignal"],
  ])("refuses %o", async (options, message) => {
    await using stage = await openStage({ tasks: [echo] });
    expect(() => callNow(stage.controller, "events", [options])).toThrow(ConfigurationError);
    expect(() => callNow(stage.controller, "events", [options])).toThrow(message);
  });

  it("ends when aborted, before and in the middle", async () => {
    await using stage = await openStage({ tasks: [echo] });
    expect(await collect(stage.controller.events({ signal: AbortSignal.abort() }))).toEqual([]);
    const stop = new AbortController();
    const collected = collect(stage.controller.events({ signal: stop.signal }));
    await (await stage.controller.submit(echo)).result();
    await stage.clock.advance(1);
    stop.abort();
    expect(await collected).toEqual(LIFE);
  });

  it("ends when the controller closes, with what happened until then", async () => {
    const hold = task({ name: "hold" }, async () => await gate().opened);
    await using stage = await openStage({ tasks: [hold] });
    const collected = collect(stage.controller.events({ types: ["TaskStatusChanged"] }));
    const handle = await stage.controller.submit(hold);
    await handle.wait({ for: "running", timeout: "none" });
    const closed = stage.controller.close({ grace: "1s" });
    await stage.clock.advance("1s");
    await closed;
    expect(await collected).toEqual(["queued", "starting", "running", "stopping", "lost"]);
    expect(await collect(stage.controller.events())).toEqual([]);
  });
});

describe("the events of one task", () => {
  it("come from its making on and end with it, also when nobody looked before it had ended", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const handle = await stage.controller.submit(echo);
    const early = collect(handle.events());
    await handle.result();
    expect(await early).toEqual(LIFE);
    expect(await collect(handle.events())).toEqual(LIFE);
  });

  it("are complete, each once, when somebody begins to look in the middle", async () => {
    const talks = task({ name: "talks" }, async (ctx) => {
      await first.opened;
      ctx.log.info("on the way");
      await second.opened;
    });
    const [first, second] = [gate(), gate()];
    await using stage = await openStage({ tasks: [talks, echo] });
    const handle = await stage.controller.submit(talks);
    await handle.wait({ for: "running", timeout: "none" });
    const middle = collect(handle.events());
    await (await stage.controller.submit(echo)).result();
    first.open();
    await stage.clock.advance(1);
    second.open();
    expect(await middle).toEqual([...LIFE.slice(0, -1), "TaskLogLine", "succeeded"]);
    expect(await collect(handle.events())).toEqual(LIFE);
  });

  it("bring the end of the last attempt as well", async () => {
    await using stage = await openStage({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    const live = collect(handle.events());
    await handle.wait({ timeout: "1s" });
    const life = ["TaskCreated", "queued", "starting", "AttemptStarted", "running", "failed", "AttemptFailed"];
    expect(await live).toEqual(life);
    expect(await collect(handle.events())).toEqual(life);
  });

  it("end with the task also where its end is not among the types", async () => {
    const reports = task({ name: "reports" }, async (ctx) => {
      ctx.progress({ done: 1, total: 2 });
      await stage.clock.turn();
      ctx.emit("row", 1);
    });
    await using stage = await openStage({ tasks: [reports] });
    const handle = await stage.controller.submit(reports);
    expect(await collect(handle.events({ types: ["TaskOutput"] }))).toEqual(["TaskOutput"]);
    expect(await collect(handle.events({ types: ["AttemptStarted"] }))).toEqual(["AttemptStarted"]);
  });

  it("go on with a retry by hand", async () => {
    let calls = 0;
    const second = task({ name: "second" }, () => {
      calls += 1;
      if (calls === 1) throw new Error("first");
    });
    await using stage = await openStage({ tasks: [second] });
    const handle = await stage.controller.submit(second);
    await handle.wait({ timeout: "1s" });
    await handle.retry();
    await handle.wait({ timeout: "1s" });
    expect(await collect(handle.events({ types: ["TaskStatusChanged"] }))).toEqual([
      "queued",
      "starting",
      "running",
      "failed",
      "queued",
      "starting",
      "running",
      "succeeded",
    ]);
  });

  it("go on through backoff", async () => {
    let calls = 0;
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, () => {
      calls += 1;
      if (calls === 1) throw new Error("first");
    });
    await using stage = await openStage({ tasks: [flaky] });
    const handle = await stage.controller.submit(flaky);
    const live = collect(handle.events({ types: ["TaskStatusChanged", "AttemptFailed"] }));
    await stage.clock.advance("1s");
    expect(await live).toEqual(["queued", "starting", "running", "retry_wait", "AttemptFailed", "starting", "running", "succeeded"]);
  });
});

describe("the events of a run", () => {
  const chain = definePipeline("chain", {}, (p) => {
    const first = p.add(echo, { name: "first", args: [1] });
    p.add(echo, { name: "second", deps: [first], args: (up) => [up(first)] });
  });
  // A root waits for nothing, so it is never blocked.
  const RUN = ["run running", "TaskCreated", "TaskCreated", "blocked"];
  const NODE = ["queued", "starting", "AttemptStarted", "running", "succeeded"];

  it("come from its start on and end with it, also when it has ended already", async () => {
    await using stage = await openStage({ pipelines: [chain], tasks: [echo] });
    const run = await stage.controller.startRun(chain);
    const live = collect(run.events());
    await (await stage.controller.submit(echo)).result();
    await run.wait({ timeout: "1s" });
    expect(await live).toEqual([...RUN, ...NODE, ...NODE, "run succeeded"]);
    expect(await collect(run.events())).toEqual([...RUN, ...NODE, ...NODE, "run succeeded"]);
    expect(await collect(run.events({ types: ["AttemptStarted"] }))).toEqual(["AttemptStarted", "AttemptStarted"]);
  });

  it("miss nothing, however late and slowly they are taken", async () => {
    const nodes = 3_000;
    const wide = definePipeline("wide", {}, (p) => {
      for (let index = 0; index < nodes; index += 1) p.add(echo, { name: `node-${index}` });
    });
    await using stage = await openStage({ pipelines: [wide] });
    const run = await stage.controller.startRun(wide);
    const events = run.events();
    expect(await events.next()).toMatchObject({ value: { type: "PipelineRunStatusChanged" } });
    await run.wait({ timeout: "1s" });
    const ids = new Set<string>();
    const seen = new Map<string, number>();
    for await (const event of events) {
      expect(ids.has(event.eventId)).toBe(false);
      ids.add(event.eventId);
      seen.set(brief(event), (seen.get(brief(event)) ?? 0) + 1);
    }
    const each = ["TaskCreated", "queued", "starting", "AttemptStarted", "running", "succeeded"];
    expect(Object.fromEntries(seen)).toEqual({ ...Object.fromEntries(each.map((type) => [type, nodes])), "run succeeded": 1 });
  });

  it("are an ordered story of each node, whatever runs beside it", async () => {
    await using stage = await openStage({ pipelines: [chain] });
    const runs = await Promise.all(Array.from({ length: 5 }, async () => await stage.controller.startRun(chain)));
    const stories = await Promise.all(runs.map((run) => collect(run.events())));
    for (const story of stories) expect(story).toEqual([...RUN, ...NODE, ...NODE, "run succeeded"]);
  });
});

it("leaves no listener behind", async () => {
  await using stage = await openStage({ tasks: [echo] });
  const { controller } = stage;
  const removed: string[] = [];
  const signal = new AbortController().signal;
  const counting = new Proxy(signal, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== "function") return member;
      return (...args: readonly unknown[]): unknown => {
        if (key === "addEventListener" || key === "removeEventListener") removed.push(String(key));
        return Reflect.apply(member, target, args);
      };
    },
  });
  const handle = await controller.submit(echo);
  await collect(handle.events({ signal: counting }));
  await handle.wait({ timeout: "1s", signal: counting });
  await collect(breakAtOnce(controller, counting));
  const added = removed.filter((name) => name === "addEventListener");
  expect(added.length).toBeGreaterThan(1);
  expect(removed.filter((name) => name === "removeEventListener").length).toBeGreaterThanOrEqual(added.length);
});

async function* breakAtOnce(controller: Controller, signal: AbortSignal): AsyncGenerator<TaskEvent> {
  const events = controller.events({ signal });
  await controller.submit(echo);
  for await (const event of events) {
    yield event;
    return;
  }
}
