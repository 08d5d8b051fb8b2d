import fc from "fast-check";
import { TaskError } from "../../src/index.ts";
import type { TaskSnapshot } from "../../src/index.ts";
import { effectOf, refusesRun } from "./rules.ts";
import { TAG } from "./world.ts";
import type { AskedVerb } from "./rules.ts";
import type { Kind, Order, Shape, World } from "./world.ts";

/** What a command needs to know of the past to be of use. */
export interface Past {
  tasks: number;
  runs: number;
}

type Command = fc.AsyncCommand<Past, World>;

class Submit implements Command {
  readonly #kind: Kind;
  readonly #priority: number;
  readonly #delay: number;

  constructor(kind: Kind, priority: number, delay: number) {
    this.#kind = kind;
    this.#priority = priority;
    this.#delay = delay;
  }

  check(past: Readonly<Past>): boolean {
    return past.tasks < 20;
  }

  async run(past: Past, world: World): Promise<void> {
    past.tasks += 1;
    await world.submit(this.#kind, this.#priority, this.#delay);
    await world.inspect();
  }

  toString(): string {
    return `submit(${JSON.stringify(this.#kind)}, ${this.#priority}, ${this.#delay})`;
  }
}

/** Other limits, while everything goes on. */
class SetLimits implements Command {
  readonly #maxParallel: number;
  readonly #tagged: number;

  constructor(maxParallel: number, tagged: number) {
    this.#maxParallel = maxParallel;
    this.#tagged = tagged;
  }

  check(): boolean {
    return true;
  }

  async run(_past: Past, world: World): Promise<void> {
    await world.setLimits(this.#maxParallel, this.#tagged);
    await world.inspect();
  }

  toString(): string {
    return `setLimits(${this.#maxParallel}, ${this.#tagged})`;
  }
}

type Holdable = Parameters<World["toggleHold"]>[0];

/** Holds a name or tag, or releases it. */
class ToggleHold implements Command {
  readonly #target: Holdable;

  constructor(target: Holdable) {
    this.#target = target;
  }

  check(): boolean {
    return true;
  }

  async run(_past: Past, world: World): Promise<void> {
    await world.toggleHold(this.#target);
    await world.inspect();
  }

  toString(): string {
    return `toggleHold(${JSON.stringify(this.#target)})`;
  }
}

class StartRun implements Command {
  readonly #shape: Shape;

  constructor(shape: Shape) {
    this.#shape = shape;
  }

  check(past: Readonly<Past>): boolean {
    return past.runs < 4;
  }

  async run(past: Past, world: World): Promise<void> {
    past.runs += 1;
    past.tasks += 4;
    await world.startRun(this.#shape);
    await world.inspect();
  }

  toString(): string {
    return `startRun(${JSON.stringify(this.#shape)})`;
  }
}

/** A verb on one task: what it does is foretold from how the task stands. */
class AskTask implements Command {
  readonly #verb: AskedVerb;
  readonly #pick: number;
  readonly #ms: number;
  readonly #force: boolean;

  constructor(verb: AskedVerb, pick: number, ms: number, force: boolean) {
    this.#verb = verb;
    this.#pick = pick;
    this.#ms = ms;
    this.#force = force;
  }

  check(past: Readonly<Past>): boolean {
    return past.tasks > 0;
  }

