import { allSettled, constant, Controller, definePipeline, failFast, quorum, task } from "../../src/index.ts";
import type { AggregationPolicy, PipelineBuilder, PipelineNode, RunHandle, Task, TaskContext, TaskEvent } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { reads, TAGS, valueOf } from "./dag-plan.ts";
import type { NodeScript, Policy } from "./dag-plan.ts";
import type { Limits } from "./dispatch-audit.ts";

/** Beyond what any body takes by itself. */
const ATTEMPT_TIMEOUT_MS = 50;
const BACKOFF_MS = 30;

/** A pipeline that is to run. */
export interface Plan {
  readonly scripts: readonly NodeScript[];
  readonly policy: Policy;
  readonly priority: number;
}

/** A plan at work. */
interface Act {
  readonly plan: Plan;
  readonly scripts: ReadonlyMap<string, NodeScript>;
  /** The nodes whose bodies returned. */
  readonly returned: Set<string>;
}

type Up = (node: PipelineNode<string, number>) => number | undefined;

type Body = Task<string, [plan: number, node: string, sum: number], number>;

/** Random pipelines through a controller: every body looks around itself and writes down what it should not see. */
export class DagWorld {
  readonly clock = new FakeClock();
  readonly wrong: string[] = [];
  readonly events: TaskEvent[] = [];
  readonly runs: RunHandle[] = [];
  /** The most bodies that ran at one instant. */
  peak = 0;
  readonly plans: readonly Plan[];
  /** Somebody skips, retries and resets nodes: what returned before says nothing any more. */
  isMeddledWith = false;
  readonly #limits: Limits;
  readonly #acts: readonly Act[];
  readonly #bodyCounts = new Map<string, number>();
  /** Each attempt that was begun; its token tells it from one of the same number before a reset. */
  readonly #begun = new Set<string>();
  readonly #live = new Set<NodeScript>();
  readonly #bodies = new Map<string, Body>();
  #controller: Controller | null = null;
  #listening: Promise<void> = Promise.resolve();

  constructor(limits: Limits, plans: readonly Plan[]) {
    this.#limits = limits;
    this.plans = plans;
    this.#acts = plans.map((plan) => ({ plan, scripts: new Map(plan.scripts.map((script) => [script.name, script])), returned: new Set() }));
  }

  get controller(): Controller {
    if (this.#controller === null) throw new Error("the world is not open");
    return this.#controller;
  }

  /** Opens the controller and starts every run. */
  async open(): Promise<void> {
    const pipelines = this.#acts.map((act, number) =>
      definePipeline(`plan-${number}`, { onFailure: policyOf(act.plan.policy) }, (p) => this.#build(p, number, act)),
    );
    const concurrency = { maxParallel: this.#limits.maxParallel, limits: this.#limits.tags };
    this.#controller = await Controller.open({ clock: this.clock, random: () => 0.5, pipelines, concurrency });
    this.#listening = this.#listen(this.#controller);
    for (const [number, { plan }] of this.#acts.entries()) {
      const { priority } = plan;
      this.runs.push(await this.controller.startRun(`plan-${number}`, [], { priority }));
    }
  }

  /** How often a body of that task was called. */
  bodiesOf(taskId: string): number {
    return this.#bodyCounts.get(taskId) ?? 0;
  }

  async close(): Promise<void> {
    const closed = this.controller.close({ grace: 0 });
    await this.clock.advance("1m");
    await closed;
    await this.#listening;
    if (this.#live.size > 0) this.wrong.push(`${this.#live.size} bodies are left`);
    if (this.clock.pendingTimers > 0) this.wrong.push(`${this.clock.pendingTimers} timers are left`);
  }

  async #listen(controller: Controller): Promise<void> {
    for await (const event of controller.events({ limit: 1_000_000 })) this.events.push(event);
  }

  #build(p: PipelineBuilder, number: number, { scripts }: Act): void {
    const made = new Map<string, PipelineNode<string, number>>();
    // A node can only be added once those above it are: they stand in any order.
    const waiting = [...scripts.keys()];
    for (let name = waiting.at(-1); name !== undefined; name = waiting.at(-1)) {
      const script = scripts.get(name);
      const open = script?.deps.filter((dep) => !made.has(dep)) ?? [];
      if (open.length > 0) waiting.push(...open);
      else waiting.pop();
      if (open.length === 0 && script !== undefined && !made.has(name)) made.set(name, this.#add(p, number, script, made));
    }
  }

  #add(p: PipelineBuilder, number: number, script: NodeScript, made: ReadonlyMap<string, PipelineNode<string, number>>): PipelineNode<string, number> {
    const deps = script.deps.flatMap((dep) => made.get(dep) ?? []);
    const sumOf = (up: Up): number => (reads(script) ? deps.reduce((sum, dep) => sum + (up(dep) ?? 0), 0) : 0);
    const { name, join, onUpstreamFailure, maxAttempts } = script;
    const retry = { maxAttempts, backoff: constant({ delay: BACKOFF_MS, jitter: "none" as const }) };
    const timeout = script.fails === "outlasts" ? { attempt: ATTEMPT_TIMEOUT_MS } : {};
    const args = (up: Up): readonly [number, string, number] => {
      if (script.argsThrow) throw new Error("no arguments");
      return [number, name, sumOf(up)];
    };
    const options = { name, deps, join, onUpstreamFailure, retry, timeout, args };
    const body = this.#bodyOf(script);
    return script.condition === "none" ? p.add(body, options) : p.add(body, { ...options, when: (up: Up) => isTrue(script, sumOf(up)) });
  }

  #bodyOf({ tags, executor }: NodeScript): Body {
    const name = [executor, ...tags].join("-");
    const found = this.#bodies.get(name);
    if (found !== undefined) return found;
    const body = task({ name, tags, executor }, async (ctx, plan: number, node: string, sum: number) => await this.#act(ctx, plan, node, sum));
    this.#bodies.set(name, body);
    return body;
  }

  async #act(ctx: TaskContext, plan: number, node: string, sum: number): Promise<number> {
    const act = this.#acts[plan];
    const script = act?.scripts.get(node);
    if (act === undefined || script === undefined) throw new Error(`no node ${node}`);
    this.#begin(ctx, act, script);
    try {
      await this.#pace(ctx, script);
      if (ctx.attempt <= script.failures) await this.#fail(ctx, script);
      act.returned.add(node);
      return valueOf(sum);
    } finally {
      this.#live.delete(script);
    }
  }

