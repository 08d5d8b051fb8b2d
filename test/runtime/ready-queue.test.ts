import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blockedBy, compareAged, compareQueued, Slots } from "../../src/core/admission.ts";
import type { AdmissionLimits, Blocker } from "../../src/core/admission.ts";
import { InternalError } from "../../src/core/errors.ts";
import { holdId, isUnder } from "../../src/core/holds.ts";
import type { HoldKey } from "../../src/core/holds.ts";
import { ReadyQueue } from "../../src/runtime/ready-queue.ts";
import type { QueuedTask, QueueRules } from "../../src/runtime/ready-queue.ts";

interface Named extends QueuedTask<Named> {
  readonly id: string;
}

let made = 0;

function newTask(id: string, given: Partial<Pick<Named, "name" | "run" | "priority" | "bucket" | "tags" | "queuedAt">> = {}): Named {
  made += 1;
  const links = { admissionClass: null, lane: null, previous: null, next: null };
  return { id, name: "work", run: null, priority: 0, bucket: null, tags: [], queuedAt: made, sequence: 0, ...given, ...links };
}

function newLimits(given: Partial<AdmissionLimits & QueueRules> = {}): AdmissionLimits & QueueRules {
  return { maxParallel: Infinity, limits: new Map(), perBucket: null, agingMs: null, ...given };
}

/** A queue over real slots; `acquire` counts how many tasks were looked at. */
class Bench {
  readonly queue: ReadyQueue<Named>;
  readonly slots: Slots;
  looks = 0;

  constructor(limits: AdmissionLimits & QueueRules) {
    this.queue = new ReadyQueue(limits);
    this.slots = new Slots(limits);
  }

  add(...tasks: readonly Named[]): void {
    for (const task of tasks) this.queue.add(task);
  }

  take(): Named | undefined {
    return this.queue.take((task) => {
      this.looks += 1;
      return this.slots.acquire(task.id, task);
    });
  }

  release(task: Named): void {
    this.slots.release(task.id);
    this.queue.released(task);
  }

  drain(): readonly string[] {
    const ids: string[] = [];
    for (let task = this.take(); task !== undefined; task = this.take()) ids.push(task.id);
    return ids;
  }
}

describe("the order", () => {
  it("is priority, then arrival", () => {
    const bench = new Bench(newLimits());
    bench.add(newTask("a"), newTask("b", { priority: 5 }), newTask("c", { priority: -1 }), newTask("d", { priority: 5 }), newTask("e"));
    expect(bench.drain()).toEqual(["b", "d", "a", "e", "c"]);
  });

  it("with aging gives a step of priority for each full length of waiting", () => {
    const bench = new Bench(newLimits({ agingMs: 100 }));
    bench.add(
      newTask("young and important", { priority: 1, queuedAt: 201 }),
      newTask("old", { priority: 0, queuedAt: 100 }),
      newTask("equal", { priority: 1, queuedAt: 200 }),
    );
    expect(bench.drain()).toEqual(["equal", "old", "young and important"]);
  });

  it("with aging is that of waiting, not of arrival", () => {
    const bench = new Bench(newLimits({ agingMs: 100 }));
    bench.add(...[500, 300, 400, 100, 300].map((queuedAt, place) => newTask(`${queuedAt}/${place}`, { queuedAt })));
    expect(bench.drain()).toEqual(["100/3", "300/1", "300/4", "400/2", "500/0"]);
  });

  it("holds with as many priorities as tasks", () => {
    const bench = new Bench(newLimits());
    bench.add(...Array.from({ length: 5_000 }, (_, i) => newTask(`${(i * 7919) % 5_000}`, { priority: (i * 7919) % 5_000 })));
    expect(bench.drain()).toEqual(Array.from({ length: 5_000 }, (_, i) => `${4_999 - i}`));
  });

  it("is kept when the rules change, and follows the new ones", () => {
    const bench = new Bench(newLimits());
    bench.add(newTask("a", { queuedAt: 300 }), newTask("b", { priority: 1, queuedAt: 900 }), newTask("c", { queuedAt: 200 }));
    bench.queue.setRules(newLimits({ agingMs: 100 }));
    expect(bench.drain()).toEqual(["c", "a", "b"]);
  });
});

