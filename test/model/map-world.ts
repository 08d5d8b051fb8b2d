import { constant, Controller, definePipeline, task, TaskError } from "../../src/index.ts";
import type { AggregationPolicy, FailedItems, PipelineBuilder, PipelineNode, RunHandle, TaskSnapshot } from "../../src/index.ts";
import { validateSnapshot } from "../../src/core/snapshot-rules.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { pick, randomNodes } from "../core/graph-model.ts";
import type { Shape } from "../core/graph-model.ts";

/** How a node of the random pipeline behaves; a node that is no map has one item. */
export interface MapScript extends NodeSpec {
  /** How often each item fails before it succeeds. */
  readonly failures: readonly number[];
  readonly maxAttempts: number;
  readonly maxParallel: number | null;
  readonly failedItems: FailedItems;
  readonly ms: number;
  readonly condition: boolean;
  readonly itemsThrow: boolean;
}

/** A random graph in which nearly half of the nodes are maps. */
export function randomMaps({ shape, count, badness }: { readonly shape: Shape; readonly count: number; readonly badness: number }, random: () => number) {
  return randomNodes(shape, count, random).map((spec): MapScript => {
    const kind = random() < 0.45 ? "map" : "task";
    const size = kind === "task" ? 1 : pick([0, 1, 2, 3, 8, 20], random);
    return {
      ...spec,
      kind,
      failures: Array.from({ length: size }, () => (random() < 0.15 * badness ? pick([1, 1, 2, 3], random) : 0)),
      maxAttempts: pick([1, 2, 3], random),
      maxParallel: pick([null, 1, 2, 5], random),
      failedItems: random() < 0.3 ? "keep" : "fail",
      ms: pick([0, 0, 1, 5], random),
      condition: random() >= 0.1 * badness,
      itemsThrow: random() < 0.03 * badness,
    };
  });
}

interface Work {
  readonly node: string;
  readonly index: number;
}

type Status = "succeeded" | "failed" | "skipped" | "cancelled";

/** How a node is to end where nobody interferes and nothing is cut short: from the wiring alone. */
export function foretellMaps(scripts: readonly MapScript[]): ReadonlyMap<string, Status> {
  const byName = new Map(scripts.map((script) => [script.name, script]));
  const told = new Map<string, Status>();
  const tell = (script: MapScript): Status => {
    const known = told.get(script.name);
    if (known !== undefined) return known;
    const ups = script.deps.flatMap((dep) => byName.get(dep) ?? []).map(tell);
    const status = endOf(script, ups);
    told.set(script.name, status);
    return status;
  };
  for (const script of scripts) tell(script);
  return told;
}

function endOf(script: MapScript, ups: readonly Status[]): Status {
  const { join, deps, kind, failedItems } = script;
  const [good, bad, skipped] = [ups.includes("succeeded"), ups.some((up) => up === "failed" || up === "cancelled"), ups.includes("skipped")];
  const isMet = deps.length === 0 || join === "all_done" || (join === "any_succeeded" ? good : !bad && (join === "none_failed" || !skipped));
  if (!isMet) return bad && script.onUpstreamFailure === "cancel" ? "cancelled" : "skipped";
  if (!script.condition) return "skipped";
  if (script.itemsThrow) return "failed";
  const isBroken = script.failures.some((failures) => failures >= script.maxAttempts);
  return isBroken && (kind === "task" || failedItems === "fail") ? "failed" : "succeeded";
}

/** A random pipeline with maps through a controller; every body looks around itself. */
export class MapWorld {
  readonly clock = new FakeClock();
  readonly wrong: string[] = [];
  readonly #scripts: ReadonlyMap<string, MapScript>;
  readonly #policy: AggregationPolicy;
  readonly #maxParallel: number;
  /** Bodies that run, by node; and of all. */
  readonly #live = new Map<string, number>();
  readonly #bodies = new Map<string, number>();
  #controller: Controller | null = null;
  #run: RunHandle | null = null;
  #asked: { readonly what: string; isSettled: boolean }[] = [];

  constructor(scripts: readonly MapScript[], { policy, maxParallel }: { readonly policy: AggregationPolicy; readonly maxParallel: number }) {
    this.#scripts = new Map(scripts.map((script) => [script.name, script]));
    this.#policy = policy;
    this.#maxParallel = maxParallel;
  }

