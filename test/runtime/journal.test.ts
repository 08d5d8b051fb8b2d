import { randomBytes } from "node:crypto";
import { beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError, ConcurrencyConflict, ControllerClosed, StoreError } from "../../src/core/errors.ts";
import type { StoredEvent } from "../../src/core/events.ts";
import { createId } from "../../src/core/ids.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import type { TaskChange, TaskCreation } from "../../src/core/ports/store.ts";
import { createSnapshot } from "../../src/core/snapshot.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";
import { buildGraph } from "../../src/core/graph.ts";
import { failFast } from "../../src/core/policies/aggregation.ts";
import type { RunSnapshot } from "../../src/core/run.ts";
import { plannedRun } from "../../src/runtime/run-plan.ts";
import { runEvent } from "../../src/runtime/run-record.ts";
import { createdEvent, eventsOf } from "../../src/runtime/audit-events.ts";
import { Journal } from "../../src/runtime/journal.ts";
import type { Stored } from "../../src/runtime/journal.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { FaultStore } from "./support/fault-store.ts";

const BUSY = new StoreError("the disk is full", { transient: true });

let clock: FakeClock;
let store: FaultStore;
let journal: Journal;
/** What was published, in order: `taskId:version`. */
let published: string[];
/** How each write ended, in order. */
let answers: string[];
let logged: string[];

beforeEach(async () => {
  clock = new FakeClock();
  store = new FaultStore(memoryStore());
  await store.open();
  published = [];
  answers = [];
  logged = [];
  const line = (message: string): void => void logged.push(message);
  journal = new Journal({
    store,
    clock,
    logger: { debug: line, info: line, warn: line, error: line },
    publish: (events) => published.push(...events.map(({ eventId }) => eventId)),
  });
});

function fresh(taskId: string, args: readonly unknown[] = []): TaskCreation {
  const snapshot = createSnapshot({ taskId, name: "subject", createdAt: 0, maxAttempts: 3 });
  return { snapshot, payload: { args, overrides: null }, events: [createdEvent(snapshot)] };
}

/** The change that these events make of the task. */
function changeOf(before: TaskSnapshot, ...sequence: readonly LifecycleEvent[]): TaskChange {
  const events: StoredEvent[] = [];
  const attempts: TaskChange["attempts"][number][] = [];
  let snapshot = before;
  for (const event of sequence) {
    const applied = apply(snapshot, event, 0);
    if (!applied.ok) throw applied.error;
    snapshot = applied.snapshot;
    events.push(...eventsOf(applied, 0));
    if (applied.attempt !== null) attempts.push(applied.attempt);
  }
  return { snapshot, expectVersion: before.statusVersion, events, attempts };
}

/** A callback that writes down how the write of that name ended. */
function noted(name: string): Stored {
  return (problem, { outcomeMissing }) => void answers.push(`${name}: ${problem === null ? (outcomeMissing ?? "stored") : problem.constructor.name}`);
}

async function made(taskId: string): Promise<TaskSnapshot> {
  const creation = fresh(taskId);
  journal.create(creation, () => {});
  await clock.advance(0);
  store.writes.length = 0;
  published.length = 0;
  return creation.snapshot;
}

const DISPATCH: LifecycleEvent = { type: "dispatch", owner: "n:1", executor: "async" };

