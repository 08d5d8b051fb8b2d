import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { definePipeline } from "../../src/api/pipeline.ts";
import { task } from "../../src/api/task.ts";
import { InvalidTransition } from "../../src/core/errors.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import type { TaskStatus } from "../../src/core/status.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";
import { FaultStore } from "./support/fault-store.ts";
import type { Barrier } from "./support/fault-store.ts";
import { Puppet, polling } from "./support/puppet.ts";

const VERBS = ["start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset"] as const;
type Verb = (typeof VERBS)[number];

/** Table 1.3, typed out once more: the statuses a verb leads through, `=` for no step (`=?`: unless deps are met), `✗` for a refusal. */
const TABLE = {
  pending: ["queued", "stopped", "✗", "✗", "cancelled", "✗", "skipped", "="],
  blocked: ["=?", "stopped", "✗", "✗", "cancelled", "✗", "skipped", "pending"],
  queued: ["=", "stopped", "paused", "=", "cancelled", "=", "skipped", "pending"],
  starting: ["=", "stopping", "pausing", "=", "stopping", "✗", "✗", "✗"],
  running: ["=", "stopping", "pausing", "=", "stopping", "✗", "✗", "✗"],
  pausing: ["=", "stopping", "=", "running", "stopping", "✗", "✗", "✗"],
  "paused in place": ["✗", "running stopping", "=", "running", "running stopping", "✗", "✗", "✗"],
  "paused in the queue": ["✗", "stopped", "=", "queued", "cancelled", "✗", "✗", "pending"],
  "paused in its backoff": ["✗", "stopped", "=", "queued", "cancelled", "✗", "✗", "pending"],
  retry_wait: ["=", "stopped", "paused", "=", "cancelled", "queued", "✗", "pending"],
  stopping: ["✗", "=", "✗", "✗", "=", "✗", "✗", "✗"],
  succeeded: ["✗", "✗", "✗", "✗", "✗", "✗", "✗", "pending"],
  failed: ["✗", "✗", "✗", "✗", "✗", "queued", "skipped", "pending"],
  stopped: ["✗", "=", "✗", "✗", "✗", "queued", "✗", "pending"],
  cancelled: ["✗", "✗", "✗", "✗", "=", "queued", "✗", "pending"],
  skipped: ["✗", "✗", "✗", "✗", "✗", "✗", "=", "pending"],
  "lost, its body over": ["✗", "=", "✗", "✗", "✗", "queued", "✗", "pending"],
} as const;

type Row = keyof typeof TABLE;
const ROWS = Object.keys(TABLE) as readonly Row[];

let clock: FakeClock;
let store: FaultStore;
let controller: Controller;
let puppet: Puppet;
let barrier: Barrier | null;

beforeEach(async () => {
  clock = new FakeClock();
  store = new FaultStore(memoryStore());
  puppet = new Puppet();
  barrier = null;
  const subject = task({ name: "subject" }, (ctx) => puppet.run(ctx));
  const listening = task({ name: "listening" }, (ctx) => polling(clock)(ctx));
  const inline = task({ name: "inline", executor: "inline" }, (ctx) => puppet.run(ctx));
  const failing = task({ name: "failing", retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } }, () => {
    throw new Error("boom");
  });
  const pair = definePipeline("pair", {}, (p) => {
    const first = p.add(subject);
    p.add(inline, { name: "second", deps: [first] });
    p.add(inline, { name: "never", deps: [], when: () => false });
  });
  controller = await Controller.open({
    store,
    clock,
    random: () => 0.5,
    tasks: [subject, listening, inline, failing],
    pipelines: [pair],
    concurrency: { maxParallel: 1 },
  });
});

afterEach(async () => {
  barrier?.release();
  const closed = controller.close({ grace: 0 });
  await clock.advance("1m");
  await closed;
  if (clock.pendingTimers > 0) throw new Error(`${clock.pendingTimers} timers are left after close`);
});

async function submit(name: string): Promise<string> {
  const { id } = await controller.submit(name);
  await clock.advance(0);
  return id;
}

async function node(name: string): Promise<string> {
  const run = await controller.startRun("pair");
  await clock.advance(0);
  const found = run.graph().find((each) => each.name === name);
  if (found === undefined) throw new Error(`no node ${name}`);
  return found.taskId;
}