describe("a task that cannot start", () => {
  it("holds up nobody behind it", () => {
    const bench = new Bench(newLimits({ limits: new Map([["io", 1]]), perBucket: 1 }));
    bench.add(
      newTask("io 1", { tags: ["io"] }),
      newTask("io 2", { tags: ["io"], priority: 9 }),
      newTask("b 1", { bucket: 7 }),
      newTask("b 2", { bucket: 7 }),
      newTask("free"),
    );
    expect(bench.drain()).toEqual(["io 2", "b 1", "free"]);
    expect(bench.queue.size).toBe(2);
  });

  it("is looked at again when what it waits for is given back, and not before", () => {
    const bench = new Bench(newLimits({ limits: new Map([["io", 1]]), perBucket: 1 }));
    const [first, other] = [newTask("first", { tags: ["io"] }), newTask("other", { bucket: 1 })];
    bench.add(first, other, newTask("second", { tags: ["io"] }));
    expect(bench.drain()).toEqual(["first", "other"]);
    bench.looks = 0;
    bench.release(other);
    expect([bench.drain(), bench.looks]).toEqual([[], 0]);
    bench.release(first);
    expect([bench.drain(), bench.looks]).toEqual([["second"], 1]);
  });

  it("takes all its slots or none, whatever the order of its tags", () => {
    const bench = new Bench(
      newLimits({
        limits: new Map([
          ["x", 1],
          ["y", 1],
        ]),
      }),
    );
    const holder = newTask("holder", { tags: ["y"] });
    bench.add(holder, newTask("xy", { tags: ["x", "y"] }), newTask("yx", { tags: ["y", "x", "x"] }), newTask("x", { tags: ["x"] }));
    expect(bench.drain()).toEqual(["holder", "x"]);
    expect(bench.slots.byTag).toEqual(
      new Map([
        ["x", 1],
        ["y", 1],
      ]),
    );
  });

  it("leaves no trace when it is removed", () => {
    const bench = new Bench(newLimits({ limits: new Map([["io", 1]]) }));
    const [first, waiting] = [newTask("first", { tags: ["io"] }), newTask("waiting", { tags: ["io"] })];
    bench.add(first, waiting);
    bench.drain();
    bench.queue.remove(waiting);
    bench.release(first);
    expect([bench.drain(), bench.queue.size]).toEqual([[], 0]);
  });
});

it("refuses to remove what it does not hold", () => {
  const { queue } = new Bench(newLimits());
  expect(() => queue.remove(newTask("stranger"))).toThrow(InternalError);
  queue.add(newTask("one"));
  expect(() => queue.remove(newTask("stranger"))).toThrow(InternalError);
  expect(queue.size).toBe(1);
});

it("looks at few tasks for a decision, however many are queued and blocked", () => {
  const limits = new Map([["stuck", 1], ...Array.from({ length: 20 }, (_, i) => [`g${i}`, 3] as const)]);
  const bench = new Bench(newLimits({ maxParallel: 50, limits, perBucket: 2 }));
  bench.add(newTask("holder", { tags: ["stuck"], priority: 9 }));
  for (let i = 0; i < 90_000; i += 1) bench.add(newTask(`stuck ${i}`, { tags: ["stuck"], priority: 5 }));
  for (let i = 0; i < 10_000; i += 1) bench.add(newTask(`task ${i}`, { tags: [`g${i % 20}`], bucket: (i * 7919) % 1000 }));
  const running: Named[] = [];
  for (let task = bench.take(); task !== undefined; task = bench.take()) running.push(task);
  expect(running).toHaveLength(50);
  bench.looks = 0;
  const decisions = 2_000;
  for (let i = 0; i < decisions; i += 1) {
    const ended = running.splice(1 + (i % 49), 1);
    for (const task of ended) bench.release(task);
    const next = bench.take();
    if (next !== undefined) running.push(next);
  }
  expect(running).toHaveLength(50);
  expect(bench.looks / decisions).toBeLessThan(5);
});

describe("a hold", () => {
  it("keeps what is under it, old and new, and nothing else, until it ends", () => {
    const bench = new Bench(newLimits());
    bench.add(newTask("a", { name: "held" }), newTask("b"), newTask("c", { tags: ["held"] }), newTask("d", { bucket: 3 }), newTask("e", { run: "held" }));
    const keys: readonly HoldKey[] = [
      { kind: "name", name: "held" },
      { kind: "tag", tag: "held" },
      { kind: "bucket", bucket: 3 },
      { kind: "run", runId: "held" },
    ];
    for (const key of keys) bench.queue.hold(key);
    bench.add(newTask("f", { name: "held", tags: ["held"], bucket: 3, run: "held", priority: 9 }), newTask("g", { name: "other" }));
    expect(bench.drain()).toEqual(["b", "g"]);
    const freed = keys.map((key) => {
      bench.queue.release(key);
      return bench.drain();
    });
    expect(freed).toEqual([["a"], ["c"], ["d"], ["f", "e"]]);
  });

  it("leaves the order as it was", () => {
    const bench = new Bench(newLimits({ limits: new Map([["io", 9]]) }));
    bench.add(...["a", "b", "c", "d"].map((id) => newTask(id, id < "c" ? { run: "r", tags: ["io"] } : { run: "r" })));
    bench.queue.hold({ kind: "run", runId: "r" });
    bench.add(newTask("e"));
    expect(bench.drain()).toEqual(["e"]);
    bench.queue.release({ kind: "run", runId: "r" });
    bench.add(newTask("f", { run: "r" }));
    expect(bench.drain()).toEqual(["a", "b", "c", "d", "f"]);
  });

  it("costs the others one look at each class that is held, however many wait there", () => {
    const bench = new Bench(newLimits());
    for (let i = 0; i < 10_000; i += 1) bench.add(newTask(`held ${i}`, { name: "held", priority: 5 }));
    for (let i = 0; i < 100; i += 1) bench.add(newTask(`free ${i}`));
    bench.queue.hold({ kind: "name", name: "held" });
    expect(bench.drain()).toHaveLength(100);
    expect(bench.looks).toBe(100);
  });

  it("may come and go again and again", () => {
    const bench = new Bench(newLimits());
    bench.add(newTask("a", { run: "r" }));
    for (let round = 0; round < 3; round += 1) {
      bench.queue.hold({ kind: "run", runId: "r" });
      bench.queue.hold({ kind: "run", runId: "r" });
      expect(bench.drain()).toEqual([]);
      bench.queue.release({ kind: "run", runId: "r" });
    }
    expect(bench.drain()).toEqual(["a"]);
    bench.queue.hold({ kind: "run", runId: "r" });
    bench.add(newTask("b", { run: "r" }));
    expect(bench.drain()).toEqual([]);
  });
});

