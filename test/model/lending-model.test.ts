import fc from "fast-check";
import { expect, it } from "vitest";
import { Controller, Deadlock, task } from "../../src/index.ts";
import type { TaskContext } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";

const TAGS = ["x", "y"] as const;
const MOST = 7;

/** One thing that a body does. Targets are numbers of tasks, whether they exist, have ended or wait for the one that asks. */
const anyDeed = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant("wait" as const), targets: fc.array(fc.nat(MOST - 1), { minLength: 1, maxLength: 3 }) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("child" as const), tags: fc.subarray([...TAGS]), isBad: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("sleep" as const), ms: fc.integer({ min: 0, max: 5 }) }) },
);
type Deed = typeof anyDeed extends fc.Arbitrary<infer Value> ? Value : never;

const anyTask = fc.record({ tags: fc.subarray([...TAGS]), deeds: fc.array(anyDeed, { maxLength: 4 }), submitAt: fc.nat(6) });
const anyTasks = fc.array(anyTask, { minLength: 1, maxLength: MOST });
const anyLimits = fc.record({ maxParallel: fc.integer({ min: 1, max: 3 }), x: fc.integer({ min: 1, max: 2 }), y: fc.integer({ min: 1, max: 2 }) });
const anyVerb = fc.record({ at: fc.nat(12), target: fc.nat(MOST - 1), verb: fc.constantFrom("stop", "cancel", "pause", "resume") });

type Planned = typeof anyTask extends fc.Arbitrary<infer Value> ? Value : never;
type Limits = typeof anyLimits extends fc.Arbitrary<infer Value> ? Value : never;

/** Tasks that wait for each other at random, and how many bodies were active at once at most. */
class Tangle {
  readonly clock = new FakeClock();
  readonly ids = new Map<number, string>();
  /** Rules that were broken, in words. */
  readonly broken: string[] = [];
  deadlocks = 0;
  #active = 0;
  readonly #byTag = new Map<string, number>();
  readonly #limits: Limits;
  readonly #planned: readonly Planned[];
  readonly #isLimited: boolean;
  #controller: Controller | null = null;

  constructor(planned: readonly Planned[], limits: Limits, { isLimited = true } = {}) {
    this.#planned = planned;
    this.#limits = limits;
    this.#isLimited = isLimited;
  }

  get controller(): Controller {
    if (this.#controller === null) throw new Error("not open");
    return this.#controller;
  }

  async open(): Promise<void> {
    const { maxParallel, x, y } = this.#limits;
    const body = task({ name: "body" }, async (ctx, index: number) => await this.#run(ctx, this.#planned[index]));
    const leaf = task({ name: "leaf" }, async (ctx, isBad: boolean, tags: readonly string[]) => {
      this.#enter(tags);
      try {
        await this.#sleep(ctx, 1);
        if (isBad) throw new Error("bad");
      } finally {
        this.#leave(tags);
      }
    });
    this.#controller = await Controller.open({
      clock: this.clock,
      tasks: [body, leaf],
      concurrency: { maxParallel, ...(this.#isLimited ? { limits: { x, y } } : {}) },
    });
  }

  async submit(index: number): Promise<void> {
    const handle = await this.controller.submit("body", [index], { tags: this.#planned[index]?.tags ?? [] });
    this.ids.set(index, handle.id);
  }

  async #run(ctx: TaskContext, planned: Planned | undefined): Promise<void> {
    if (planned === undefined) return;
    this.#enter(planned.tags);
    try {
      for (const deed of planned.deeds) await this.#do(ctx, deed);
    } finally {
      this.#leave(planned.tags);
    }
  }

  async #do(ctx: TaskContext, deed: Deed): Promise<void> {
    if (deed.what === "sleep") return await this.#sleep(ctx, deed.ms);
    const targets =
      deed.what === "child" ? [await this.#child(deed)] : deed.targets.flatMap((target) => this.ids.get(target) ?? []).filter((id) => id !== ctx.taskId);
    this.#active -= 1;
    const ends = await Promise.allSettled(targets.map(async (id) => await this.controller.wait(id, { timeout: "none" })));
    this.#enter([]);
    await this.#judge(ctx, targets, ends);
  }

  async #judge(ctx: TaskContext, targets: readonly string[], ends: readonly PromiseSettledResult<unknown>[]): Promise<void> {
    for (const end of ends) {
      if (end.status === "fulfilled") continue;
      if (!(end.reason instanceof Deadlock)) throw end.reason;
      this.deadlocks += 1;
      const [first] = end.reason.path;
      if (first !== ctx.taskId || end.reason.path.at(-1) !== ctx.taskId) this.broken.push(`a ring that is none: ${end.reason.path.join(" ")}`);
      if (!targets.includes(end.reason.path[1] ?? "")) this.broken.push("the ring does not begin with what was waited for");
    }
  }

  async #child({ tags, isBad }: Extract<Deed, { readonly what: "child" }>): Promise<string> {
    return (await this.controller.submit("leaf", [isBad, tags], { tags })).id;
  }

  async #sleep(ctx: TaskContext, ms: number): Promise<void> {
    await ctx.checkpoint();
    await new Promise<void>((resolve) => void this.clock.setTimer(ms, resolve));
    await ctx.checkpoint();
  }