describe("group commit", () => {
  test("what one turn creates is one call", async () => {
    for (let index = 0; index < 100; index += 1) journal.create(fresh(createId(randomBytes)), noted("c"));
    await clock.advance(0);
    expect(store.writes).toEqual(["create 100"]);
    expect(new Set(answers)).toEqual(new Set(["c: stored"]));
    expect(answers).toHaveLength(100);
  });

  test("what comes while a write is under way goes into the next one, together", async () => {
    const barrier = store.hold("create");
    journal.create(fresh("t1"), noted("t1"));
    await clock.advance(0);
    for (const taskId of ["t2", "t3", "t4"]) {
      journal.create(fresh(taskId), noted(taskId));
      await clock.advance(0);
    }
    expect([barrier.arrived, journal.health.waiting]).toEqual([1, 3]);
    barrier.release();
    await clock.advance(0);
    expect(store.writes).toEqual(["create 1", "create 3"]);
    expect(answers).toEqual(["t1: stored", "t2: stored", "t3: stored", "t4: stored"]);
  });

  test("changes of many tasks are one call, and creations go before them", async () => {
    const [a, b] = [await made("a"), await made("b")];
    journal.change(changeOf(a, { type: "enqueue" }), noted("a"));
    journal.create(fresh("c"), noted("c"));
    journal.change(changeOf(b, { type: "enqueue" }), noted("b"));
    await clock.advance(0);
    expect(store.writes).toEqual(["create 1", "commit 2"]);
    expect(answers).toEqual(["c: stored", "a: stored", "b: stored"]);
  });

  test("changes of one task that wait together become one change with all their steps and attempts", async () => {
    const task = await made("t");
    const first = changeOf(task, { type: "enqueue" }, DISPATCH);
    const second = changeOf(first.snapshot, { type: "launched", pid: null }, { type: "succeeded", outcome: 7 });
    journal.change(first, noted("first"));
    journal.change(second, noted("second"));
    await clock.advance(0);
    expect(store.writes).toEqual(["commit 1"]);
    expect(answers).toEqual(["first: stored", "second: stored"]);
    expect(await store.tasks.get("t")).toMatchObject({ status: "succeeded", statusVersion: 4, outcome: 7 });
    expect((await store.audit.history("t")).map(({ statusVersion }) => statusVersion)).toEqual([1, 2, 3, 4]);
    expect(await store.audit.attempts("t")).toMatchObject([{ attempt: 1, endedAs: "succeeded" }]);
    expect(published).toEqual(["t:1", "t:2", "t:2:started", "t:3", "t:4"]);
  });

  test("a change that is decided after a run's step joins none from before it: nothing is stored or published ahead of its cause", async () => {
    const [a, b] = [await made("a"), await made("b")];
    const run = plannedRun({ pipeline: "p", params: [], graph: buildGraph([]), nodes: [], aggregation: failFast(), priority: 0 }, "r", 0);
    journal.createRun({ run, params: [], creations: [], events: [] }, noted("run"));
    await clock.advance(0);
    for (const list of [store.writes, published, answers]) list.length = 0;

    const first = changeOf(a, { type: "enqueue" });
    const ended: RunSnapshot = { ...run, status: "running", version: 1 };
    journal.change(first, noted("a:1"));
    journal.changeRun({ snapshot: ended, expectVersion: 0, events: [runEvent(run, ended, { at: 0, by: {} })] }, noted("run"));
    journal.change(changeOf(b, { type: "enqueue" }), noted("b:1"));
    journal.change(changeOf(first.snapshot, DISPATCH), noted("a:2"));
    await clock.advance(0);
    expect(published).toEqual(["a:1", "r:1", "b:1", "a:2", "a:2:started"]);
    expect(answers).toEqual(["a:1: stored", "run: stored", "b:1: stored", "a:2: stored"]);
    expect(store.writes).toEqual(["commit 1", "commitRun 1", "commit 2"]);
  });

  test("a change that is being written is not joined any more", async () => {
    const task = await made("t");
    const first = changeOf(task, { type: "enqueue" });
    const barrier = store.hold("commit");
    journal.change(first, noted("first"));
    await clock.advance(0);
    journal.change(changeOf(first.snapshot, DISPATCH), noted("second"));
    barrier.release();
    await clock.advance(0);
    expect(store.writes).toEqual(["commit 1", "commit 1"]);
    expect(await store.tasks.get("t")).toMatchObject({ status: "starting", statusVersion: 2 });
  });

  test("an outcome that cannot be stored is told to whoever waits for the change", async () => {
    const task = await made("t");
    journal.change(changeOf(task, { type: "enqueue" }, DISPATCH, { type: "launched", pid: null }, { type: "succeeded", outcome: () => 0 }), noted("t"));
    await clock.advance(0);
    expect(answers).toEqual([expect.stringMatching(/^t: .*function/)]);
    expect(await store.tasks.get("t")).toMatchObject({ status: "succeeded", outcomeMissing: expect.stringContaining("function") });
  });
});

describe("stored first, published second", () => {
  test("nothing is published or answered while the store has not answered", async () => {
    const barrier = store.hold("create");
    journal.create(fresh("t"), noted("t"));
    await clock.advance("1h");
    expect([published, answers]).toEqual([[], []]);
    barrier.release();
    await clock.advance(0);
    expect([published, answers]).toEqual([["t:0"], ["t: stored"]]);
  });

  test("the events are out before the answer is given", async () => {
    let seen: readonly string[] = [];
    journal.create(fresh("t"), () => (seen = [...published]));
    await clock.advance(0);
    expect(seen).toEqual(["t:0"]);
  });

  test("what was refused is not published", async () => {
    const task = await made("t");
    journal.change({ ...changeOf(task, { type: "enqueue" }), expectVersion: 9 }, noted("t"));
    await clock.advance(0);
    expect([published, answers]).toEqual([[], [`t: ${ConcurrencyConflict.name}`]]);
  });
});

