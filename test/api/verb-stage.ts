import { Controller, allSettled, constant, definePipeline, task } from "../../src/index.ts";
import type { RunHandle, TaskSnapshot, TaskStatus, TaskStore, Verb } from "../../src/index.ts";
import { createSnapshot } from "../../src/core/snapshot.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { FakeClock, FakeExecutor } from "../../src/testing/index.ts";
import type { FakeLaunch } from "../../src/testing/index.ts";
import { idOf } from "./run-stage.ts";

/** Of a task on its own, or of a node while its run is under way. */
export const SUBJECTS = ["task", "node"] as const;

export type Subject = (typeof SUBJECTS)[number];

export const PAUSED_IN_PLACE = "paused (in place)";
export const PAUSED_BEFORE = "paused (not started)";

/** A status; `paused` is two. */
export type Row = Exclude<TaskStatus, "paused"> | typeof PAUSED_IN_PLACE | typeof PAUSED_BEFORE;

const fake = "custom:fake" as const;
const subject = task({ name: "subject", executor: fake }, () => 1);
const flaky = task({ name: "flaky", executor: fake, retry: { maxAttempts: 2, backoff: constant({ delay: "1h", jitter: "none" }) } }, () => 1);
const occupies = task({ name: "occupies", executor: fake }, () => 1);

/** The anchor keeps the run under way; what is called "below" waits for it. */
const nodes = definePipeline("nodes", { onFailure: allSettled() }, (p, only: string) => {
  const anchor = p.add(occupies, { name: "anchor" });
  if (only === "below") p.add(subject, { name: "below", deps: [anchor] });
  else p.add(only === "flaky" ? flaky : subject, { name: only });
});

/** One slot beside the anchor's, carriers in the hands of the test: nothing happens by itself. */
export class VerbStage implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly store: TaskStore;
  readonly controller: Controller;
  readonly executor: FakeExecutor;
  readonly of: Subject;
  run: RunHandle | null = null;

  private constructor(parts: Pick<VerbStage, "clock" | "store" | "controller" | "executor" | "of">) {
    ({ clock: this.clock, store: this.store, controller: this.controller, executor: this.executor, of: this.of } = parts);
  }

  static async open(of: Subject): Promise<VerbStage> {
    const [clock, store] = [new FakeClock(), memoryStore()];
    // Without any grace a body is given up on.
    const executor = new FakeExecutor({}, { onStop: (launch, { graceMs }) => (graceMs === 0 ? launch.settle({ type: "abandoned" }) : undefined) });
    const controller = await Controller.open({
      clock,
      store,
      executors: [executor],
      tasks: [subject, flaky, occupies],
      pipelines: [nodes],
      concurrency: { maxParallel: of === "task" ? 1 : 2 },
    });
    return new VerbStage({ clock, store, controller, executor, of });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.controller.close({ grace: 0 });
    await this.clock.advance("1m");
    await closed;
  }

  async get(id: string): Promise<TaskSnapshot> {
    return await this.controller.get(id);
  }

  /** Brings a task, or a node, to that status. */
  async bring(row: Row): Promise<string> {
    const id = await this.#ways[row]();
    // From here on a task that is queued stays so.
    if (!HOLDS_SLOT.has(row)) await this.#occupy();
    return id;
  }

  async ask(id: string, verb: Verb): Promise<unknown> {
    const by = { actor: "ada", reason: "the table" };
    return verb === "reset" ? await this.controller.reset(id, { confirm: true, ...by }) : await this.controller[verb](id, by);
  }

  async #begin(name: "subject" | "flaky" | "below"): Promise<string> {
    if (this.of === "task") {
      const { id } = await this.controller.submit(name);
      await this.clock.advance(0);
      return id;
    }
    this.run = await this.controller.startRun(nodes, [name]);
    await this.clock.advance(0);
    this.executor.launches[0]?.launched();
    return idOf(this.run, name);
  }

  async #occupy(): Promise<void> {
    await this.controller.submit(occupies, [], { priority: 1 });
    await this.clock.advance(0);
  }

  get #launch(): FakeLaunch {
    return this.executor.last;
  }

  async #running(name: "subject" | "flaky" = "subject"): Promise<string> {
    const id = await this.#begin(name);
    this.#launch.launched();
    await this.clock.advance(0);
    return id;
  }

  async #queued(): Promise<string> {
    await this.#occupy();
    return await this.#begin("subject");
  }

  async #asked(id: string, verb: "pause" | "stop", options: object = {}): Promise<string> {
    this.controller[verb](id, options).catch(() => undefined);
    await this.clock.advance(0);
    return id;
  }

  async #ended(name: "subject" | "flaky", settlement: Parameters<FakeLaunch["settle"]>[0]): Promise<string> {
    const id = await this.#running(name);
    this.#launch.settle(settlement);
    await this.clock.advance(0);
    return id;
  }

  readonly #ways: Readonly<Record<Row, () => Promise<string>>> = {
    pending: async () => {
      const id = await this.#queued();
      await this.controller.reset(id, { confirm: true });
      return id;
    },
    blocked: async () => (this.of === "node" ? await this.#begin("below") : await this.#blockedTask()),
    queued: async () => await this.#queued(),
    starting: async () => await this.#begin("subject"),
    running: async () => await this.#running(),
    pausing: async () => await this.#asked(await this.#running(), "pause"),
    [PAUSED_IN_PLACE]: async () => {
      const id = await this.#asked(await this.#running(), "pause");
      this.#launch.request.reports.pauseReached();
      await this.clock.advance(0);
      return id;
    },
    [PAUSED_BEFORE]: async () => await this.#asked(await this.#queued(), "pause"),
    retry_wait: async () => await this.#ended("flaky", { type: "threw", error: new Error("no"), noticed: false }),
    stopping: async () => await this.#asked(await this.#running(), "stop", { grace: "1h" }),
    succeeded: async () => await this.#ended("subject", { type: "returned", value: 1, noticed: false }),
    failed: async () => await this.#ended("subject", { type: "threw", error: new Error("no"), noticed: false }),
    stopped: async () => await this.#asked(await this.#queued(), "stop"),
    cancelled: async () => {
      const id = await this.#queued();
      await this.controller.cancel(id);
      return id;
    },
    skipped: async () => {
      const id = await this.#queued();
      await this.controller.skip(id);
      return id;
    },
    lost: async () => {
      const id = await this.#asked(await this.#running(), "stop", { grace: 0 });
      this.#launch.settleLate({ type: "returned", value: 1, noticed: false });
      await this.clock.advance(0);
      return id;
    },
  };

  /** Only in the store: a task on its own waits for nothing, so no controller of one process ever brings it there. */
  async #blockedTask(): Promise<string> {
    const fresh = createSnapshot({ taskId: "blockedtask", name: "subject", createdAt: this.clock.now(), maxAttempts: 1 });
    await this.store.tasks.create([{ snapshot: { ...fresh, status: "blocked", statusVersion: 1 }, payload: { args: [], overrides: null }, events: [] }]);
    return fresh.taskId;
  }
}

const HOLDS_SLOT: ReadonlySet<Row> = new Set<Row>([
  "starting",
  "running",
  "pausing",
  PAUSED_IN_PLACE,
  "stopping",
  "pending",
  "queued",
  PAUSED_BEFORE,
  "stopped",
  "cancelled",
  "skipped",
]);
