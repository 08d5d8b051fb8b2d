import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { AttemptRecord } from "../../src/core/attempt.ts";
import { ConcurrencyConflict, ConfigurationError, InternalError, StoreError } from "../../src/core/errors.ts";
import type { StoredEvent } from "../../src/core/events.ts";
import { createFailure } from "../../src/core/failure.ts";
import { allSettled, quorum } from "../../src/core/policies/aggregation.ts";
import type { RunQuery, TaskChange, TaskStore } from "../../src/core/ports/store.ts";
import type { RunSnapshot } from "../../src/core/run.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { STORE_KINDS } from "./store-kinds.ts";
import { changeOf, creationOf, MADE_AT, RUN } from "./stored-tasks.ts";

const MADE = { conflict: null, outcomeMissing: null, argsMissing: null, savedMissing: null };

function runOf(runId: string, parts: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    runId,
    name: "nightly",
    status: "pending",
    version: 0,
    requestedAction: null,
    pausedBy: null,
    pauseReason: null,
    aggregation: allSettled(),
    priority: 0,
    nodeCount: 1,
    createdAt: MADE_AT,
    startedAt: null,
    endedAt: null,
    ...parts,
  };
}

function runEvent(runId: string, version: number): StoredEvent {
  return {
    type: "PipelineRunStatusChanged",
    eventId: `${runId}:${version}`,
    at: MADE_AT,
    taskId: null,
    pipelineRunId: runId,
    name: "nightly",
    from: "pending",
    to: "running",
    trigger: "user:start",
    actor: "ada",
    reason: null,
    version,
  };
}