  async run(_past: Past, world: World): Promise<void> {
    const taskId = world.taskIds[this.#pick % world.taskIds.length] ?? "";
    const before = await world.row(taskId);
    const effect = await this.#expected(world, before);
    const can = await world.controller.can(taskId, this.#verb);
    const answered = this.#ask(world, taskId);
    let code: string | null = null;
    answered.catch((error: unknown) => (code = codeOf(error)));
    world.ask(`${String(this)} on ${taskId}`, answered);
    await world.clock.advance(0);
    const after = await world.row(taskId);
    const steps = (await world.controller.history(taskId)).filter(({ statusVersion }) => statusVersion > before.statusVersion);
    const did = code ?? steps[0]?.to ?? "=";
    const expected = effect === "no" ? "INVALID_TRANSITION" : effect;
    // Asked again, a shorter grace may be over at once.
    const isTightened = before.status === "stopping" && effect === "=" && this.#ms === 0 && did === "lost";
    // A node that was reset waits for its dependencies where they are open.
    const isBlocked = this.#verb === "start" && before.pipelineRunId !== null && before.status === "pending" && did === "blocked";
    if (did !== expected && !isTightened && !isBlocked)
      world.wrong.push(`${this.#verb} of a task that is ${before.status} (paused from ${before.pausedFrom}): ${did} instead of ${expected}`);
    if (code !== null && after.statusVersion !== before.statusVersion)
      world.wrong.push(`${this.#verb} was refused, and yet ${before.status} became ${after.status}`);
    const isForced = this.#force && effect !== "CARRIER_ABANDONED" && before.abandonedBy !== null;
    if (!isForced && can.allowed === (code !== null)) world.wrong.push(`can("${this.#verb}") of ${before.status} said ${can.allowed}`);
    await world.inspect();
  }

  /** What the table says, and what stands beside it: given-up bodies, and nodes of runs that have ended. */
  async #expected(world: World, row: TaskSnapshot): Promise<string> {
    const effect = effectOf(row, this.#verb);
    const isRevival = (this.#verb === "retry" && effect === "queued") || (this.#verb === "reset" && effect === "pending");
    if (!isRevival || row.status === "retry_wait") return effect;
    if (await world.hasEnded(row.pipelineRunId)) return "no";
    return row.abandonedBy !== null && !this.#force ? "CARRIER_ABANDONED" : effect;
  }

  #ask({ controller }: World, taskId: string): Promise<unknown> {
    switch (this.#verb) {
      case "stop":
      case "cancel":
        return controller[this.#verb](taskId, { grace: this.#ms });
      case "pause":
        return controller.pause(taskId, { timeout: this.#ms });
      case "retry":
        return controller.retry(taskId, { force: this.#force });
      case "reset":
        return controller.reset(taskId, { confirm: true, force: this.#force });
      case "skip":
      case "start":
      case "resume":
        return controller[this.#verb](taskId);
    }
  }

  toString(): string {
    return `${this.#verb}(${this.#pick}, ${this.#ms}, ${this.#force})`;
  }
}

/** The escape hatch: always there, but not back to the start while a body still runs, or when the run has ended. */
class Force implements Command {
  readonly #to: ForceTarget;
  readonly #pick: number;
  readonly #force: boolean;

  constructor(to: ForceTarget, pick: number, force: boolean) {
    this.#to = to;
    this.#pick = pick;
    this.#force = force;
  }

  check(past: Readonly<Past>): boolean {
    return past.tasks > 0;
  }

  async run(_past: Past, world: World): Promise<void> {
    const taskId = world.taskIds[this.#pick % world.taskIds.length] ?? "";
    const before = await world.row(taskId);
    const expected = await this.#expected(world, before);
    const asked = world.controller.forceTransition(taskId, this.#to, { actor: "ada", reason: "to see", force: this.#force });
    let code: string | null = null;
    asked.catch((error: unknown) => (code = codeOf(error)));
    world.ask(`${String(this)} on ${taskId}`, asked);
    await world.clock.advance(0);
    const step = (await world.controller.history(taskId)).find(({ statusVersion }) => statusVersion === before.statusVersion + 1);
    const did = code ?? (step === undefined ? "=" : `${step.kind} ${step.to}`);
    if (did !== expected) world.wrong.push(`a task that is ${before.status} was forced to ${this.#to}: ${did} instead of ${expected}`);
    await world.inspect();
  }

  async #expected(world: World, row: TaskSnapshot): Promise<string> {
    if (this.#to === "pending" || this.#to === "queued") {
      if (await world.hasEnded(row.pipelineRunId)) return "INVALID_TRANSITION";
      if (row.abandonedBy !== null && !this.#force) return "CARRIER_ABANDONED";
    }
    return `override ${this.#to}`;
  }

  toString(): string {
    return `force(${this.#to}, ${this.#pick}, ${this.#force})`;
  }
}

type RunVerb = "stop" | "cancel" | "pause" | "resume" | "retry";

/** A verb on a whole run: refused where the guide says so; a retry may be refused for what its nodes do, too. */
class AskRun implements Command {
  readonly #verb: RunVerb;
  readonly #pick: number;
  readonly #ms: number;

  constructor(verb: RunVerb, pick: number, ms: number) {
    this.#verb = verb;
    this.#pick = pick;
    this.#ms = ms;
  }

  check(past: Readonly<Past>): boolean {
    return past.runs > 0;
  }

  async run(_past: Past, world: World): Promise<void> {
    const run = world.runs[this.#pick % world.runs.length];
    if (run === undefined) return;
    const { status } = await run.snapshot();
    const asked = this.#ask(run);
    let code: string | null = null;
    asked.catch((error: unknown) => (code = codeOf(error)));
    world.ask(`${String(this)} on run ${run.id}`, asked);
    await world.inspect();
    const isRefused = code !== null;
    if (isRefused !== refusesRun(status, this.#verb) && !(isRefused && this.#verb === "retry"))
      world.wrong.push(`${this.#verb} of a run that is ${status} was ${isRefused ? `refused (${code})` : "taken"}`);
  }

  #ask(run: World["runs"][number]): Promise<unknown> {
    switch (this.#verb) {
      case "stop":
        return run.stop({ grace: this.#ms });
      case "cancel":
        return run.cancel("asked to", { grace: this.#ms });
      case "pause":
        return run.pause({ timeout: this.#ms });
      case "resume":
        return run.resume();
      case "retry":
        return run.retry();
    }
  }

  toString(): string {
    return `run.${this.#verb}(${this.#pick}, ${this.#ms})`;
  }
}

/** Tells a body that runs what to do next. */
class Tell implements Command {
  readonly #order: Order;
  readonly #pick: number;

  constructor(order: Order, pick: number) {
    this.#order = order;
    this.#pick = pick;
  }

  check(past: Readonly<Past>): boolean {
    return past.tasks > 0;
  }

  async run(_past: Past, world: World): Promise<void> {
    const idle = world.bodies.filter(({ isOver, isBusy }) => !isOver && !isBusy);
    idle[this.#pick % idle.length]?.tell(this.#order);
    await world.inspect();
  }

  toString(): string {
    return `tell(${this.#order}, ${this.#pick})`;
  }
}

class Advance implements Command {
  readonly #ms: number;

  constructor(ms: number) {
    this.#ms = ms;
  }

  check(): boolean {
    return true;
  }

  async run(_past: Past, world: World): Promise<void> {
    await world.clock.advance(this.#ms);
    await world.inspect();
  }

  toString(): string {
    return `advance(${this.#ms})`;
  }
}

/** Several things asked of one task in one breath, its body and its run included: nothing settles in between. */
class InOneBreath implements Command {
  readonly #verbs: readonly AskedVerb[];
  readonly #pick: number;
  readonly #order: Order | null;
  readonly #force: boolean;

  constructor(verbs: readonly AskedVerb[], pick: number, order: Order | null, force: boolean) {
    this.#verbs = verbs;
    this.#pick = pick;
    this.#order = order;
    this.#force = force;
  }

  check(past: Readonly<Past>): boolean {
    return past.tasks > 0;
  }

  async run(_past: Past, world: World): Promise<void> {
    const { controller, bodies, taskIds } = world;
    const taskId = taskIds[this.#pick % taskIds.length] ?? "";
    const body = bodies.find(({ ctx, isOver, isBusy }) => ctx.taskId === taskId && !isOver && !isBusy);
    if (this.#order !== null) body?.tell(this.#order);
    for (const [index, verb] of this.#verbs.entries()) {
      const asked = this.#ask(controller, taskId, verb);
      world.ask(`${verb} (${index}) in one breath on ${taskId}`, asked);
      if (this.#pick % 3 === index) await Promise.resolve();
    }
    await world.inspect();
  }

  #ask(controller: World["controller"], taskId: string, verb: AskedVerb): Promise<unknown> {
    if (verb === "retry") return controller.retry(taskId, { force: this.#force });
    return verb === "reset" ? controller.reset(taskId, { confirm: true, force: this.#force }) : controller[verb](taskId);
  }

  toString(): string {
    return `inOneBreath(${this.#verbs.join(", ")}, ${this.#pick}, ${this.#order}, ${this.#force})`;
  }
}

const FORCE_TARGETS = ["succeeded", "failed", "stopped", "cancelled", "skipped", "lost", "pending", "queued"] as const;
type ForceTarget = (typeof FORCE_TARGETS)[number];

function codeOf(error: unknown): string {
  return error instanceof TaskError ? error.code : String(error);
}

const kind: fc.Arbitrary<Kind> = fc.record({ heeds: fc.boolean(), tagged: fc.boolean(), maxAttempts: fc.integer({ min: 1, max: 2 }), isTimed: fc.boolean() });
const join = fc.constantFrom("all_succeeded", "none_failed", "any_succeeded", "all_done");
const shape: fc.Arbitrary<Shape> = fc.record({
  kinds: fc.tuple(kind, kind, kind, kind),
  joins: fc.tuple(join, join),
  policy: fc.constantFrom("failFast", "allSettled", "quorum"),
  skipsFirst: fc.boolean(),
});
const pick = fc.nat(100);
const ms = fc.constantFrom(0, 50, 1_000);
const verb = fc.constantFrom<AskedVerb>("start", "stop", "pause", "resume", "cancel", "retry", "skip", "reset");

/** What may happen, and how often beside the rest. */
export const anyCommands = fc.commands<Past, World, boolean>(
  [
    fc.tuple(kind, fc.integer({ min: -1, max: 1 }), fc.constantFrom(0, 0, 0, 50, 600)).map((args) => new Submit(...args)),
    fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 2 })).map((args) => new SetLimits(...args)),
    fc.constantFrom<Holdable>({ name: "puppet" }, { name: "timed" }, { tag: TAG }).map((target) => new ToggleHold(target)),
    shape.map((each) => new StartRun(each)),
    fc.tuple(verb, pick, ms, fc.boolean()).map((args) => new AskTask(...args)),
    fc.tuple(verb, pick, ms, fc.boolean()).map((args) => new AskTask(...args)),
    fc.tuple(fc.constantFrom(...FORCE_TARGETS), pick, fc.boolean()).map((args) => new Force(...args)),
    fc.tuple(fc.constantFrom<RunVerb>("stop", "cancel", "pause", "pause", "resume", "resume", "retry", "retry"), pick, ms).map((args) => new AskRun(...args)),
    fc.tuple(fc.constantFrom<Order>("checkpoint", "checkpoint", "return", "return", "throw"), pick).map((args) => new Tell(...args)),
    fc.tuple(fc.constantFrom<Order>("checkpoint", "return", "throw"), pick).map((args) => new Tell(...args)),
    fc.constantFrom(1, 100, 600, 11_000).map((each) => new Advance(each)),
    fc
      .tuple(fc.array(verb, { minLength: 1, maxLength: 3 }), pick, fc.constantFrom<Order | null>(null, "checkpoint", "return", "throw"), fc.boolean())
      .map((args) => new InOneBreath(...args)),
  ],
  { maxCommands: 40, size: "max" },
);