  #begin(ctx: TaskContext, act: Act, script: NodeScript): void {
    const key = `${ctx.taskId}:${ctx.attempt}:${ctx.fencingToken}`;
    if (this.#begun.has(key)) this.wrong.push(`attempt ${ctx.attempt} of ${script.name} was begun twice`);
    this.#begun.add(key);
    this.#bodyCounts.set(ctx.taskId, this.bodiesOf(ctx.taskId) + 1);
    if (this.#live.has(script)) this.wrong.push(`${script.name} was begun while it ran`);
    this.#live.add(script);
    // Bodies that were given up on have lost their slot, and keep their tags.
    const count = this.#live.size - this.controller.orphans.length;
    this.peak = Math.max(this.peak, count);
    if (count > this.#limits.maxParallel) this.wrong.push(`${count} bodies run at once`);
    for (const tag of TAGS) {
      const tagged = [...this.#live].filter(({ tags }) => tags.includes(tag)).length;
      if (tagged > (this.#limits.tags[tag] ?? Infinity)) this.wrong.push(`${tagged} bodies tagged "${tag}" run at once`);
    }
    if (!this.isMeddledWith) this.#lookUp(act, script);
  }

  /** It begins only after those it needs have returned. */
  #lookUp({ returned }: Act, { name, join, deps }: NodeScript): void {
    const back = deps.filter((dep) => returned.has(dep)).length;
    if (join === "all_succeeded" && back < deps.length) this.wrong.push(`${name} began when ${back} of its ${deps.length} upstreams had returned`);
    if (join === "any_succeeded" && back === 0 && deps.length > 0) this.wrong.push(`${name} began when none of its upstreams had returned`);
  }

  async #pace(ctx: TaskContext, { pace, ms }: NodeScript): Promise<void> {
    if (pace === "microtasks") for (let hop = 0; hop < ms; hop += 1) await Promise.resolve();
    if (pace === "turn") await ctx.checkpoint();
    if (pace === "sleep") await new Promise<void>((resolve) => void this.clock.setTimer(ms, resolve));
  }

  async #fail(ctx: TaskContext, script: NodeScript): Promise<void> {
    // Cut short, it has nothing to outlast.
    if (script.fails === "outlasts" && !ctx.signal.aborted)
      await new Promise<void>((resolve) => ctx.signal.addEventListener("abort", () => resolve(), { once: true }));
    throw new Error(`attempt ${ctx.attempt} of ${script.name} fails`);
  }
}

function policyOf(policy: Policy): AggregationPolicy {
  if (policy.kind === "quorum") return quorum(policy.count);
  return policy.kind === "failFast" ? failFast() : allSettled();
}

function isTrue(script: NodeScript, sum: number): boolean {
  if (script.condition === "throws") throw new Error("no condition");
  return script.condition === "true" || (script.condition === "odd" && (sum % 2 === 1 || !reads(script)));
}
