import { describe, expect, it } from "vitest";
import { allSettled, ConfigurationError, constant, definePipeline, InvalidTransition, task, TASK_STATUSES, VERBS } from "../../src/index.ts";
import type { Verb } from "../../src/index.ts";
import { call, gate, listen, openStage } from "./stage.ts";

const echo = task({ name: "echo" }, (_ctx, value?: unknown) => value);
const fails = task({ name: "fails", tags: ["bad"] }, () => {
  throw new Error("no");
});

describe("list and stats", () => {
  it("find by status (old names understood), name, tag, run and time", async () => {
    const pair = definePipeline("pair", {}, (p) => {
      p.add(echo, { args: [1] });
      p.add(echo, { name: "again", args: [2] });
    });
    await using stage = await openStage({ tasks: [echo, fails], pipelines: [pair] });
    const { controller, clock } = stage;
    const first = await controller.submit(echo, ["a"]);
    await controller.submit(fails);
    await clock.advance("1s");
    const run = await controller.startRun(pair);
    await run.wait({ timeout: "1s" });
    const ids = async (query: object): Promise<readonly string[]> => (await controller.list(query)).items.map(({ node, name }) => node ?? name);
    expect(await ids({})).toEqual(["echo", "fails", "echo", "again"]);
    expect(await ids({ status: ["failed"] })).toEqual(["fails"]);
    expect(await ids({ status: "finished" })).toEqual(["echo", "echo", "again"]);
    expect(await ids({ status: ["Finished", "failed"] })).toEqual(["echo", "fails", "echo", "again"]);
    expect(await ids({ tag: "bad" })).toEqual(["fails"]);
    expect(await ids({ name: "fails" })).toEqual(["fails"]);
    expect(await ids({ namePrefix: "ec" })).toEqual(["echo", "echo", "again"]);
    expect(await ids({ idPrefix: first.id.slice(0, 8) })).toEqual(["echo"]);
    expect(await ids({ pipelineRunId: run.id })).toEqual(["echo", "again"]);
    expect(await ids({ createdSince: clock.now() })).toEqual(["echo", "again"]);
    expect(await controller.stats()).toMatchObject({ succeeded: 3, failed: 1, queued: 0 });
    expect(Object.keys(await controller.stats()).toSorted()).toEqual([...TASK_STATUSES].toSorted());
    expect(await controller.stats({ pipelineRunId: run.id })).toMatchObject({ succeeded: 2, failed: 0 });
  });

  it("give pages that join without gap, and no outcomes", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const { controller } = stage;
    const handles = await Promise.all(Array.from({ length: 7 }, async (_, index) => await controller.submit(echo, [index])));
    await Promise.all(handles.map((handle) => handle.result()));
    const pages: string[][] = [];
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await controller.list({ limit: 3, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.items.every(({ outcome }) => outcome === undefined)).toBe(true);
      pages.push(page.items.map(({ taskId }) => taskId));
      cursor = page.cursor;
    }
    expect(pages.map(({ length }) => length)).toEqual([3, 3, 1]);
    expect(pages.flat().toSorted()).toEqual(handles.map(({ id }) => id).toSorted());
    expect(await controller.get(pages[0]?.[0] ?? "")).toMatchObject({ outcome: 0 });
  });

  it.each([
    [{ state: "failed" }, "query has no option"],
    [{ status: ["done"] }, "query: status must be one of"],
    [{ status: 7 }, "query: status must be one of"],
    [{ limit: 0 }, "query: limit must be an integer of at least 1; found 0"],
    [{ limit: "10" }, "query: limit must be an integer"],
    [{ bucket: -1 }, "query: bucket must be an integer of at least 0"],
    [{ createdSince: "2026-01-01" }, "query: createdSince must be an integer"],
    [{ tag: ["io"] }, "query: tag must be text"],
    [{ cursor: "nonsense" }, "cursor"],
    [[], "query must be a plain object"],
  ])("refuse the query %o", async (query, message) => {
    await using stage = await openStage({ tasks: [echo] });
    const problem: unknown = await call(stage.controller, "list", [query]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
  });
});