async function ended(end: () => void): Promise<string> {
  const id = await submit("subject");
  end();
  await clock.advance(0);
  return id;
}

async function pausedOf(name: string, wait = 0): Promise<string> {
  if (name === "subject") await submit("subject");
  const id = await submit(name);
  const paused = controller.pause(id);
  await clock.advance(wait);
  expect(await paused).toBe(true);
  return id;
}

async function begun(verb: "pause" | "stop"): Promise<string> {
  const id = await submit("subject");
  void controller[verb](id).catch(() => {});
  await clock.advance(0);
  return id;
}

/** Brings a task to a status, by what users do. */
const WAYS: Readonly<Record<Row, () => Promise<string>>> = {
  pending: async () => {
    const id = await WAYS.queued();
    await controller.reset(id, { confirm: true });
    return id;
  },
  blocked: async () => await node("second"),
  queued: async () => (await submit("subject"), await submit("subject")),
  starting: async () => {
    barrier = store.hold("commit");
    return await submit("subject");
  },
  running: async () => await submit("subject"),
  pausing: async () => await begun("pause"),
  "paused in place": async () => await pausedOf("listening", 10),
  "paused in the queue": async () => await pausedOf("subject"),
  "paused in its backoff": async () => await pausedOf("failing"),
  retry_wait: async () => await submit("failing"),
  stopping: async () => await begun("stop"),
  succeeded: async () => await ended(() => puppet.last.returns(1)),
  failed: async () => await ended(() => puppet.last.throws(new Error("boom"))),
  stopped: async () => {
    const id = await WAYS.queued();
    await controller.stop(id);
    return id;
  },
  cancelled: async () => {
    const id = await WAYS.queued();
    await controller.cancel(id);
    return id;
  },
  skipped: async () => await node("never"),
  "lost, its body over": async () => {
    const id = await submit("subject");
    void controller.stop(id, { grace: 0 });
    await clock.advance(0);
    puppet.last.returns("late");
    await clock.advance(0);
    return id;
  },
};

async function ask(id: string, verb: Verb): Promise<unknown> {
  return verb === "reset" ? await controller.reset(id, { confirm: true }) : await controller[verb](id);
}

/** The version at which a verb finds the task: of one whose start is being written it is ahead of the store. */
async function versionOf(id: string, row: Row): Promise<number> {
  return row === "starting" ? 2 : (await controller.get(id)).statusVersion;
}

describe.each(ROWS)("a task that is %s", (row) => {
  test.each(VERBS)("%s", async (verb) => {
    const expected = TABLE[row][VERBS.indexOf(verb)] ?? "?";
    const id = await WAYS[row]();
    const version = await versionOf(id, row);
    expect((await controller.can(id, verb)).allowed).toBe(expected !== "✗");

    const answer = ask(id, verb).then(
      () => null,
      (error: unknown) => error,
    );
    // A verb may be waiting for an end that does not come here: its steps are what counts.
    let soon: unknown = "waits";
    void answer.then((settled) => (soon = settled));
    await clock.advance(0);
    barrier?.release();
    await clock.advance(0);
    const steps = (await controller.history(id)).filter(({ statusVersion, trigger }) => statusVersion > version && trigger === `user:${verb}`);
    expect(steps.map(({ to }) => to).join(" ")).toBe(/[=✗]/.test(expected) ? "" : expected);

    if (expected !== "✗") {
      expect([null, "waits"]).toContain(soon);
      return;
    }
    const refusal = await answer;
    expect(refusal).toBeInstanceOf(InvalidTransition);
    expect(refusal).toMatchObject({ current: statusOf(row), requested: verb });
    const allowed = VERBS.filter((_verb, index) => !["=", "✗"].includes(TABLE[row][index] ?? ""));
    expect((refusal as InvalidTransition).allowed.filter((name) => (VERBS as readonly string[]).includes(name))).toEqual(allowed);
  });
});

function statusOf(row: Row): TaskStatus {
  return row.startsWith("paused") ? "paused" : row.startsWith("lost") ? "lost" : (row as TaskStatus);
}

