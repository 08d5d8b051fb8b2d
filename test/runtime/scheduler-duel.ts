import assert from "node:assert/strict";
import fc from "fast-check";
import { blockedBy, compareQueued } from "../../src/core/admission.ts";
import type { AdmissionLimits } from "../../src/core/admission.ts";
import type { ResolvedConcurrencyPolicy } from "../../src/core/policies/concurrency.ts";
import { holdId } from "../../src/core/holds.ts";
import type { HoldKey } from "../../src/core/holds.ts";
import { Scheduler } from "../../src/runtime/scheduler.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

const TAGS = ["x", "y"] as const;

const NAMES = ["a", "b"] as const;

const anyHold: fc.Arbitrary<HoldKey> = fc.oneof(
  fc.record({ kind: fc.constant("name" as const), name: fc.constantFrom(...NAMES) }),
  fc.record({ kind: fc.constant("tag" as const), tag: fc.constantFrom(...TAGS) }),
  fc.record({ kind: fc.constant("bucket" as const), bucket: fc.nat(1) }),
  fc.record({ kind: fc.constant("run" as const), runId: fc.constant("r") }),
);

const anyItem = fc.record({
  name: fc.constantFrom(...NAMES),
  run: fc.constantFrom(null, "r"),
  priority: fc.integer({ min: -1, max: 1 }),
  bucket: fc.option(fc.nat(1)),
  tags: fc.array(fc.constantFrom(...TAGS), { maxLength: 2 }),
  delayMs: fc.option(fc.integer({ min: -5, max: 30 })),
  backoff: fc.boolean(),
});

export const anyLimits = fc.record({
  maxParallel: fc.integer({ min: 1, max: 4 }),
  limits: fc.dictionary(fc.constantFrom(...TAGS), fc.integer({ min: 1, max: 2 })).map((limits) => new Map(Object.entries(limits))),
  perBucket: fc.option(fc.integer({ min: 1, max: 2 })),
});

export const anyStep = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant("enqueue" as const), item: anyItem }) },
  { weight: 5, arbitrary: fc.record({ what: fc.constant("release" as const), which: fc.nat(), keepTags: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("releaseTags" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("remove" as const), which: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant("advance" as const), ms: fc.integer({ min: 1, max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("limit" as const), limits: anyLimits }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom("hold" as const, "endHold" as const), key: anyHold }) },
);

type Step = typeof anyStep extends fc.Arbitrary<infer Value> ? Value : never;

interface Modelled {
  readonly taskId: string;
  readonly name: string;
  readonly run: string | null;
  readonly priority: number;
  readonly bucket: number | null;
  readonly tags: readonly string[];
  readonly backoff: boolean;
  readonly dueAt: number;
  sequence: number;
  isOverdue: boolean;
}

/** The scheduler as one would write it without a thought of speed. It shares the one thing it is not about: `blockedBy`. */
class NaiveScheduler {
  limits: AdmissionLimits;
  readonly calls: string[] = [];
  delayed: Modelled[] = [];
  ready: Modelled[] = [];
  running: Modelled[] = [];
  abandoned: Modelled[] = [];
  readonly holds = new Map<string, HoldKey>();
  #sequence = 0;

  constructor(limits: AdmissionLimits) {
    this.limits = limits;
  }

  get waiting(): readonly Modelled[] {
    return [...this.delayed, ...this.ready];
  }

  get held() {
    const byTag = new Map<string, number>();
    const byBucket = new Map<number, number>();
    for (const { tags } of [...this.running, ...this.abandoned]) for (const tag of new Set(tags)) byTag.set(tag, (byTag.get(tag) ?? 0) + 1);
    for (const { bucket } of this.running) if (bucket !== null) byBucket.set(bucket, (byBucket.get(bucket) ?? 0) + 1);
    return { total: this.running.length, byTag, byBucket };
  }

  add(task: Modelled, now: number): void {
    if (task.dueAt > now) this.delayed.push(task);
    else this.#admit(task);
  }

  forget(task: Modelled): void {
    for (const list of [this.delayed, this.ready, this.running, this.abandoned]) if (list.includes(task)) list.splice(list.indexOf(task), 1);
  }

  pass(now: number): void {
    const due = this.delayed.filter(({ dueAt }) => dueAt <= now).toSorted((a, b) => a.dueAt - b.dueAt);
    this.delayed = this.delayed.filter((task) => !due.includes(task));
    for (const task of due) this.#admit(task);
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.forget(next);
      this.running.push(next);
      this.calls.push(next.taskId);
    }
    for (const task of this.ready.filter(({ isOverdue }) => isOverdue).toSorted((a, b) => a.sequence - b.sequence)) {
      task.isOverdue = false;
      this.calls.push(`${task.taskId}: backoff ended`);
    }
  }

  #admit(task: Modelled): void {
    this.#sequence += 1;
    task.sequence = this.#sequence;
    task.isOverdue = task.backoff;
    this.ready.push(task);
  }

  #next(): Modelled | undefined {
    return this.ready.toSorted(compareQueued).find((task) => !this.#isHeld(task) && blockedBy(this.limits, this.held, task) === null);
  }

  #isHeld(task: Modelled): boolean {
    return this.holds.values().some((key) => {
      if (key.kind === "name") return task.name === key.name;
      if (key.kind === "tag") return task.tags.includes(key.tag);
      return key.kind === "bucket" ? task.bucket === key.bucket : task.run === key.runId;
    });
  }
}