  get controller(): Controller {
    if (this.#controller === null) throw new Error("the world is not open");
    return this.#controller;
  }

  get run(): RunHandle {
    if (this.#run === null) throw new Error("the world is not open");
    return this.#run;
  }

  async open(): Promise<void> {
    const pipeline = definePipeline("maps", { onFailure: this.#policy }, (p) => this.#build(p));
    this.#controller = await Controller.open({
      clock: this.clock,
      random: () => 0.5,
      pipelines: [pipeline],
      concurrency: { maxParallel: this.#maxParallel },
    });
    this.#run = await this.controller.startRun(pipeline);
  }

  /** Nobody knows what people did: only what must hold in any case. */
  async audit(): Promise<readonly string[]> {
    const wrong = [...this.wrong, ...this.#asked.flatMap(({ what, isSettled }) => (isSettled ? [] : [`never answered: ${what}`]))];
    const { status } = await this.run.snapshot();
    if (!["succeeded", "failed", "stopped", "cancelled"].includes(status)) wrong.push(`the run stands still: it is ${status}`);
    for (const snapshot of await this.#all()) {
      wrong.push(...validateSnapshot(snapshot).map((rule) => `${snapshot.node}: ${rule}`));
      if (snapshot.endedAt === null) wrong.push(`${snapshot.node} is left ${snapshot.status}`);
      const history = await this.controller.history(snapshot.taskId);
      for (const [index, step] of history.entries()) {
        const before = history[index - 1];
        if (before !== undefined && before.to !== step.from) wrong.push(`${snapshot.node}: ${step.from} follows ${before.to}`);
      }
    }
    for (const map of this.run.summary().maps) {
      const items = this.run.items(map.node);
      if (items.length !== map.total) wrong.push(`${map.node} has ${items.length} items and counts ${map.total}`);
      for (const [index, { name }] of items.entries()) if (name !== `${map.node}[${index}]`) wrong.push(`${name} stands at ${index}`);
    }
    return wrong;
  }

  /** Where nobody has interfered and nothing was cut short: each node and each item as foretold, each body as often. */
  async auditForetold(): Promise<readonly string[]> {
    const wrong = [...(await this.audit())];
    const told = foretellMaps([...this.#scripts.values()]);
    for (const { name, status, taskId } of this.run.graph()) {
      const script = this.#scripts.get(name);
      if (script === undefined || status !== told.get(name)) {
        wrong.push(`${name} ended ${status} instead of ${told.get(name)}`);
        continue;
      }
      const runs = !script.itemsThrow && (await this.controller.history(taskId)).some(({ to }) => to === "running");
      for (const [index, failures] of script.failures.entries()) {
        const bodies = this.#bodies.get(`${name}/${index}`) ?? 0;
        const expected = runs ? Math.min(failures + 1, script.maxAttempts) : 0;
        if (bodies !== expected) wrong.push(`${name}[${index}] ran ${bodies} times instead of ${expected}`);
      }
      if (script.kind === "map" && status === "succeeded") wrong.push(...wrongResults(script, await this.controller.get(taskId)));
    }
    return wrong;
  }

  /** Somebody wants something of any task, or now and then of the run. */
  ask(random: () => number): void {
    const { controller, run } = this;
    if (random() < 0.08) return this.#ask("of the run", random() < 0.5 ? run.pause({ timeout: pick([1, 30_000], random) }) : run.resume());
    const maps = run.summary().maps.map(({ node }) => node);
    const items = maps.length === 0 ? [] : run.items(pick(maps, random));
    const nodes = run.graph();
    const taskId = pick(items.length > 0 && random() < 0.5 ? items : nodes, random).taskId;
    const verb = pick(["pause", "pause", "resume", "resume", "stop", "cancel", "skip", "skip", "retry", "retry", "start", "reset", "force"] as const, random);
    const what = `${verb} of ${taskId}`;
    switch (verb) {
      case "pause":
        return this.#ask(what, controller.pause(taskId, { timeout: pick([1, 10, 30_000], random) }));
      case "stop":
      case "cancel":
        return this.#ask(what, controller[verb](taskId, { grace: pick([0, 5, 10_000], random) }));
      case "skip":
        return this.#ask(what, controller.skip(taskId, random() < 0.5 ? { outcome: 1 } : {}));
      case "reset":
        return this.#ask(what, controller.reset(taskId, { confirm: true }));
      case "force": {
        const to = pick(["succeeded", "failed", "queued", "cancelled"] as const, random);
        return this.#ask(`${what} to ${to}`, controller.forceTransition(taskId, to, { actor: "ada", reason: "by chance" }));
      }
      case "resume":
      case "retry":
      case "start":
        return this.#ask(what, controller[verb](taskId));
    }
  }

  /** Nothing stays in anybody's hands. */
  async letGo(): Promise<void> {
    for (let round = 0; round < 20; round += 1) {
      await this.clock.advance("1m");
      if ((await this.run.snapshot()).status.startsWith("paus")) this.#ask("resume of the run", this.run.resume());
      for (const { taskId, status } of await this.#all()) {
        if (status === "paused") this.#ask(`resume of ${taskId}`, this.controller.resume(taskId));
        if (status === "pending") this.#ask(`start of ${taskId}`, this.controller.start(taskId));
      }
    }
    await this.clock.advance("1m");
  }

  /** What did not succeed runs again; nobody interferes any more. */
  async again(): Promise<void> {
    this.#ask("retry of the run", this.run.retry());
    await this.letGo();
  }

  async close(): Promise<void> {
    const closed = this.controller.close({ grace: 0 });
    await this.clock.advance("1m");
    await closed;
    if (this.clock.pendingTimers > 0) this.wrong.push(`${this.clock.pendingTimers} timers are left`);
  }

  #ask(what: string, promise: Promise<unknown>): void {
    const asked = { what, isSettled: false };
    this.#asked.push(asked);
    promise.then(
      () => (asked.isSettled = true),
      (error: unknown) => {
        asked.isSettled = true;
        if (!(error instanceof TaskError) || error.code === "INTERNAL" || error.code === "STORE") this.wrong.push(`${what}: ${String(error)}`);
      },
    );
  }

  async #all(): Promise<readonly TaskSnapshot[]> {
    const all: TaskSnapshot[] = [];
    for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
      const page: Awaited<ReturnType<Controller["list"]>> = await this.controller.list({
        pipelineRunId: this.run.id,
        limit: 1_000,
        ...(cursor === null ? {} : { cursor }),
      });
      all.push(...page.items);
      cursor = page.cursor;
    }
    return all;
  }

  #build(p: PipelineBuilder): void {
    const made = new Map<string, PipelineNode<string, unknown>>();
    const waiting = [...this.#scripts.keys()];
    for (let name = waiting.at(-1); name !== undefined; name = waiting.at(-1)) {
      const script = this.#scripts.get(name);
      const open = script?.deps.filter((dep) => !made.has(dep)) ?? [];
      if (open.length > 0) waiting.push(...open);
      else waiting.pop();
      if (open.length === 0 && script !== undefined && !made.has(name)) made.set(name, this.#add(p, script, made));
    }
  }

  #add(p: PipelineBuilder, script: MapScript, made: ReadonlyMap<string, PipelineNode<string, unknown>>): PipelineNode<string, unknown> {
    const { name, join, onUpstreamFailure, maxAttempts, maxParallel, failedItems } = script;
    const deps = script.deps.flatMap((dep) => made.get(dep) ?? []);
    const body = task({ name: `body-${name}` }, async (ctx, { node, index }: Work) => {
      this.#enter(script, index);
      try {
        for (let left = script.ms; left > 0; left -= 1) {
          await ctx.checkpoint();
          await new Promise<void>((resolve) => void this.clock.setTimer(1, resolve));
        }
        if (ctx.attempt <= (script.failures[index] ?? 0)) throw new Error(`${node}[${index}] was told to`);
        return index * 2;
      } finally {
        this.#live.set(name, (this.#live.get(name) ?? 0) - 1);
      }
    });
    const retry = { maxAttempts, backoff: constant({ delay: 30, jitter: "none" as const }) };
    const options = { name, deps, join, onUpstreamFailure, retry, when: () => script.condition };
    const list = (): readonly Work[] => {
      if (script.itemsThrow) throw new Error("no items");
      return script.failures.map((_failures, index) => ({ node: name, index }));
    };
    if (script.kind === "map") return p.map(body, { ...options, items: list, failedItems, ...(maxParallel === null ? {} : { maxParallel }) });
    return p.add(body, { ...options, args: () => [list()[0] ?? { node: name, index: 0 }] });
  }

  #enter({ name, maxParallel }: MapScript, index: number): void {
    const live = (this.#live.get(name) ?? 0) + 1;
    this.#live.set(name, live);
    this.#bodies.set(`${name}/${index}`, (this.#bodies.get(`${name}/${index}`) ?? 0) + 1);
    if (maxParallel !== null && live > maxParallel && !this.isMeddledWith) this.wrong.push(`${live} items of ${name} run at once, not ${maxParallel}`);
    const all = this.#live.values().reduce((sum, count) => sum + count, 0);
    if (all > this.#maxParallel && !this.isMeddledWith) this.wrong.push(`${all} bodies run at once`);
  }

  /** A body that was given up on or forced away may run beside the next. */
  isMeddledWith = false;
}

function wrongResults({ name, failures, maxAttempts }: MapScript, { outcome }: TaskSnapshot): readonly string[] {
  const results: readonly unknown[] = Array.isArray(outcome) ? outcome : [];
  const right = failures.map((count, index) => (count >= maxAttempts ? "a failure" : index * 2));
  const found = results.map((result) => (typeof result === "number" ? result : "a failure"));
  return found.join() === right.join() && Array.isArray(outcome) ? [] : [`${name} gave ${found.join()} instead of ${right.join()}`];
}