describe("what a verb answers with", () => {
  test.each([
    ["stop", "stopped"],
    ["cancel", "cancelled"],
  ] as const)("%s resolves with the end, and not before", async (verb, status) => {
    const id = await submit("listening");
    let over = false;
    const halted = controller[verb](id).then((snapshot) => {
      over = true;
      return snapshot.status;
    });
    await clock.advance(5);
    expect([over, (await controller.get(id)).status]).toEqual([false, "stopping"]);
    await clock.advance(5);
    expect(await halted).toBe(status);
  });

  test("stop and cancel together: the first wish stays, and both get the same end", async () => {
    const id = await submit("listening");
    const both = Promise.all([controller.cancel(id, { reason: "no longer needed" }), controller.stop(id)]);
    await clock.advance(10);
    expect((await both).map(({ status }) => status)).toEqual(["cancelled", "cancelled"]);
  });

  test("a second stop with a shorter grace tightens the deadline; a longer one does not move it", async () => {
    const id = await submit("subject");
    const stops = [controller.stop(id, { grace: "1m" })];
    await clock.advance("1s");
    stops.push(controller.stop(id, { grace: "2s" }), controller.stop(id, { grace: "1h" }));
    await clock.advance(1_999);
    expect((await controller.get(id)).status).toBe("stopping");
    await clock.advance(1);
    expect((await Promise.all(stops)).map(({ status }) => status)).toEqual(["lost", "lost", "lost"]);
  });

  test("who asked and why is on the record", async () => {
    const id = await submit("subject");
    await submit("subject");
    void controller.stop(id, { actor: "ada", reason: "too slow", grace: 0 });
    await clock.advance(0);
    expect((await controller.history(id)).find(({ to }) => to === "stopping")).toMatchObject({ actor: "ada", reason: "too slow", trigger: "user:stop" });
  });

  test("retry of a failed task grants one attempt more, on the record", async () => {
    const id = await WAYS.failed();
    expect(await controller.retry(id)).toMatchObject({ status: "queued", attempt: 1, maxAttempts: 2, failure: null });
    await clock.advance(0);
    puppet.last.returns("second");
    await clock.advance(0);
    expect(await controller.get(id)).toMatchObject({ status: "succeeded", attempt: 2, outcome: "second" });
    expect((await controller.attempts(id)).map(({ endedAs }) => endedAs)).toEqual(["failed", "succeeded"]);
  });

  test("two retries of an ended task at once are one: both get it, and it runs once", async () => {
    const id = await WAYS.failed();
    const both = await Promise.all([controller.retry(id), controller.retry(id)]);
    expect(both.map(({ status, maxAttempts }) => [status, maxAttempts])).toEqual([
      ["queued", 2],
      ["queued", 2],
    ]);
    await clock.advance(0);
    expect(puppet.calls).toHaveLength(2);
    expect((await controller.history(id)).filter(({ trigger }) => trigger === "user:retry")).toHaveLength(1);
  });

  test("resume of a task that was paused in its backoff keeps the instant its next attempt is due", async () => {
    const id = await WAYS["paused in its backoff"]();
    const { availableAt } = await controller.get(id);
    await clock.advance("30m");
    expect(await controller.resume(id)).toMatchObject({ status: "queued", availableAt });
    await clock.advance(30 * 60_000 - 1);
    expect((await controller.attempts(id)).length).toBe(1);
    await clock.advance(1);
    expect((await controller.attempts(id)).length).toBe(2);
  });
});

describe("an inline task", () => {
  test("cannot be paused while it runs: can() and the refusal say why, and nothing has changed", async () => {
    const id = await submit("inline");
    const { statusVersion } = await controller.get(id);
    expect(await controller.can(id, "pause")).toEqual({ allowed: false, reason: expect.stringContaining("inline") });
    await expect(controller.pause(id)).rejects.toThrow(/inline/);
    expect(await controller.get(id)).toMatchObject({ status: "running", statusVersion, requestedAction: null });
    expect((await controller.can(id, "stop")).allowed).toBe(true);
  });

  test("can be paused while it waits in the queue", async () => {
    await submit("subject");
    const id = await submit("inline");
    expect(await controller.can(id, "pause")).toEqual({ allowed: true, reason: null });
    expect(await controller.pause(id)).toBe(true);
  });
});

test("a node that waits for its upstream is not started by hand: its body never runs before its turn", async () => {
  const id = await node("second");
  expect(await controller.start(id)).toMatchObject({ status: "blocked" });
  await clock.advance("1h");
  expect((await controller.get(id)).status).toBe("blocked");
});