describe("one task", () => {
  it("is read with its outcome, attempts and history, by id alone", async () => {
    let calls = 0;
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, () => {
      calls += 1;
      if (calls === 1) throw new Error("first");
      return { calls };
    });
    await using stage = await openStage({ tasks: [flaky] });
    const { id } = await stage.controller.submit(flaky);
    await stage.clock.advance("2s");
    expect(await stage.controller.get(id)).toMatchObject({ status: "succeeded", outcome: { calls: 2 }, attempt: 2, failure: null });
    expect(await stage.controller.attempts(id)).toMatchObject([
      { attempt: 1, endedAs: "retry_wait", failure: { message: "first" } },
      { attempt: 2, endedAs: "succeeded", failure: null },
    ]);
    const history = await stage.controller.history(id);
    expect(history.map(({ from, to, trigger }) => `${from} → ${to} (${trigger})`)).toEqual([
      "pending → queued (scheduler:ready)",
      "queued → starting (scheduler:dispatch)",
      "starting → running (executor:launched)",
      "running → retry_wait (retry:backoff)",
      "retry_wait → starting (scheduler:dispatch)",
      "starting → running (executor:launched)",
      "running → succeeded (executor:finished)",
    ]);
    expect(history.map(({ statusVersion }) => statusVersion)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it("is unknown by another id", async () => {
    await using stage = await openStage({ tasks: [echo] });
    const { controller } = stage;
    const calls = [
      controller.get("nope"),
      controller.can("nope", "stop"),
      controller.stop("nope"),
      controller.cancel("nope"),
      controller.pause("nope"),
      controller.resume("nope"),
      controller.retry("nope"),
      controller.start("nope"),
      controller.wait("nope", { timeout: "1s" }),
    ];
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "UNKNOWN_ID", message: expect.stringContaining('"nope"') });
  });
});

describe("can", () => {
  const answers = async (ask: (verb: Verb) => Promise<{ readonly allowed: boolean }>): Promise<readonly string[]> => {
    const allowed = await Promise.all(VERBS.map(async (verb) => ((await ask(verb)).allowed ? [verb] : [])));
    return allowed.flat();
  };

  it("answers every verb from the table, and changes nothing", async () => {
    const busy = task({ name: "busy" }, async (ctx) => await listen(ctx, stage.clock));
    const inline = task({ name: "inline", executor: "inline" }, async () => await door.opened);
    const door = gate();
    await using stage = await openStage({ tasks: [busy, inline, echo, fails], concurrency: { maxParallel: 2 } });
    const { controller, clock } = stage;
    const running = await controller.submit(busy);
    const stuck = await controller.submit(inline);
    const queued = await controller.submit(echo);
    await clock.advance(1);
    const can = (id: string) => async (verb: Verb) => await controller.can(id, verb);
    expect(await answers(can(running.id))).toEqual(["start", "stop", "pause", "resume", "cancel"]);
    expect(await answers(can(stuck.id))).toEqual(["start", "stop", "resume", "cancel"]);
    expect(await controller.can(stuck.id, "pause")).toEqual({ allowed: false, reason: expect.stringContaining("inline") });
    expect(await answers(can(queued.id))).toEqual(["start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset"]);
    door.open();
    await queued.result();
    expect(await answers(can(queued.id))).toEqual(["reset"]);
    const failed = await controller.submit(fails);
    await failed.wait({ timeout: "1s" });
    expect(await answers(can(failed.id))).toEqual(["retry", "skip", "reset"]);
    expect(await controller.can(failed.id, "stop")).toEqual({ allowed: false, reason: 'a task that is failed cannot be given "stop"' });
    expect((await controller.history(failed.id)).map(({ to }) => to)).toEqual(["queued", "starting", "running", "failed"]);
    await expect(call(controller, "can", [failed.id, "halt"])).rejects.toThrow('can: verb must be one of "start"');
  });

  it("says no to a retry that the verb would refuse: the run of the node has ended", async () => {
    const bad = definePipeline("bad", {}, (p) => void p.add(fails));
    await using stage = await openStage({ pipelines: [bad] });
    const run = await stage.controller.startRun(bad);
    await run.wait({ timeout: "1s" });
    const taskId = run.graph()[0]?.taskId ?? "";
    expect(await stage.controller.can(taskId, "retry")).toEqual({ allowed: false, reason: expect.stringContaining("the run it belongs to has ended") });
    await expect(stage.controller.retry(taskId)).rejects.toMatchObject({
      code: "INVALID_TRANSITION",
      message: expect.stringContaining("the run it belongs to has ended"),
    });
  });

  it("and a refusal names only what would work: of a node whose run has ended, and of an item of its map", async () => {
    const one = task({ name: "one" }, () => 1);
    const each = task({ name: "each" }, (_ctx, item: number): void => {
      if (item === 1) throw new Error("no");
    });
    const bad = definePipeline("bad", { onFailure: allSettled() }, (p) => {
      p.add(one);
      p.add(fails);
      p.map(each, { items: [1, 2] });
    });
    await using stage = await openStage({ pipelines: [bad] });
    const { controller } = stage;
    const run = await controller.startRun(bad);
    await run.wait({ timeout: "1s" });
    const tasks = [...run.graph(), ...run.items("each")];
    const refusals: Record<string, unknown> = {};
    for (const { name, taskId } of tasks) {
      for (const verb of ["retry", "stop"] as const) {
        const refused: unknown = await controller[verb](taskId).catch((error: unknown) => error);
        refusals[`${verb} ${name}`] = refused instanceof InvalidTransition ? refused.allowed : refused;
      }
      const could = await Promise.all(VERBS.map(async (verb) => ((await controller.can(taskId, verb)).allowed ? [verb] : [])));
      expect(refusals[`stop ${name}`]).toEqual(could.flat());
    }
    expect(refusals).toEqual({
      "retry one": [],
      "stop one": [],
      "retry fails": ["skip"],
      "stop fails": ["skip"],
      "retry each": ["skip"],
      "stop each": ["skip"],
      "retry each[0]": ["skip"],
      "stop each[0]": ["skip"],
      "retry each[1]": [],
      "stop each[1]": [],
    });
  });
});