describe("a write at fault sinks no other", () => {
  test("a version conflict fails that change alone", async () => {
    const tasks = [await made("a"), await made("b"), await made("c")];
    for (const task of tasks) {
      const change = changeOf(task, { type: "enqueue" });
      journal.change(task.taskId === "b" ? { ...change, expectVersion: 5 } : change, noted(task.taskId));
    }
    await clock.advance(0);
    expect(answers).toEqual(["a: stored", "b: ConcurrencyConflict", "c: stored"]);
    expect(published).toEqual(["a:1", "c:1"]);
    expect(journal.health).toEqual({ degraded: false, persistFailures: 0, waiting: 0 });
  });

  test("arguments that cannot be stored reject that creation alone", async () => {
    for (let index = 0; index < 9; index += 1) {
      const name = `t${index}`;
      journal.create(fresh(name, index === 4 ? [() => 0] : [index]), noted(name));
    }
    await clock.advance(0);
    expect(answers.filter((line) => line.endsWith("stored"))).toHaveLength(8);
    expect(answers).toContain(`t4: ${ConfigurationError.name}`);
    expect(published).toHaveLength(8);
    expect(await store.tasks.get("t4")).toBeUndefined();
    expect(await store.tasks.payload("t8")).toMatchObject({ args: [8] });
    expect(journal.health.degraded).toBe(false);
  });

  test("an id that exists rejects that creation alone", async () => {
    await made("a");
    journal.create(fresh("a"), noted("a"));
    journal.create(fresh("b"), noted("b"));
    await clock.advance(0);
    expect(answers).toEqual(["a: StoreError", "b: stored"]);
  });

  const culprits = ["a", "b", "c", "d", "e"];
  const moments = [0, 1, 2, 3, 4, 5, 6, 7];
  test.each(culprits.flatMap((culprit) => moments.map((after) => [culprit, after] as const)))(
    "while culprit %s is looked for the store goes away, %i calls on: each write is answered once, as it was stored",
    async (culprit, after) => {
      for (const name of culprits) journal.create(fresh(name, name === culprit ? [() => 0] : []), noted(name));
      store.fail("create", BUSY, { after });
      await clock.advance(50);
      expect(answers.toSorted()).toEqual(culprits.map((name) => `${name}: ${name === culprit ? ConfigurationError.name : "stored"}`));
      expect(published.toSorted()).toEqual(culprits.filter((name) => name !== culprit).map((name) => `${name}:0`));
      expect(journal.health).toMatchObject({ degraded: false, waiting: 0 });
    },
  );
});

