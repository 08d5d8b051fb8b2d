import { allSettled, constant, Controller, definePipeline, failFast, memoryStore, quorum, task, TaskError } from "../../src/index.ts";
import type { Join, RunHandle, Task, TaskContext, TaskEvent, TaskSnapshot, TaskStore } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { DispatchAudit } from "./dispatch-audit.ts";
import type { Claim } from "./dispatch-audit.ts";
import { brokenStory, isOccupied, isOver } from "./rules.ts";

export const TAG = "db";

const NO_CLAIM: Claim = { priority: 0, tags: [] };

/** What a body can be told to do. */
export type Order = "checkpoint" | "return" | "throw";

/** How a body is made: whether it heeds a stop by itself, and its limits. */
export interface Kind {
  readonly heeds: boolean;
  readonly tagged: boolean;
  readonly maxAttempts: number;
  readonly isTimed: boolean;
}

/** Four nodes: a, b, then c and d below both. */
export interface Shape {
  readonly kinds: readonly [Kind, Kind, Kind, Kind];
  readonly joins: readonly [Join, Join];
  readonly policy: "failFast" | "allSettled" | "quorum";
  /** The first one's condition is false. */
  readonly skipsFirst: boolean;
}

/** One call of user code. */
class Body {
  readonly ctx: TaskContext;
  readonly kind: Kind;
  isOver = false;
  /** It does what it was told, and has not come back for more. */
  isBusy = false;
  #next = Promise.withResolvers<Order>();

  constructor(ctx: TaskContext, kind: Kind) {
    this.ctx = ctx;
    this.kind = kind;
    if (kind.heeds) ctx.signal.addEventListener("abort", () => this.tell("checkpoint"));
  }

  tell(order: Order): void {
    this.#next.resolve(order);
  }

  async run(): Promise<string> {
    for (;;) {
      const order = await this.#next.promise;
      this.#next = Promise.withResolvers<Order>();
      this.isBusy = true;
      if (order === "checkpoint") await this.ctx.checkpoint();
      if (order === "return") return "a value";
      if (order === "throw") throw new Error("told to");
      this.isBusy = false;
    }
  }
}

/** A controller under observation: every body is on strings, and everything that is wrong is written down. */
export class World {
  readonly clock = new FakeClock();
  readonly wrong: string[] = [];
  readonly taskIds: string[] = [];
  readonly runs: RunHandle[] = [];
  readonly bodies: Body[] = [];
  /** Whatever was asked and may take its time: all of it has to settle in the end. */
  readonly asked: { readonly what: string; settled: boolean }[] = [];
  readonly #begun = new Set<string>();
  readonly #dispatches = new DispatchAudit({ maxParallel: 3, tags: { [TAG]: 1 } }, (taskId) => this.#claims.get(taskId) ?? NO_CLAIM);
  readonly #claims = new Map<string, Claim>();
  readonly #events: TaskEvent[] = [];
  #listening: Promise<void> = Promise.resolve();
  readonly #store: TaskStore;
  #controller: Controller | null = null;

  readonly #puppet = task({ name: "puppet" }, async (ctx, kind: Kind) => await this.#act(ctx, kind));
  readonly #timed = task({ name: "timed", timeout: { attempt: 500 } }, async (ctx, kind: Kind) => await this.#act(ctx, kind));
  // Tags are the task's own: a node names none.
  readonly #tagged = task({ name: "tagged", tags: [TAG] }, async (ctx, kind: Kind) => await this.#act(ctx, kind));

  constructor() {
    const store = memoryStore();
    const { supports, tasks, audit, runs } = store;
    // What it holds can still be looked at when the controller has closed it.
    this.#store = { supports, tasks, audit, runs, open: async () => await store.open(), close: async () => {} };
  }

