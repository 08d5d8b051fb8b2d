import { allSettled, constant, Controller, definePipeline, failFast, quorum, task } from "../../src/index.ts";
import type { AggregationPolicy, Failure, Join, PipelineBuilder, PipelineNode, RunHandle, Task, TaskContext, TaskEvent } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { reads, sumOf, TAGS, valueOf } from "./dag-plan.ts";
import type { NodeScript, Policy, Value } from "./dag-plan.ts";
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
  /** How many items of each map have not returned yet. */
  readonly itemsLeft: Map<string, number>;
}

type Node = PipelineNode<string, number | readonly (number | Failure)[]>;

type Up = (node: Node) => number | readonly (number | Failure)[] | undefined;

/** What a body is called with. */
interface Call {
  readonly plan: number;
  readonly node: string;
  readonly sum: number;
  /** Which item of a map; `null`: it is none. */
  readonly item: number | null;
}

type Body = Task<string, [call: Call], number>;

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
  readonly #live = new Map<string, NodeScript>();
  /** Every task of each run that was made, items of maps included. */
  readonly #made = new Map<string, string[]>();
  readonly #bodies = new Map<string, Body>();
  #controller: Controller | null = null;
  #listening: Promise<void> = Promise.resolve();

  constructor(limits: Limits, plans: readonly Plan[]) {
    this.#limits = limits;
    this.plans = plans;
    this.#acts = plans.map((plan) => ({
      plan,
      scripts: new Map(plan.scripts.map((script) => [script.name, script])),
      returned: new Set(),
      itemsLeft: new Map(),
    }));
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

  /** How often a body of that node was called, of all its items. */
  bodiesOf(plan: number, node: string): number {
    return this.#bodyCounts.get(`${plan}/${node}`) ?? 0;
  }

  /** Every task of the run, items of maps included. */
  tasksOf(run: RunHandle): readonly string[] {
    return this.#made.get(run.id) ?? run.graph().map(({ taskId }) => taskId);
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
    for await (const event of controller.events({ limit: 1_000_000 })) {
      this.events.push(event);
      if (event.type !== "TaskCreated" || event.pipelineRunId === null) continue;
      const made = this.#made.get(event.pipelineRunId) ?? [];
      this.#made.set(event.pipelineRunId, made);
      made.push(event.taskId);
    }
  }

  #build(p: PipelineBuilder, number: number, { scripts }: Act): void {
    const made = new Map<string, Node>();
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

  #add(p: PipelineBuilder, number: number, script: NodeScript, made: ReadonlyMap<string, Node>): Node {
    const deps = script.deps.flatMap((dep) => made.get(dep) ?? []);
    const sumUp = (up: Up): number => (reads(script) ? sumOf(deps.map((dep) => valueIn(up(dep)))) : 0);
    const { name, join, onUpstreamFailure, maxAttempts } = script;
    const retry = { maxAttempts, backoff: constant({ delay: BACKOFF_MS, jitter: "none" as const }) };
    const timeout = script.fails === "outlasts" ? { attempt: ATTEMPT_TIMEOUT_MS } : {};
    const options = { name, deps, join, onUpstreamFailure, retry, timeout };
    const when = (up: Up): boolean => script.condition === "none" || isTrue(script, sumUp(up));
    const condition = script.condition === "none" ? {} : { when };
    const callsOf = (up: Up, items: readonly (number | null)[]): readonly Call[] => {
      if (script.argsThrow) throw new Error("no arguments");
      return items.map((item) => ({ plan: number, node: name, sum: sumUp(up) + (item ?? 0), item }));
    };
    const body = this.#bodyOf(script);
    if (script.map === null) {
      const args = (up: Up): readonly [Call] => [callsOf(up, [null])[0] ?? { plan: number, node: name, sum: 0, item: null }];
      return p.add<string, [call: Call], number, readonly Node[], Join, string>(body, { ...options, ...condition, args });
    }
    const { items: count, maxParallel, failedItems } = script.map;
    const items = (up: Up): readonly Call[] => callsOf(up, [...Array(count).keys()]);
    const limit = maxParallel === null ? {} : { maxParallel };
    return p.map<string, [call: Call], number, readonly Node[], Join, string, "fail" | "keep">(body, {
      ...options,
      ...condition,
      ...limit,
      items,
      failedItems,
    });
  }

  #bodyOf({ tags, executor }: NodeScript): Body {
    const name = [executor, ...tags].join("-");
    const found = this.#bodies.get(name);
    if (found !== undefined) return found;
    const body = task({ name, tags, executor }, async (ctx, call: Call) => await this.#act(ctx, call));
    this.#bodies.set(name, body);
    return body;
  }

  async #act(ctx: TaskContext, call: Call): Promise<number> {
    const { plan, node, item, sum } = call;
    const act = this.#acts[plan];
    const script = act?.scripts.get(node);
    if (act === undefined || script === undefined) throw new Error(`no node ${node}`);
    const place = `${plan}/${node}[${item}]`;
    this.#begin(ctx, { act, script, place, node: `${plan}/${node}` });
    try {
      await this.#pace(ctx, script);
      const isBad = item !== null && script.map?.bad.includes(item) === true;
      if (ctx.attempt <= script.failures || isBad) await this.#fail(ctx, script);
      this.#return(act, script);
      return valueOf(sum);
    } finally {
      this.#live.delete(place);
    }
  }

  /** A map has returned with the last of its items. */
  #return({ returned, itemsLeft }: Act, { name, map }: NodeScript): void {
    const left = (itemsLeft.get(name) ?? map?.items ?? 1) - 1;
    itemsLeft.set(name, left);
    if (left <= 0) returned.add(name);
  }

  #begin(
    ctx: TaskContext,
    { act, script, place, node }: { readonly act: Act; readonly script: NodeScript; readonly place: string; readonly node: string },
  ): void {
    const key = `${ctx.taskId}:${ctx.attempt}:${ctx.fencingToken}`;
    if (this.#begun.has(key)) this.wrong.push(`attempt ${ctx.attempt} of ${place} was begun twice`);
    this.#begun.add(key);
    this.#bodyCounts.set(node, (this.#bodyCounts.get(node) ?? 0) + 1);
    if (this.#live.has(place)) this.wrong.push(`${place} was begun while it ran`);
    this.#live.set(place, script);
    this.#measure(script);
    if (!this.isMeddledWith) this.#lookUp(act, script);
  }

  #measure(script: NodeScript): void {
    // Bodies that were given up on have lost their slot, and keep their tags.
    const left = this.controller.orphans.length;
    const count = this.#live.size - left;
    this.peak = Math.max(this.peak, count);
    if (count > this.#limits.maxParallel) this.wrong.push(`${count} bodies run at once`);
    const live = [...this.#live.values()];
    for (const tag of TAGS) {
      const tagged = live.filter(({ tags }) => tags.includes(tag)).length;
      if (tagged > (this.#limits.tags[tag] ?? Infinity)) this.wrong.push(`${tagged} bodies tagged "${tag}" run at once`);
    }
    const items = live.filter((each) => each === script).length;
    if (items - left > (script.map?.maxParallel ?? Infinity)) this.wrong.push(`${items} items of ${script.name} run at once`);
  }

  /** It begins only after those it needs have returned. */
  #lookUp({ returned, scripts }: Act, { name, join, deps }: NodeScript): void {
    const isEmpty = (dep: string): boolean => (scripts.get(dep)?.map?.items ?? 1) === 0;
    // A map that keeps failures may succeed though none of its items has returned.
    const isKept = (dep: string): boolean => scripts.get(dep)?.map?.failedItems === "keep";
    const back = deps.filter((dep) => returned.has(dep) || isEmpty(dep) || isKept(dep)).length;
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

function valueIn(value: ReturnType<Up>): Value {
  return typeof value === "object" ? value.map((each) => (typeof each === "number" ? each : 0)) : value;
}

function isTrue(script: NodeScript, sum: number): boolean {
  if (script.condition === "throws") throw new Error("no condition");
  return script.condition === "true" || (script.condition === "odd" && (sum % 2 === 1 || !reads(script)));
}