describe("a store that fails for a while", () => {
  test("fails no write: what waits keeps its order and is tried again after 50, 100, 250, 500, then each 1,000 ms", async () => {
    const task = await made("t");
    store.fail("create", BUSY, { times: 6 });
    const first = changeOf(task, { type: "enqueue" });
    journal.create(fresh("new"), noted("new"));
    journal.change(first, noted("first"));
    await clock.advance(0);
    journal.change(changeOf(first.snapshot, DISPATCH), noted("second"));
    const at: number[] = [];
    while (clock.pendingTimers > 0) {
      const before = clock.monotonic();
      await clock.runNext();
      at.push(clock.monotonic() - before);
    }
    expect(at).toEqual([50, 100, 250, 500, 1_000, 1_000]);
    expect(answers).toEqual(["new: stored", "first: stored", "second: stored"]);
    expect(published).toEqual(["new:0", "t:1", "t:2", "t:2:started"]);
    expect(journal.health).toEqual({ degraded: false, persistFailures: 6, waiting: 0 });
  });

  test("is known as degraded, with a count, and said aloud; nothing is published or answered meanwhile", async () => {
    store.fail("create", BUSY, { times: 100 });
    journal.create(fresh("t"), noted("t"));
    await clock.advance(150);
    expect(journal.health).toEqual({ degraded: true, persistFailures: 3, waiting: 1 });
    expect(logged).toHaveLength(3);
    expect([published, answers]).toEqual([[], []]);
    store.heal();
    await clock.advance("1s");
    expect(journal.health).toEqual({ degraded: false, persistFailures: 3, waiting: 0 });
    expect([published, answers]).toEqual([["t:0"], ["t: stored"]]);
  });

  test("no write jumps the queue while the retry is awaited, and one timer is enough", async () => {
    store.fail("create", BUSY);
    journal.create(fresh("a"), noted("a"));
    await clock.advance(0);
    for (const name of ["b", "c", "d"]) journal.create(fresh(name), noted(name));
    await clock.advance(49);
    expect([store.writes, clock.pendingTimers]).toEqual([["create 1"], 1]);
    await clock.advance(1);
    expect(store.writes).toEqual(["create 1", "create 4"]);
    expect(answers).toEqual(["a: stored", "b: stored", "c: stored", "d: stored"]);
  });

  test("with a failure that is not of that kind rejects the write", async () => {
    store.fail("create", new StoreError("no such table"));
    journal.create(fresh("t"), noted("t"));
    await clock.advance(0);
    expect(answers).toEqual(["t: StoreError"]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("drained", () => {
  test("is at once where nothing waits", async () => {
    await expect(journal.drained()).resolves.toBeUndefined();
  });

  test("waits for what waits, and for what is under way", async () => {
    const barrier = store.hold("create");
    journal.create(fresh("t"), noted("t"));
    let drained = false;
    void journal.drained().then(() => (drained = true));
    await clock.advance(0);
    expect([barrier.arrived, drained]).toEqual([1, false]);
    barrier.release();
    await clock.advance(0);
    expect([drained, answers]).toEqual([true, ["t: stored"]]);
  });

  test.each([0, 1, 2, 3])("leaves nothing waiting, also where a stored write brings another with it, %i microtasks later", async (hops) => {
    journal.create(fresh("a"), () => {
      void (async () => {
        for (let hop = 0; hop < hops; hop += 1) await Promise.resolve();
        journal.create(fresh("b"), noted("b"));
      })();
    });
    await journal.drained();
    expect(journal.health.waiting).toBe(0);
    await clock.advance(0);
    expect(answers).toEqual(["b: stored"]);
  });
});

describe("close", () => {
  test("answers everything that waits, also what waits for a store that is gone", async () => {
    store.fail("create", BUSY, { times: 100 });
    journal.create(fresh("a"), noted("a"));
    await clock.advance(0);
    journal.create(fresh("b"), noted("b"));
    const drained = journal.drained();
    journal.close();
    await drained;
    expect(answers).toEqual([`a: ${ControllerClosed.name}`, `b: ${ControllerClosed.name}`]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("answers also what was on its way to a store that then fails", async () => {
    const barrier = store.hold("create");
    store.fail("create", BUSY, { times: 100 });
    journal.create(fresh("a"), noted("a"));
    await clock.advance(0);
    const drained = journal.drained();
    journal.close();
    barrier.release();
    await drained;
    await clock.advance(0);
    expect(answers).toEqual([`a: ${ControllerClosed.name}`]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("lets end what was on its way to a store that is well", async () => {
    const barrier = store.hold("create");
    journal.create(fresh("a"), noted("a"));
    await clock.advance(0);
    journal.close();
    barrier.release();
    await clock.advance(0);
    expect(answers).toEqual(["a: stored"]);
  });

  test("takes nothing more", () => {
    journal.close();
    journal.create(fresh("a"), noted("a"));
    expect(answers).toEqual([`a: ${ControllerClosed.name}`]);
  });

  test("tells nothing to a change that nobody waits for", async () => {
    const task = await made("t");
    journal.close();
    journal.change(changeOf(task, { type: "enqueue" }));
    await clock.advance(0);
    expect(await store.tasks.get("t")).toMatchObject({ status: "pending" });
  });
});

test("writes that follow each other without a pause let the event loop turn now and then", async () => {
  let nowMs = 0;
  const busyClock = {
    now: () => nowMs,
    monotonic: () => (nowMs += 1),
    setTimer: clock.setTimer.bind(clock),
    turn: async () => await new Promise<void>((resolve) => void setImmediate(resolve)),
  };
  const logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const memory = memoryStore();
  await memory.open();
  const busy = new Journal({ store: memory, clock: busyClock, logger, publish: () => {} });
  let written = 0;
  let turnedAt = Number.POSITIVE_INFINITY;
  setImmediate(() => (turnedAt = written));
  const { promise, resolve } = Promise.withResolvers<void>();
  const next = (): void => {
    written += 1;
    if (written < 200) busy.create(fresh(`t${written}`), next);
    else resolve();
  };
  next();
  await promise;
  expect(turnedAt).toBeLessThan(200);
});