  get controller(): Controller {
    if (this.#controller === null) throw new Error("the world is not open");
    return this.#controller;
  }

  async open(): Promise<void> {
    const pipelines = (["failFast", "allSettled", "quorum"] as const).map((policy) => this.#pipeline(policy));
    const tasks = [this.#puppet, this.#timed, this.#tagged];
    const { maxParallel, tags: limits } = this.#dispatches.limits;
    const concurrency = { maxParallel, limits };
    this.#controller = await Controller.open({ clock: this.clock, store: this.#store, random: () => 0.5, tasks, pipelines, concurrency });
    this.#listening = this.#listen(this.#controller);
  }

  async #listen(controller: Controller): Promise<void> {
    for await (const event of controller.events()) this.#events.push(event);
  }

  /** Other limits from now on: what is over a lowered one goes on. */
  async setLimits(maxParallel: number, tagged: number): Promise<void> {
    this.#dispatches.limits = { maxParallel, tags: { [TAG]: tagged } };
    await this.controller.setLimits({ maxParallel, limits: { [TAG]: tagged } });
  }

  /** Nothing of that name or tag is started until it is released. */
  async toggleHold(target: { readonly name: string } | { readonly tag: string }): Promise<void> {
    const { held } = this.#dispatches;
    const key = "name" in target ? `name ${target.name}` : `tag ${target.tag}`;
    if (!held.delete(key)) {
      held.add(key);
      await this.controller.hold(target);
    } else if (!(await this.controller.release(target))) this.wrong.push(`${key} was not held`);
  }

  async submit(kind: Kind, priority: number, delay: number): Promise<void> {
    const retry = retryOf(kind);
    const handle = await this.controller.submit(this.#taskOf(kind), [kind], { priority, retry, ...(delay === 0 ? {} : { delay }) });
    this.taskIds.push(handle.id);
    this.ask(`result of ${handle.id}`, handle.result());
    this.ask(`end of ${handle.id}`, handle.wait({ timeout: "none" }));
  }

  async startRun(shape: Shape): Promise<void> {
    const run = await this.controller.startRun(shape.policy, [shape]);
    this.runs.push(run);
    this.taskIds.push(...run.graph().map(({ taskId }) => taskId));
    this.ask(`end of run ${run.id}`, run.wait({ timeout: "none" }));
  }

  /** It may be refused, and it may take its time; it may not fail in any other way, or never answer. */
  ask(what: string, promise: Promise<unknown>): void {
    const entry = { what, settled: false };
    this.asked.push(entry);
    const check = (error: unknown): void => {
      entry.settled = true;
      if (!(error instanceof TaskError) || error.code === "INTERNAL" || error.code === "STORE") this.wrong.push(`${what}: ${String(error)}`);
    };
    promise.then(() => (entry.settled = true), check);
  }

  async row(taskId: string): Promise<TaskSnapshot> {
    const row = await this.#store.tasks.get(taskId);
    if (row === undefined) throw new Error(`task ${taskId} is not in the store`);
    return row;
  }

  async hasEnded(runId: string | null): Promise<boolean> {
    const run = this.runs.find(({ id }) => id === runId);
    return run !== undefined && (await run.snapshot()).endedAt !== null;
  }

  /** Looks at everything once nothing moves any more. */
  async inspect(): Promise<void> {
    await this.clock.advance(0);
    const rows = await Promise.all(this.taskIds.map(async (taskId) => await this.row(taskId)));
    for (const row of rows) this.wrong.push(...brokenStory(row, await this.#store.audit.history(row.taskId)));
    for (const { taskId, priority, tags, name, availableAt, pipelineRunId: runId } of rows)
      this.#claims.set(taskId, { priority, tags, name, availableAt, runId });
    for (const event of this.#events.splice(0)) this.#dispatches.read(event);
    this.wrong.push(...this.#dispatches.wrong.splice(0));
    this.wrong.push(...this.#dispatches.idleAt(this.clock.now()).map((taskId) => `task ${taskId} waits though a slot is free`));
    for (const run of this.runs) this.#inspectRun(run, (await run.snapshot()).status, rows);
    for (const row of rows) {
      const isRunning = this.bodies.some((body) => !body.isOver && body.ctx.taskId === row.taskId && body.ctx.attempt === row.attempt);
      if (isOccupied(row) !== isRunning && row.abandonedBy === null)
        this.wrong.push(`task ${row.taskId} is ${row.status}, its body ${isRunning ? "runs" : "does not run"}`);
    }
  }

  /** Everything ends when the controller closes, also what does not listen. */
  async close(): Promise<void> {
    const closed = this.controller.close({ grace: 100 });
    await this.clock.advance(100);
    await closed;
    await this.#listening;
    for (const taskId of this.taskIds) {
      const { status } = await this.row(taskId);
      if (!isOver(status)) this.wrong.push(`task ${taskId} is ${status} after close`);
    }
    await this.inspect();
    for (const { what, settled } of this.asked) if (!settled) this.wrong.push(`never answered: ${what}`);
    for (const body of this.bodies) body.tell("return");
    await this.clock.advance("1h");
    if (this.clock.pendingTimers > 0) this.wrong.push(`${this.clock.pendingTimers} timers are left`);
  }

  async #act(ctx: TaskContext, kind: Kind): Promise<string> {
    const key = `${ctx.taskId}:${ctx.attempt}:${ctx.fencingToken}`;
    if (this.#begun.has(key)) this.wrong.push(`attempt ${ctx.attempt} of ${ctx.taskId} was begun twice`);
    this.#begun.add(key);
    const live = this.bodies.filter(({ isOver }) => !isOver);
    const tagged = live.filter((body) => body.kind.tagged).length;
    const { maxParallel, tags } = this.#dispatches.limits;
    if (kind.tagged && tagged >= (tags[TAG] ?? 0)) this.wrong.push(`${tagged + 1} tasks tagged "${TAG}" run at once`);
    if (live.length - this.controller.orphans.length >= maxParallel) this.wrong.push(`${live.length + 1} tasks run at once`);
    const body = new Body(ctx, kind);
    this.bodies.push(body);
    try {
      return await body.run();
    } finally {
      body.isOver = true;
    }
  }

  #inspectRun(run: RunHandle, status: string, rows: readonly TaskSnapshot[]): void {
    const nodes = rows.filter(({ pipelineRunId }) => pipelineRunId === run.id);
    const isEnded = ["succeeded", "failed", "stopped", "cancelled"].includes(status);
    if (isEnded !== nodes.every((node) => isOver(node.status)))
      this.wrong.push(`run ${run.id} is ${status}, its nodes ${nodes.map((node) => node.status).join(", ")}`);
    if (!isEnded && nodes.every((node) => isOver(node.status) || node.status === "blocked"))
      this.wrong.push(`run ${run.id} stands still: ${nodes.map((node) => node.status).join(", ")}`);
    const drawn = run.graph().map((node) => node.status);
    if (drawn.join() !== nodes.map((node) => node.status).join()) this.wrong.push(`run ${run.id} draws ${drawn.join(", ")}`);
  }

  #taskOf(kind: Kind): Task<string, [kind: Kind], string> {
    if (kind.tagged) return this.#tagged;
    return kind.isTimed ? this.#timed : this.#puppet;
  }

  #pipeline(policy: Shape["policy"]) {
    const onFailure = { failFast, allSettled, quorum: () => quorum(2) }[policy]();
    return definePipeline(policy, { onFailure }, (p, { kinds: [a, b, c, d], joins, skipsFirst }: Shape) => {
      const nodeOf = (name: string, kind: Kind) => ({ name, args: [kind] as const, retry: retryOf(kind) });
      const first = p.add(this.#taskOf(a), { ...nodeOf("a", a), when: () => !skipsFirst });
      const second = p.add(this.#taskOf(b), nodeOf("b", b));
      const deps = [first, second] as const;
      p.add(this.#taskOf(c), { ...nodeOf("c", c), deps, join: joins[0] });
      p.add(this.#taskOf(d), { ...nodeOf("d", d), deps, join: joins[1], when: (up) => up(first) !== "never" });
    });
  }
}

function retryOf({ maxAttempts }: Kind) {
  return { maxAttempts, backoff: constant({ delay: 100, jitter: "none" as const }) };
}