  #enter(tags: readonly string[]): void {
    this.#active += 1;
    if (this.#active > this.#limits.maxParallel) this.broken.push(`${this.#active} bodies are active, the limit is ${this.#limits.maxParallel}`);
    for (const tag of tags) {
      const count = (this.#byTag.get(tag) ?? 0) + 1;
      this.#byTag.set(tag, count);
      if (this.#isLimited && count > this.#limits[tag === "x" ? "x" : "y"]) this.broken.push(`${count} bodies hold ${tag}`);
    }
  }

  #leave(tags: readonly string[]): void {
    this.#active -= 1;
    for (const tag of tags) this.#byTag.set(tag, (this.#byTag.get(tag) ?? 0) - 1);
  }

  /** Plays until nothing moves any more; answers what has not ended. */
  async play(verbs: readonly { readonly at: number; readonly target: number; readonly verb: string }[] = []): Promise<readonly string[]> {
    await this.open();
    const paused = new Set<string>();
    for (let now = 0; now <= 12; now += 1) {
      for (const [index, { submitAt }] of this.#planned.entries()) if (submitAt === now) await this.submit(index);
      for (const { at, target, verb } of verbs) {
        const id = this.ids.get(target);
        if (at !== now || id === undefined) continue;
        if (verb === "pause") paused.add(id);
        const asked =
          verb === "stop" || verb === "cancel"
            ? this.controller[verb](id)
            : verb === "pause"
              ? this.controller.pause(id, { timeout: "1h" })
              : this.controller.resume(id);
        void asked.catch(() => undefined);
      }
      await this.clock.advance(1);
    }
    for (const id of paused) void this.controller.resume(id).catch(() => undefined);
    await this.clock.advance("1m");
    const { items } = await this.controller.list({ limit: 1_000 });
    return items.filter(({ endedAt }) => endedAt === null).map(({ name, status }) => `${name} is ${status}`);
  }

  async close(): Promise<void> {
    const closed = this.#controller?.close({ grace: 0 });
    await this.clock.advance("1h");
    await closed;
  }
}

it("limits hold and everything ends: what cannot is told that it would wait for ever", async () => {
  let told = 0;
  await fc.assert(
    fc.asyncProperty(anyTasks, anyLimits, async (planned, limits) => {
      const tangle = new Tangle(planned, limits);
      expect(await tangle.play()).toEqual([]);
      expect(tangle.broken).toEqual([]);
      told += tangle.deadlocks;
      await tangle.close();
      expect(tangle.clock.pendingTimers).toBe(0);
    }),
    { numRuns: 300 },
  );
  expect(told, "the trial is one").toBeGreaterThan(10);
});

it("nobody is told so where each waits only for those before it and nothing is limited by tag", async () => {
  await fc.assert(
    fc.asyncProperty(anyTasks, anyLimits, async (planned, limits) => {
      const ordered = planned.map((each, index) => ({
        ...each,
        submitAt: 0,
        deeds: each.deeds.map((deed) => (deed.what === "wait" ? { ...deed, targets: deed.targets.filter((target) => target < index) } : deed)),
      }));
      const tangle = new Tangle(ordered, limits, { isLimited: false });
      expect(await tangle.play()).toEqual([]);
      expect(tangle.broken).toEqual([]);
      expect(tangle.deadlocks).toBe(0);
      await tangle.close();
    }),
    { numRuns: 100 },
  );
});

it("everything ends, and no slot is lost, whoever is stopped or paused meanwhile", async () => {
  await fc.assert(
    fc.asyncProperty(anyTasks, anyLimits, fc.array(anyVerb, { maxLength: 8 }), async (planned, limits, verbs) => {
      const tangle = new Tangle(planned, limits);
      expect(await tangle.play(verbs)).toEqual([]);
      // Were a slot lost or given twice, so many could not run at once afterwards, or more would.
      const probe = Array.from({ length: limits.maxParallel * 2 }, async () => await tangle.controller.submit("leaf", [false, []]));
      await Promise.all(probe);
      const before = tangle.clock.now();
      await tangle.clock.advance(1);
      const running = await tangle.controller.stats({ createdSince: before });
      expect(running.succeeded + running.running).toBe(limits.maxParallel * 2);
      await tangle.close();
    }),
    { numRuns: 200 },
  );
});