describe("the options of verbs", () => {
  it.each([
    ["stop", { graze: 1 }, 'stop has no option "graze". Did you mean "grace"?'],
    ["stop", { timeout: "1s" }, 'stop has no option "timeout"'],
    ["stop", { grace: "soon" }, "stop: grace"],
    ["cancel", { grace: -1 }, "cancel: grace"],
    ["cancel", { force: true }, 'cancel has no option "force"'],
    ["pause", { grace: "1s" }, 'pause has no option "grace"'],
    ["pause", { timeout: "soon" }, "pause: timeout"],
    ["resume", { timeout: "1s" }, 'resume has no option "timeout"'],
    ["start", { force: true }, 'start has no option "force"'],
    ["retry", { force: "yes" }, 'retry: force must be true or false; found "yes"'],
    ["retry", { actor: "" }, "retry: actor must be a non-empty text"],
    ["stop", { reason: 7 }, "stop: reason must be a non-empty text; found 7"],
    ["stop", "now", "stop must be a plain object"],
  ] as const)("%s refuses %o", async (verb, options, message) => {
    await using stage = await openStage({ tasks: [fails] });
    const { controller } = stage;
    const { id } = await controller.submit(fails);
    const problem: unknown = await call(controller, verb, [id, options]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
  });

  it("put who asked and why on the record", async () => {
    await using stage = await openStage({ tasks: [fails] });
    const handle = await stage.controller.submit(fails);
    await handle.wait({ timeout: "1s" });
    await handle.retry({ actor: "ada", reason: "try again" });
    await handle.wait({ timeout: "1s" });
    expect(await stage.controller.history(handle.id)).toContainEqual(
      expect.objectContaining({ kind: "revive", from: "failed", to: "queued", trigger: "user:retry", actor: "ada", reason: "try again" }),
    );
    await handle.retry();
    expect(await stage.controller.history(handle.id)).toContainEqual(expect.objectContaining({ from: "failed", to: "queued", actor: "user", reason: null }));
  });
});