describe.each(STORE_KINDS)("the $name store", (kind) => {
  let store: TaskStore;

  beforeEach(async () => {
    store = kind.make();
    await store.open();
  });

  afterEach(async () => {
    await store.close();
    kind.clear();
  });

  async function row(taskId: string): Promise<TaskSnapshot> {
    const found = await store.tasks.get(taskId);
    if (found === undefined) throw new Error(`there is no task ${taskId}`);
    return found;
  }

  async function commit(...changes: readonly TaskChange[]): Promise<void> {
    expect(await store.tasks.commit(changes)).toEqual(changes.map(() => MADE));
  }

  /** Makes the task and brings it to `running`. */
  async function running(taskId: string, parts: Parameters<typeof creationOf>[1] = {}): Promise<TaskSnapshot> {
    const creation = creationOf(taskId, parts);
    await store.tasks.create([creation]);
    await commit(changeOf(creation.snapshot, ...RUN));
    return row(taskId);
  }

  async function ids(query: Parameters<TaskStore["tasks"]["query"]>[0]): Promise<readonly string[]> {
    return (await store.tasks.query(query)).items.map((item) => item.taskId);
  }

  async function eventIds(cursor: string | null, options: Parameters<TaskStore["audit"]["feed"]>[1]): Promise<readonly string[]> {
    return (await store.audit.feed(cursor, options)).map((entry) => entry.event.eventId);
  }

  describe("opening and closing", () => {
    const calls: readonly [string, (of: TaskStore) => Promise<unknown>][] = [
      ["tasks.create", (of) => of.tasks.create([])],
      ["tasks.commit", (of) => of.tasks.commit([])],
      ["tasks.get", (of) => of.tasks.get("a")],
      ["tasks.payload", (of) => of.tasks.payload("a")],
      ["tasks.query", (of) => of.tasks.query({})],
      ["tasks.counts", (of) => of.tasks.counts({})],
      ["tasks.bucketCounts", (of) => of.tasks.bucketCounts({})],
      ["tasks.touch", (of) => of.tasks.touch([])],
      ["audit.history", (of) => of.audit.history("a")],
      ["audit.attempts", (of) => of.audit.attempts("a")],
      ["audit.feed", (of) => of.audit.feed(null, { limit: 1 })],
      ["audit.head", (of) => of.audit.head()],
      ["runs.create", (of) => of.runs.create(runOf("r"), [], [], [])],
      ["runs.commit", (of) => of.runs.commit({ snapshot: runOf("r"), expectVersion: 0, events: [] })],
      ["runs.get", (of) => of.runs.get("r")],
      ["runs.query", (of) => of.runs.query({})],
    ];

    test.each(calls)("%s is refused before open and after close, and works in between", async (_name, call) => {
      const fresh = kind.make();
      await expect(call(fresh)).rejects.toThrow(StoreError);
      await fresh.open();
      await call(fresh);
      await fresh.close();
      await expect(call(fresh)).rejects.toThrow(/closed.*make a new one/);
    });

    test("open twice keeps what is there; close twice is harmless; a closed store does not open again", async () => {
      await store.tasks.create([creationOf("a")]);
      await store.open();
      expect(await store.tasks.get("a")).toBeDefined();
      await store.close();
      await store.close();
      await expect(store.open()).rejects.toThrow(StoreError);
    });
  });

  describe("create", () => {
    test("get gives the row back, and payload the values", async () => {
      const creation = creationOf("a", { tags: ["io"], priority: 3 }, [{ day: new Date(5) }, 1n], { maxAttempts: 2 });
      await store.tasks.create([creation]);
      expect(await row("a")).toEqual(creation.snapshot);
      expect(await store.tasks.payload("a")).toEqual({ args: [{ day: new Date(5) }, 1n], overrides: { maxAttempts: 2 } });
    });

    test.each([[[]], [[undefined]], [undefined]])("the arguments %o come back as they are", async (args) => {
      const creation = creationOf("a");
      await store.tasks.create([{ ...creation, payload: { args, overrides: null } }]);
      expect(await store.tasks.payload("a")).toEqual({ args, overrides: null });
    });

    test("an id that exists makes none of them", async () => {
      await store.tasks.create([creationOf("a")]);
      await expect(store.tasks.create([creationOf("b"), creationOf("a")])).rejects.toThrow(StoreError);
      await expect(store.tasks.create([creationOf("c"), creationOf("c")])).rejects.toThrow(/c exists already/);
      expect(await ids({})).toEqual(["a"]);
      expect(await store.audit.head()).toBe("1");
    });

    test("an argument that cannot be stored names its path and makes none of them", async () => {
      const bad = creationOf("b", {}, [{ x: { fn: () => 1 } }]);
      await expect(store.tasks.create([creationOf("a"), bad])).rejects.toThrow(/^args\[0\]\.x\.fn cannot be stored/);
      await expect(store.tasks.create([creationOf("c", {}, [], { retry: Symbol("x") })])).rejects.toThrow(/^overrides\.retry cannot be stored/);
      expect(await ids({})).toEqual([]);
      expect(await store.audit.head()).toBeNull();
    });

    test("arguments over the limit are refused with size and limit; at the limit they pass", async () => {
      await store.tasks.create([creationOf("a", {}, ["x".repeat(1_048_576 - 4)])]);
      const over = store.tasks.create([creationOf("b", {}, ["x".repeat(1_048_576 - 3)])]);
      await expect(over).rejects.toThrow(ConfigurationError);
      await expect(over).rejects.toThrow(/args .*1,048,577 bytes.*limit is 1,048,576 bytes/);
      const small = kind.make({ maxValueBytes: 10 });
      await small.open();
      await expect(small.tasks.create([creationOf("c", {}, ["0123456789"])])).rejects.toThrow(/limit is 10 bytes/);
      await small.close();
    });

    test("a task made with an outcome has it", async () => {
      const creation = creationOf("a");
      await store.tasks.create([{ ...creation, snapshot: { ...creation.snapshot, outcome: [1] } }]);
      expect((await row("a")).outcome).toEqual([1]);
    });
  });

  describe("what is stored and given is nobody else's", () => {
    test("changing what was passed in changes nothing", async () => {
      const tags = ["io"];
      const list = [1];
      const creation = creationOf("a", { tags }, [list], { list });
      const progress = { done: 1, total: 2, unit: null, message: null, updatedAt: 5 };
      const failure = { ...createFailure({ kind: "exception", message: "no" }), causes: [{ name: "E", message: "why", stack: null }] };
      await store.tasks.create([creation]);
      const change = changeOf(creation.snapshot, ...RUN, { type: "failed", failure, retryAt: null });
      const outcome = { list };
      await commit({ ...change, snapshot: { ...change.snapshot, progress, outcome } });
      const before = { row: await row("a"), history: await store.audit.history("a"), attempts: await store.audit.attempts("a") };
      tags.push("cpu");
      list.push(2);
      progress.done = 99;
      failure.message = "changed";
      failure.causes[0]!.message = "changed";
      for (const record of [creation.snapshot, change.snapshot, ...change.attempts, ...change.events])
        Object.assign(record, { name: "changed", taskId: "z", to: "lost", endedAs: "lost" });
      expect(await row("a")).toEqual(before.row);
      expect(before.row).toMatchObject({
        name: "work",
        tags: ["io"],
        progress: { done: 1 },
        failure: { message: "no", causes: [{ message: "why" }] },
        outcome: { list: [1] },
      });
      expect(await store.audit.history("a")).toEqual(before.history);
      expect(await store.audit.attempts("a")).toEqual(before.attempts);
      expect(before.attempts).toMatchObject([{ taskId: "a", endedAs: "failed", failure: { message: "no" } }]);
      expect(await store.tasks.payload("a")).toEqual({ args: [[1]], overrides: { list: [1] } });
    });

    test("everything given is frozen but the values, which are made anew each time", async () => {
      const failure = createFailure({ kind: "exception", message: "no" });
      const first = await running("a", { tags: ["io"], pipelineRunId: "r" });
      await commit(changeOf(first, { type: "failed", failure, retryAt: 9 }));
      await store.runs.create(runOf("r"), [], [], [runEvent("r", 0)]);
      const payload = await store.tasks.payload("a");
      const page = await store.tasks.query({});
      const given = [
        await row("a"),
        (await row("a")).tags,
        (await row("a")).failure,
        (await row("a")).failure?.causes,
        page,
        page.items,
        page.items[0],
        payload,
        await store.audit.history("a"),
        ...(await store.audit.history("a")),
        await store.audit.attempts("a"),
        ...(await store.audit.attempts("a")),
        ...(await store.audit.feed(null, { limit: 99 })).flatMap((entry) => [entry, entry.event]),
        await store.runs.get("r"),
        (await store.runs.query({})).items,
        await store.tasks.counts({}),
      ];
      expect(given.filter((item) => !Object.isFrozen(item))).toEqual([]);
      expect((await store.tasks.payload("a"))?.args).not.toBe(payload?.args);
    });

    test("a row that was given stays what it was", async () => {
      const before = await running("a");
      await store.tasks.touch([{ taskId: "a", owner: "node:1", attempt: 1, heartbeatAt: 9_999 }]);
      await commit(changeOf(await row("a"), { type: "succeeded", outcome: 1 }));
      expect(before).toMatchObject({ status: "running", lastHeartbeatAt: MADE_AT + 2, outcome: undefined });
    });
  });

  describe("commit", () => {
    test("a conflict answers for its own change, with both versions; the others are made", async () => {
      const [a, b] = [creationOf("a"), creationOf("b")];
      await store.tasks.create([a, b]);
      await commit(changeOf(a.snapshot, { type: "enqueue" }));
      const late = changeOf(a.snapshot, { type: "cancel" });
      const nowhere = changeOf(creationOf("z").snapshot, { type: "cancel" });
      const results = await store.tasks.commit([late, changeOf(b.snapshot, ...RUN), nowhere]);
      expect(results[0]?.conflict).toBeInstanceOf(ConcurrencyConflict);
      expect(results[0]?.conflict).toMatchObject({ expected: 0, actual: 1 });
      expect(results[1]).toEqual(MADE);
      expect(results[2]?.conflict).toMatchObject({ expected: 0, actual: null });
      expect([await row("a"), await row("b")]).toMatchObject([{ status: "queued" }, { status: "running" }]);
      expect((await store.audit.history("a")).map((step) => step.to)).toEqual(["queued"]);
      expect(await store.audit.attempts("a")).toEqual([]);
      expect(await store.tasks.get("z")).toBeUndefined();
    });

    test("a change builds on those before it in the batch, and of two equal ones the second conflicts", async () => {
      const { snapshot } = creationOf("a");
      await store.tasks.create([creationOf("a")]);
      const first = changeOf(snapshot, { type: "enqueue" });
      const second = changeOf(first.snapshot, { type: "cancel" });
      const results = await store.tasks.commit([first, first, second]);
      expect(results.map((result) => result.conflict?.actual)).toEqual([undefined, 1, undefined]);
      expect(await row("a")).toMatchObject({ status: "cancelled", statusVersion: 2 });
    });

    test("a noted fact keeps the version and tells no step", async () => {
      const task = await running("a");
      await commit({ snapshot: { ...task, pid: 7 }, expectVersion: task.statusVersion, events: [], attempts: [] });
      expect(await row("a")).toEqual({ ...task, pid: 7 });
      expect(await store.audit.history("a")).toHaveLength(3);
    });

    test("arguments can come later, and those that cannot be stored hold no step up", async () => {
      const [a, b] = [creationOf("a"), creationOf("b", {}, undefined)];
      await store.tasks.create([a, b]);
      const first = changeOf(a.snapshot, { type: "enqueue" });
      const second = changeOf(b.snapshot, { type: "enqueue" });
      const [made, lacking] = await store.tasks.commit([first, { ...second, args: [() => 1] }]);
      expect(made).toEqual(MADE);
      expect(lacking).toMatchObject({ conflict: null, outcomeMissing: null });
      expect(lacking?.argsMissing).toMatch(/^args\[0\] cannot be stored/);
      expect(await store.tasks.counts({})).toMatchObject({ pending: 0, queued: 2 });
      expect(await store.tasks.payload("b")).toEqual({ args: undefined, overrides: null });
      await commit({ snapshot: second.snapshot, expectVersion: second.snapshot.statusVersion, events: [], attempts: [], args: [5] });
      expect(await store.tasks.payload("b")).toEqual({ args: [5], overrides: null });
    });

    test("a task never becomes another", async () => {
      const { snapshot } = creationOf("a");
      await store.tasks.create([creationOf("a")]);
      const change = changeOf(snapshot, { type: "enqueue" });
      await expect(store.tasks.commit([{ ...change, snapshot: { ...change.snapshot, name: "other" } }])).rejects.toThrow(InternalError);
    });
  });

  describe("outcomes", () => {
    test.each([[undefined], [7], ["text"], [null], [Number.NaN], [{ a: [1n, new Map([[1, new Date(2)]])] }]])(
      "%o comes back from get, made anew",
      async (outcome) => {
        await commit(changeOf(await running("a"), { type: "succeeded", outcome }));
        const first = await row("a");
        expect(first).toMatchObject({ status: "succeeded", outcomeMissing: null });
        expect(first.outcome).toEqual(outcome);
        if (typeof outcome === "object" && outcome !== null) expect((await row("a")).outcome).not.toBe(first.outcome);
      },
    );

    test("lists leave outcomes out", async () => {
      await commit(changeOf(await running("a"), { type: "succeeded", outcome: 7 }));
      expect((await store.tasks.query({})).items).toMatchObject([{ status: "succeeded", outcome: undefined }]);
    });

    test("a partial outcome is kept", async () => {
      const failure = createFailure({ kind: "cancelled", message: "stopped" });
      await commit(changeOf(await running("a"), { type: "stop" }, { type: "ended", failure, partialOutcome: [1, 2] }));
      expect(await row("a")).toMatchObject({ status: "stopped", outcome: undefined, partialOutcome: [1, 2] });
    });

    test("one that cannot be stored does not fail the change: row and answer say why", async () => {
      const change = changeOf(await running("a"), { type: "succeeded", outcome: { socket: { send: () => 1 } } });
      const [result] = await store.tasks.commit([change]);
      expect(result?.conflict).toBeNull();
      expect(result?.outcomeMissing).toMatch(/^outcome\.socket\.send cannot be stored: it is a function/);
      expect(await row("a")).toMatchObject({ status: "succeeded", outcome: undefined, outcomeMissing: result?.outcomeMissing });
      expect((await store.audit.history("a")).at(-1)?.to).toBe("succeeded");
    });

    test("the same for a partial outcome, and for one that is too large", async () => {
      const failure = createFailure({ kind: "cancelled", message: "stopped" });
      const stopped = changeOf(await running("a"), { type: "stop" }, { type: "ended", failure, partialOutcome: Symbol("x") });
      const large = changeOf(await running("b"), { type: "succeeded", outcome: "x".repeat(1_048_575) });
      const fits = changeOf(await running("c"), { type: "succeeded", outcome: "x".repeat(1_048_574) });
      const results = await store.tasks.commit([stopped, large, fits]);
      expect(results[0]?.outcomeMissing).toMatch(/^partialOutcome cannot be stored/);
      expect(results[1]?.outcomeMissing).toMatch(/1,048,577 bytes.*limit is 1,048,576/);
      expect(results[2]).toEqual(MADE);
    });

    test("a reset takes the outcome away", async () => {
      await commit(changeOf(await running("a"), { type: "succeeded", outcome: [7] }));
      await commit(changeOf(await row("a"), { type: "reset" }));
      expect(await row("a")).toMatchObject({ status: "pending", outcome: undefined, outcomeMissing: null });
    });
  });

  describe("audit", () => {
    test("history has every step by version, and those after a version", async () => {
      await commit(changeOf(await running("a"), { type: "succeeded", outcome: 1 }));
      const history = await store.audit.history("a");
      expect(history.map((step) => [step.statusVersion, step.from, step.to])).toEqual([
        [1, "pending", "queued"],
        [2, "queued", "starting"],
        [3, "starting", "running"],
        [4, "running", "succeeded"],
      ]);
      expect(await store.audit.history("a", { sinceVersion: 2 })).toEqual(history.slice(2));
      expect(await store.audit.history("a", { sinceVersion: 4 })).toEqual([]);
      expect(await store.audit.history("nobody")).toEqual([]);
      expect(await store.audit.attempts("nobody")).toEqual([]);
    });

    test("each event comes back as it was given, whatever its kind", async () => {
      const task = await running("a", { pipelineRunId: "r", node: "load" });
      const failure = createFailure({ kind: "exception", message: "no" });
      const base = { at: 5.5, taskId: "a", pipelineRunId: "r", name: "work", node: "load" };
      const change = changeOf(task, { type: "failed", failure, retryAt: 9 });
      const attempt = change.attempts[0] as AttemptRecord;
      const events: readonly StoredEvent[] = [
        ...change.events,
        { ...base, type: "AttemptFailed", eventId: "1", attempt, failure, retryAt: 9 },
        { ...base, type: "AdminOverride", eventId: "2", from: "running", to: "failed", actor: "ada", reason: "so" },
        { ...base, type: "TaskWarning", eventId: "3", code: "outcome_not_stored", message: "m", failure },
        { ...base, type: "TaskWarning", eventId: "4", code: "stray_error", message: "m", failure: null },
        { ...base, type: "TaskCreated", eventId: "5" },
        { ...base, type: "AttemptStarted", eventId: "6", attempt },
        { ...base, type: "AttemptStarted", eventId: "7", attempt, name: "other" },
      ];
      const head = await store.audit.head();
      await commit({ ...change, events });
      expect((await store.audit.feed(head, { limit: 99 })).map((entry) => entry.event)).toEqual(events);
    });

    test("steps that differ in one part each keep their own", async () => {
      const task = await running("a");
      const [step] = changeOf(task, { type: "pause", actor: "ada", reason: "so", commandId: "c1" }).events;
      if (step?.type !== "TaskStatusChanged") throw new Error("no step");
      const others = [
        { actor: "bob" },
        { reason: null },
        { commandId: null },
        { kind: "override" as const },
        { to: "lost" as const },
        { from: "paused" as const },
        { trigger: "user:other" },
      ];
      const numbers = [{ statusVersion: 2 ** 40 }, { attempt: 2 ** 31 }, { epoch: 1.5 }];
      const events = [...others, ...numbers].flatMap((part) => [step, { ...step, ...part }]);
      await commit({ snapshot: task, expectVersion: task.statusVersion, events, attempts: [] });
      expect(await store.audit.history("a", { sinceVersion: 3 })).toEqual(events.filter((event) => event.statusVersion > 3));
      expect((await store.audit.feed(null, { limit: 99 })).slice(-events.length).map((entry) => entry.event)).toEqual(events);
    });

    test("attempts are put in place by epoch and number, in that order", async () => {
      const task = await running("a");
      const of = (epoch: number, attempt: number, pid: number): AttemptRecord => ({
        ...(changeOf(task, { type: "succeeded", outcome: 1 }).attempts[0] as AttemptRecord),
        epoch,
        attempt,
        pid,
      });
      await commit({
        snapshot: task,
        expectVersion: task.statusVersion,
        events: [],
        attempts: [of(1, 1, 10), of(0, 2, 20), of(0, 1, 30), of(1, 1, 40), of(0, 3, 50)],
      });
      expect((await store.audit.attempts("a")).map(({ epoch, attempt, pid }) => [epoch, attempt, pid])).toEqual([
        [0, 1, 30],
        [0, 2, 20],
        [0, 3, 50],
        [1, 1, 40],
      ]);
    });

    test("a feed read page by page has every entry once, and goes on with what comes later", async () => {
      await running("a");
      await running("b");
      const all = await eventIds(null, { limit: 99 });
      expect(all).toEqual(["a:created", "a:1", "a:2", "a:0.1:started", "a:3", "b:created", "b:1", "b:2", "b:0.1:started", "b:3"]);
      const read: string[] = [];
      let cursor: string | null = null;
      for (let page = await store.audit.feed(cursor, { limit: 3 }); page.length > 0; page = await store.audit.feed(cursor, { limit: 3 })) {
        read.push(...page.map((entry) => entry.event.eventId));
        cursor = page.at(-1)?.cursor ?? null;
      }
      expect(read).toEqual(all);
      expect(cursor).toBe(await store.audit.head());
      await store.tasks.create([creationOf("c")]);
      expect(await eventIds(cursor, { limit: 3 })).toEqual(["c:created"]);
    });

    test("a feed of one task or run leaves the others out and keeps the cursors of the whole", async () => {
      await store.runs.create(runOf("r"), [], [creationOf("a", { pipelineRunId: "r" })], [runEvent("r", 0)]);
      await store.tasks.create([creationOf("b")]);
      await running("c", { pipelineRunId: "r" });
      const ofRun = await store.audit.feed(null, { limit: 99, pipelineRunId: "r" });
      expect(ofRun.map((entry) => entry.event.eventId)).toEqual(["r:0", "a:created", "c:created", "c:1", "c:2", "c:0.1:started", "c:3"]);
      expect(await eventIds(ofRun[1]?.cursor ?? null, { limit: 2, pipelineRunId: "r" })).toEqual(["c:created", "c:1"]);
      expect(await eventIds(ofRun[3]?.cursor ?? null, { limit: 2, taskId: "c" })).toEqual(["c:2", "c:0.1:started"]);
      expect(await eventIds(null, { limit: 9, taskId: "b", pipelineRunId: "r" })).toEqual([]);
      expect(await eventIds(null, { limit: 9, taskId: "nobody" })).toEqual([]);
      expect(await eventIds(null, { limit: 9, pipelineRunId: "nothing" })).toEqual([]);
    });

    test("a log of several blocks keeps order and threads", async () => {
      for (let index = 0; index < 600; index += 1) await running(`t${index}`);
      const feed = await store.audit.feed(null, { limit: 10_000 });
      expect(feed).toHaveLength(3_000);
      expect(feed.map((entry) => entry.cursor)).toEqual(Array.from({ length: 3_000 }, (_, index) => String(index + 1)));
      expect((await store.audit.history("t204")).map((step) => step.to)).toEqual(["queued", "starting", "running"]);
      expect(await eventIds("2990", { limit: 9, taskId: "t599" })).toHaveLength(5);
    });

    test.each(["x", "-1", "1.5", "", "99", "1e1"])("the cursor %o is refused: this store never gave it", async (cursor) => {
      await store.tasks.create([creationOf("a")]);
      await expect(store.audit.feed(cursor, { limit: 1 })).rejects.toThrow(ConfigurationError);
      await expect(store.tasks.query({ cursor })).rejects.toThrow(ConfigurationError);
      await expect(store.runs.query({ cursor })).rejects.toThrow(ConfigurationError);
    });

    test.each([0, -1, 1.5, Number.NaN])("the limit %o is refused", async (limit) => {
      await expect(store.audit.feed(null, { limit })).rejects.toThrow(ConfigurationError);
      await expect(store.tasks.query({ limit })).rejects.toThrow(ConfigurationError);
      await expect(store.runs.query({ limit })).rejects.toThrow(ConfigurationError);
    });
  });

  describe("touch", () => {
    const progress = { done: 1, total: null, unit: null, message: null, updatedAt: 7 };

    test("progress and heartbeat reach the row, one without the other too, and no version rises", async () => {
      const task = await running("a");
      await store.tasks.touch([{ taskId: "a", owner: "node:1", attempt: 1, progress }]);
      expect(await row("a")).toEqual({ ...task, progress });
      await store.tasks.touch([{ taskId: "a", owner: "node:1", attempt: 1, heartbeatAt: 8 }]);
      expect(await row("a")).toEqual({ ...task, progress, lastHeartbeatAt: 8 });
      expect(await store.audit.head()).toBe("5");
    });

    test.each([
      ["another owner", { owner: "node:2" }],
      ["another attempt", { attempt: 2 }],
      ["a task that is not there", { taskId: "z" }],
    ])("%s changes nothing, and the others of the call are made", async (_name, part) => {
      const [a, b] = [await running("a"), await running("b")];
      const touch = { taskId: "a", owner: "node:1", attempt: 1, progress, heartbeatAt: 8 };
      await store.tasks.touch([
        { ...touch, ...part },
        { ...touch, taskId: "b" },
      ]);
      expect(await row("a")).toEqual(a);
      expect(await row("b")).toEqual({ ...b, progress, lastHeartbeatAt: 8 });
    });

    test("a terminal task is never woken, though owner and attempt fit", async () => {
      const task = await running("a");
      const ended = changeOf(task, { type: "succeeded", outcome: 1 });
      await commit({ ...ended, snapshot: { ...ended.snapshot, owner: "node:1" } });
      const before = await row("a");
      await store.tasks.touch([{ taskId: "a", owner: "node:1", attempt: 1, progress, heartbeatAt: 8 }]);
      expect(await row("a")).toEqual(before);
    });
  });

  describe("query and counts", () => {
    beforeEach(async () => {
      await store.tasks.create([
        creationOf("aa1", { name: "extract", tags: ["io"], createdAt: 30, bucket: 1 }),
        creationOf("aa2", { name: "extract-all", pipelineRunId: "r", createdAt: 10, bucket: 2 }),
        creationOf("ab3", { name: "load", pipelineRunId: "r", tags: ["io", "db"], createdAt: 20 }),
      ]);
      await running("bb4", { name: "load", createdAt: 40 });
    });

    test.each([
      [{}, ["aa1", "aa2", "ab3", "bb4"]],
      [{ status: ["running"] }, ["bb4"]],
      [{ status: ["running", "pending", "running"] }, ["aa1", "aa2", "ab3", "bb4"]],
      [{ status: [] }, []],
      [{ pipelineRunId: "r" }, ["aa2", "ab3"]],
      [{ pipelineRunId: "nothing" }, []],
      [{ tag: "io" }, ["aa1", "ab3"]],
      [{ name: "extract" }, ["aa1"]],
      [{ namePrefix: "extract" }, ["aa1", "aa2"]],
      [{ idPrefix: "aa" }, ["aa1", "aa2"]],
      [{ idPrefix: "" }, ["aa1", "aa2", "ab3", "bb4"]],
      [{ bucket: 2 }, ["aa2"]],
      [{ owner: "node:1" }, ["bb4"]],
      [{ createdSince: 20 }, ["aa1", "ab3", "bb4"]],
      [{ status: ["pending"], tag: "io", pipelineRunId: "r", name: "load", namePrefix: "l", idPrefix: "ab", createdSince: 20 }, ["ab3"]],
      [{ status: ["running"], pipelineRunId: "r" }, []],
    ] as const)("%o finds %o", async (query, expected) => {
      expect(await ids(query)).toEqual(expected);
      const counts = await store.tasks.counts(query);
      expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(expected.length);
      expect(Object.keys(counts)).toHaveLength(15);
    });

    test("pages follow each other without gap or repeat, also where tasks are made meanwhile", async () => {
      const first = await store.tasks.query({ limit: 3 });
      expect(first.items.map((item) => item.taskId)).toEqual(["aa1", "aa2", "ab3"]);
      await store.tasks.create([creationOf("000", { createdAt: 1 })]);
      const second = await store.tasks.query({ limit: 3, cursor: first.cursor ?? "none" });
      expect(second.items.map((item) => item.taskId)).toEqual(["bb4", "000"]);
      expect(second.cursor).toBeNull();
    });

    test("the last page says so, also where it is full", async () => {
      expect((await store.tasks.query({ limit: 4 })).cursor).toBeNull();
      expect((await store.tasks.query({ limit: 2, idPrefix: "aa" })).cursor).toBeNull();
      expect((await store.tasks.query({ limit: 1, idPrefix: "aa" })).cursor).not.toBeNull();
    });

    test("a page has 100 where nothing is said", async () => {
      await store.tasks.create(Array.from({ length: 200 }, (_, index) => creationOf(`x${index}`)));
      expect((await store.tasks.query({})).items).toHaveLength(100);
    });

    test("few among many are found in the order in which they were made, page by page", async () => {
      await store.tasks.create(Array.from({ length: 500 }, (_, index) => creationOf(`x${String(index).padStart(3, "0")}`)));
      for (const taskId of ["x400", "x100", "x300"]) await commit(changeOf(await row(taskId), ...RUN));
      const first = await store.tasks.query({ status: ["running"], limit: 2 });
      expect(first.items.map((item) => item.taskId)).toEqual(["bb4", "x100"]);
      expect(await ids({ status: ["running"], limit: 2, cursor: first.cursor ?? "none" })).toEqual(["x300", "x400"]);
    });
  });

  describe("runs", () => {
    test("a run is made together with its tasks", async () => {
      const run = runOf("r", { aggregation: quorum(2) });
      await store.runs.create(run, ["2026-01-01"], [creationOf("a", { pipelineRunId: "r" })], [runEvent("r", 0)]);
      expect(await store.runs.get("r")).toEqual(run);
      expect(await ids({ pipelineRunId: "r" })).toEqual(["a"]);
      expect(await eventIds(null, { limit: 9 })).toEqual(["r:0", "a:created"]);
    });

    test("what cannot be stored, or is there already, makes neither run nor tasks", async () => {
      await store.tasks.create([creationOf("a")]);
      await store.runs.create(runOf("q"), [], [], []);
      await expect(store.runs.create(runOf("r"), [() => 1], [creationOf("b")], [])).rejects.toThrow(/^params\[0\] cannot be stored/);
      await expect(store.runs.create(runOf("r"), [], [creationOf("b", {}, [() => 1])], [])).rejects.toThrow(ConfigurationError);
      await expect(store.runs.create(runOf("r"), [], [creationOf("b"), creationOf("a")], [])).rejects.toThrow(StoreError);
      await expect(store.runs.create(runOf("q"), [], [creationOf("b")], [])).rejects.toThrow(/q exists already/);
      expect(await store.runs.get("r")).toBeUndefined();
      expect(await ids({})).toEqual(["a"]);
      expect(await store.audit.head()).toBe("1");
    });

    test("a change is guarded by the version", async () => {
      await store.runs.create(runOf("r"), [], [], []);
      const snapshot = runOf("r", { version: 1, status: "running" });
      const change = { snapshot, expectVersion: 0, events: [runEvent("r", 1)] };
      expect(await store.runs.commit(change)).toBeNull();
      expect(await store.runs.commit(change)).toMatchObject({ expected: 0, actual: 1 });
      expect(await store.runs.commit({ ...change, snapshot: runOf("z") })).toMatchObject({ expected: 0, actual: null });
      expect(await store.runs.get("r")).toEqual(snapshot);
      expect(await eventIds(null, { limit: 9, pipelineRunId: "r" })).toEqual(["r:1"]);
      expect(await eventIds(null, { limit: 9 })).toEqual(["r:1"]);
    });

    test("runs are found by status, with what else is asked, page by page", async () => {
      for (const [runId, status] of [
        ["r1", "running"],
        ["r2", "failed"],
        ["s3", "paused"],
        ["r4", "running"],
      ] as const)
        await store.runs.create(runOf(runId, { status, name: runId === "r4" ? "other" : "nightly" }), [], [], []);
      const found = async (query: RunQuery): Promise<readonly string[]> => (await store.runs.query(query)).items.map(({ runId }) => runId);
      expect(await found({ status: ["running", "paused"] })).toEqual(["r1", "s3", "r4"]);
      expect(await found({ status: ["running"], name: "nightly" })).toEqual(["r1"]);
      expect(await found({ status: ["paused", "running"], idPrefix: "r" })).toEqual(["r1", "r4"]);
      expect(await found({ status: ["succeeded"] })).toEqual([]);
      expect(await found({ status: [] })).toEqual([]);
      const { items, cursor } = await store.runs.query({ status: ["running", "paused"], limit: 2 });
      expect(items.map(({ runId }) => runId)).toEqual(["r1", "s3"]);
      expect(await store.runs.query({ status: ["running", "paused"], limit: 2, cursor: cursor ?? "none" })).toMatchObject({
        items: [{ runId: "r4" }],
        cursor: null,
      });
      await store.runs.commit({ snapshot: runOf("r1", { status: "succeeded", version: 1 }), expectVersion: 0, events: [] });
      expect(await found({ status: ["running"] })).toEqual(["r4"]);
    });

    test("runs are found by name and id, page by page", async () => {
      for (const [runId, name] of [
        ["r1", "x"],
        ["r2", "y"],
        ["s3", "x"],
        ["r4", "x"],
      ] as const)
        await store.runs.create(runOf(runId, { name }), [], [], []);
      const first = await store.runs.query({ name: "x", limit: 2 });
      expect(first.items.map((run) => run.runId)).toEqual(["r1", "s3"]);
      const second = await store.runs.query({ name: "x", limit: 2, cursor: first.cursor ?? "none" });
      expect(second).toMatchObject({ items: [{ runId: "r4" }], cursor: null });
      expect((await store.runs.query({ idPrefix: "r", name: "y" })).items).toMatchObject([{ runId: "r2" }]);
    });
  });
});

describe("the memory store", () => {
  test("two stores share nothing, and neither outlives the process", async () => {
    const store = memoryStore();
    await store.open();
    await store.tasks.create([creationOf("a")]);
    const other = memoryStore();
    await other.open();
    expect(await other.tasks.get("a")).toBeUndefined();
    expect(other.supports).toEqual({ durability: false, sharing: false });
  });

  test.each([{ maxValueBytes: 0 }, { maxValueBytes: 1.5 }, { maxValueBytes: Number.NaN }, { maxBytes: 1 }])("the options %o are refused", (options) => {
    expect(() => memoryStore(options)).toThrow(ConfigurationError);
  });
});