const TAGS = ["x", "y", "z"] as const;
const HOLDS: readonly HoldKey[] = [
  { kind: "name", name: "a" },
  { kind: "tag", tag: "x" },
  { kind: "bucket", bucket: 1 },
  { kind: "run", runId: "r" },
];

const anyTask = fc.record({
  name: fc.constantFrom("a", "b"),
  run: fc.constantFrom(null, "r"),
  priority: fc.integer({ min: -1, max: 1 }),
  bucket: fc.option(fc.nat(2)),
  tags: fc.array(fc.constantFrom(...TAGS), { maxLength: 3 }),
  queuedAt: fc.nat(300),
});

const anyLimits = fc
  .record({
    maxParallel: fc.integer({ min: 1, max: 5 }),
    limits: fc.dictionary(fc.constantFrom(...TAGS), fc.integer({ min: 1, max: 2 })),
    perBucket: fc.option(fc.integer({ min: 1, max: 2 })),
    agingMs: fc.option(fc.constant(100)),
  })
  .map(({ limits, ...others }) => newLimits({ ...others, limits: new Map(Object.entries(limits)) }));

const anyStep = fc.oneof(
  { weight: 4, arbitrary: fc.record({ what: fc.constant("add" as const), task: anyTask }) },
  { weight: 4, arbitrary: fc.constant({ what: "take" as const }) },
  { weight: 3, arbitrary: fc.record({ what: fc.constant("release" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("remove" as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("limit" as const), limits: anyLimits }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("hold" as const), key: fc.constantFrom(...HOLDS) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant("free" as const), key: fc.constantFrom(...HOLDS) }) },
);

it("always takes what a scan of the sorted list would take", () => {
  fc.assert(
    fc.property(anyLimits, fc.array(anyStep, { maxLength: 120, size: "max" }), (first, steps) => {
      const limits = { ...first };
      const queue = new ReadyQueue<Named>(limits);
      const slots = new Slots(limits);
      const waiting: Named[] = [];
      const running: Named[] = [];
      const held = new Map<string, HoldKey>();
      const acquire = (task: Named): Blocker | null => slots.acquire(task.id, task);
      const scan = (): Named | undefined =>
        waiting
          .toSorted((a, b) => (limits.agingMs === null ? compareQueued(a, b) : compareAged(a, b, limits.agingMs)))
          .find((task) => !held.values().some((key) => isUnder(task, key)) && blockedBy(limits, slots, task) === null);
      for (const step of steps) {
        if (step.what === "add") {
          const task = newTask(`task ${waiting.length + running.length}/${made}`, step.task);
          queue.add(task);
          waiting.push(task);
        } else if (step.what === "take") {
          const expected = scan();
          expect(queue.take(acquire)).toBe(expected);
          if (expected !== undefined) running.push(...waiting.splice(waiting.indexOf(expected), 1));
        } else if (step.what === "release") {
          for (const task of running.splice(step.which % Math.max(1, running.length), 1)) {
            slots.release(task.id);
            queue.released(task);
          }
        } else if (step.what === "remove") {
          for (const task of waiting.splice(step.which % Math.max(1, waiting.length), 1)) queue.remove(task);
        } else if (step.what === "hold") {
          held.set(holdId(step.key), step.key);
          queue.hold(step.key);
        } else if (step.what === "free") {
          held.delete(holdId(step.key));
          queue.release(step.key);
        } else {
          Object.assign(limits, step.limits);
          queue.setRules(limits);
        }
        expect(queue.size).toBe(waiting.length);
      }
    }),
    { numRuns: 500 },
  );
});