/** The scheduler and a naive one, driven side by side; every turn asserts that both did the same, at the same instant. */
export class SchedulerDuel {
  readonly #clock = new FakeClock();
  readonly #calls: string[] = [];
  readonly #model: NaiveScheduler;
  readonly #scheduler: Scheduler;
  #count = 0;

  constructor(limits: AdmissionLimits) {
    this.#model = new NaiveScheduler(limits);
    this.#scheduler = new Scheduler({
      clock: this.#clock,
      concurrency: toConcurrency(limits),
      dispatch: (taskId) => void this.#calls.push(taskId),
      backoffEnded: (taskId) => void this.#calls.push(`${taskId}: backoff ended`),
    });
  }

  /** What each of them called back, in order. */
  get calls(): { readonly real: readonly string[]; readonly naive: readonly string[] } {
    return { real: this.#calls, naive: this.#model.calls };
  }

  /** Several steps in one turn of code are decided together, on both sides. */
  async turn(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.what === "advance") await this.#advance(step.ms);
      else this.#do(step);
    }
    await this.#settle();
  }

  #do(step: Exclude<Step, { readonly what: "advance" }>): void {
    switch (step.what) {
      case "enqueue":
        return this.#enqueue(step.item);
      case "release":
        return this.#release(pick(this.#model.running, step.which), step.keepTags);
      case "releaseTags":
        return this.#releaseTags(pick(this.#model.abandoned, step.which));
      case "remove":
        return this.#remove(pick(this.#model.waiting, step.which));
      case "limit":
        this.#model.limits = step.limits;
        return this.#scheduler.setLimits(toConcurrency(step.limits));
      case "hold":
        assert.equal(this.#scheduler.hold(step.key), !this.#model.holds.has(holdId(step.key)));
        this.#model.holds.set(holdId(step.key), step.key);
        return;
      case "endHold":
        assert.equal(this.#scheduler.endHold(step.key), this.#model.holds.delete(holdId(step.key)));
        return;
    }
  }

  #enqueue({ delayMs, ...item }: { readonly delayMs: number | null } & Omit<Modelled, "taskId" | "dueAt" | "sequence" | "isOverdue">): void {
    this.#count += 1;
    const taskId = `task ${this.#count}`;
    this.#scheduler.enqueue({ ...item, taskId, availableAt: delayMs === null ? null : this.#clock.now() + delayMs });
    this.#model.add({ ...item, taskId, dueAt: this.#clock.monotonic() + (delayMs ?? 0), sequence: 0, isOverdue: false }, this.#clock.monotonic());
  }

  #release(task: Modelled | undefined, keepTags: boolean): void {
    if (task === undefined) return;
    this.#scheduler.release(task.taskId, { keepTags });
    this.#model.forget(task);
    if (keepTags) this.#model.abandoned.push(task);
  }

  #releaseTags(task: Modelled | undefined): void {
    if (task === undefined) return;
    this.#scheduler.releaseTags(task.taskId);
    this.#model.forget(task);
  }

  #remove(task: Modelled | undefined): void {
    if (task === undefined) return;
    assert.equal(this.#scheduler.remove(task.taskId), true);
    this.#model.forget(task);
  }

  /** Millisecond by millisecond, so that both see each instant at which something is due. */
  async #advance(ms: number): Promise<void> {
    await this.#settle();
    for (let i = 0; i < ms; i += 1) {
      await this.#clock.advance(1);
      await this.#settle();
    }
  }

  async #settle(): Promise<void> {
    await Promise.resolve();
    this.#model.pass(this.#clock.monotonic());
    const { held, queuedCount, delayedCount } = this.#scheduler;
    const model = this.#model;
    assert.deepEqual(this.#calls, model.calls);
    assert.deepEqual({ total: held.total, byTag: held.byTag, byBucket: held.byBucket }, model.held);
    assert.deepEqual([queuedCount, delayedCount], [model.ready.length, model.delayed.length]);
    assert.equal(this.#clock.pendingTimers, model.delayed.length === 0 ? 0 : 1);
  }
}

function toConcurrency(limits: AdmissionLimits): ResolvedConcurrencyPolicy {
  return { ...limits, defaultPriority: 0, agingMs: null };
}

function pick(tasks: readonly Modelled[], which: number): Modelled | undefined {
  return tasks[which % Math.max(1, tasks.length)];
}
