/* oxlint-disable vitest/no-standalone-expect -- the stage checks what every test on it relies on */
import { expect } from "vitest";
import { Controller, constant, definePipeline, task } from "../../src/index.ts";
import type { TaskEvent, TaskSnapshot, TaskStatus } from "../../src/index.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { FaultStore } from "../runtime/support/fault-store.ts";
import type { Barrier } from "../runtime/support/fault-store.ts";
import { Puppet, polling } from "../runtime/support/puppet.ts";

/** Who forces in the tests, and why. */
export const BY = { actor: "ada", reason: "the disk was replaced" } as const;

/** Every status that a task can be brought to by what users do. */
export const ROWS = [
  "pending",
  "blocked",
  "queued",
  "starting",
  "running",
  "pausing",
  "paused in place",
  "paused in the queue",
  "paused in its backoff",
  "retry_wait",
  "stopping",
  "succeeded",
  "failed",
  "stopped",
  "cancelled",
  "skipped",
  "lost",
] as const;

export type Row = (typeof ROWS)[number];

/** One slot, one semaphore, bodies that heed nothing but the test, and everything that is said written down. */
export class ForceStage implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly store: FaultStore;
  readonly controller: Controller;
  readonly puppet: Puppet;
  readonly events: TaskEvent[] = [];
  barrier: Barrier | null = null;

  private constructor(parts: Pick<ForceStage, "clock" | "store" | "controller" | "puppet">) {
    ({ clock: this.clock, store: this.store, controller: this.controller, puppet: this.puppet } = parts);
    void this.#listen();
  }

  static async open(): Promise<ForceStage> {
    const [clock, store, puppet] = [new FakeClock(), new FaultStore(memoryStore()), new Puppet()];
    const subject = task({ name: "subject" }, (ctx) => puppet.run(ctx));
    const tagged = task({ name: "tagged", tags: ["db"] }, (ctx) => puppet.run(ctx));
    const listening = task({ name: "listening" }, (ctx) => polling(clock)(ctx));
    const flaky = task({ name: "flaky", retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } }, () => {
      throw new Error("boom");
    });
    const pair = definePipeline("pair", {}, (p) => {
      const first = p.add(subject);
      p.add(subject, { name: "second", deps: [first] });
      p.add(subject, { name: "never", when: () => false });
    });
    const controller = await Controller.open({
      store,
      clock,
      random: () => 0.5,
      tasks: [subject, tagged, listening, flaky],
      pipelines: [pair],
      concurrency: { maxParallel: 1, limits: { db: 1 } },
    });
    return new ForceStage({ clock, store, controller, puppet });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.barrier?.release();
    const closed = this.controller.close({ grace: 0 });
    await this.clock.advance("1m");
    await closed;
    expect(this.clock.pendingTimers, "timers left after close").toBe(0);
  }

  async #listen(): Promise<void> {
    for await (const event of this.controller.events()) this.events.push(event);
  }

  async submit(name: string): Promise<string> {
    const { id } = await this.controller.submit(name);
    await this.clock.advance(0);
    return id;
  }

  async node(name: string): Promise<string> {
    const run = await this.controller.startRun("pair");
    await this.clock.advance(0);
    return run.graph().find((each) => each.name === name)?.taskId ?? "";
  }

  async asked(verb: "pause" | "stop", id: string, waitMs = 0): Promise<string> {
    void this.controller[verb](id).catch(() => undefined);
    await this.clock.advance(waitMs);
    return id;
  }

  async force(id: string, to: TaskStatus, more: { readonly outcome?: unknown; readonly force?: boolean } = {}): Promise<TaskSnapshot> {
    return await this.controller.forceTransition(id, to, { ...BY, ...more });
  }

  async get(id: string): Promise<TaskSnapshot> {
    return await this.controller.get(id);
  }

  warnings(id: string): readonly string[] {
    return this.events.flatMap((event) => (event.taskId === id && event.type === "TaskWarning" ? [event.code] : []));
  }

  /** Brings a task to that status. */
  async bring(row: Row): Promise<string> {
    return await this.#ways[row]();
  }

  readonly #ways: Readonly<Record<Row, () => Promise<string>>> = {
    pending: async () => {
      const id = await this.bring("queued");
      await this.controller.reset(id, { confirm: true });
      return id;
    },
    blocked: async () => await this.node("second"),
    queued: async () => (await this.submit("subject"), await this.submit("subject")),
    starting: async () => {
      this.barrier = this.store.hold("commit");
      return await this.submit("subject");
    },
    running: async () => await this.submit("subject"),
    pausing: async () => await this.asked("pause", await this.submit("subject")),
    "paused in place": async () => await this.asked("pause", await this.submit("listening"), 10),
    "paused in the queue": async () => await this.asked("pause", await this.bring("queued")),
    retry_wait: async () => await this.submit("flaky"),
    "paused in its backoff": async () => await this.asked("pause", await this.bring("retry_wait")),
    stopping: async () => await this.asked("stop", await this.submit("subject")),
    succeeded: async () => {
      const id = await this.submit("subject");
      this.puppet.last.returns(1);
      await this.clock.advance(0);
      return id;
    },
    failed: async () => {
      const id = await this.submit("subject");
      this.puppet.last.throws(new Error("boom"));
      await this.clock.advance(0);
      return id;
    },
    stopped: async () => await this.asked("stop", await this.bring("queued")),
    cancelled: async () => {
      const id = await this.bring("queued");
      await this.controller.cancel(id);
      return id;
    },
    skipped: async () => await this.node("never"),
    lost: async () => {
      const id = await this.submit("subject");
      const stopped = this.controller.stop(id, { grace: 0 });
      await this.clock.advance(0);
      await stopped;
      this.puppet.last.returns("late");
      await this.clock.advance(0);
      return id;
    },
  };

  /** Every body ends, those that begin meanwhile included. */
  async endAll(): Promise<void> {
    for (let ended = 0; ended < this.puppet.calls.length; ended += 1) {
      this.puppet.call(ended).returns(`call ${ended}`);
      await this.clock.advance(10);
    }
    await this.clock.advance(10);
    for (let ended = 0; ended < this.puppet.calls.length; ended += 1) this.puppet.call(ended).returns();
    // One that polls and was queued again runs for ever.
    const { items } = await this.controller.list({ name: "listening", status: ["running"] });
    for (const { taskId } of items) void this.controller.stop(taskId);
    await this.clock.advance(10);
  }

  /** There is one slot: of two tasks one runs. Given back twice it would be both, never given back it would be none. */
  async expectOneSlot(): Promise<void> {
    const begun = this.puppet.calls.length;
    const ids = [await this.submit("subject"), await this.submit("subject")];
    expect(await Promise.all(ids.map(async (id) => (await this.get(id)).status))).toEqual(["running", "queued"]);
    expect(this.puppet.calls).toHaveLength(begun + 1);
  }
}
