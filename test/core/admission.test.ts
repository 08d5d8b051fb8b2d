import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admissionKey, blockedBy, compareAged, compareQueued, Slots } from "../../src/core/admission.ts";
import type { AdmissionLimits, SlotClaim } from "../../src/core/admission.ts";
import { InternalError } from "../../src/core/errors.ts";

const task = { bucket: 3, tags: ["io", "db"] };

function limitsOf(maxParallel: number, limits: Record<string, number> = {}, perBucket: number | null = null): AdmissionLimits {
  return { maxParallel, limits: new Map(Object.entries(limits)), perBucket };
}

const claim = (tags: readonly string[] = [], bucket: number | null = null): SlotClaim => ({ tags, bucket });

describe("admissionKey", () => {
  it("is the same for the same bucket, set of tags and holds", () => {
    expect(admissionKey({ ...task, tags: ["db", "io", "db"] }, ["name:a"])).toBe(admissionKey(task, ["name:a"]));
  });

  it("tells everything else apart", () => {
    const others = [task, { ...task, bucket: null }, { ...task, bucket: 0 }, { ...task, tags: ["io"] }, { ...task, tags: ['io","db'] }, { ...task, tags: [] }];
    const holds = [[], ["name:a"], ["name:a", "tag:io"], ['name:a","tag:io']];
    const keys = others.flatMap((other) => holds.map((ids) => admissionKey(other, ids)));
    expect(new Set(keys).size).toBe(others.length * holds.length);
  });
});

describe("compareQueued", () => {
  it("puts the higher priority first, then the one that came first", () => {
    const queue = [
      { priority: 0, sequence: 1 },
      { priority: 5, sequence: 4 },
      { priority: -1, sequence: 2 },
      { priority: 5, sequence: 3 },
    ];
    expect(queue.toSorted(compareQueued).map(({ sequence }) => sequence)).toEqual([3, 4, 1, 2]);
  });
});

describe("compareAged", () => {
  const old = { priority: 0, sequence: 1, queuedAt: 1_000 };
  const urgent = { priority: 2, sequence: 2, queuedAt: 4_000 };

  it("lets a wait outweigh priority", () => {
    expect(compareAged(old, urgent, 1_000)).toBeLessThan(0);
    expect(compareAged(old, urgent, 2_000)).toBeGreaterThan(0);
  });

  it("falls back on priority and order where both weigh the same", () => {
    expect(compareAged(old, urgent, 1_500)).toBeGreaterThan(0);
    expect(compareAged(old, { ...old, sequence: 2 }, 1_500)).toBeLessThan(0);
  });
});

describe("blockedBy", () => {
  const held = {
    total: 2,
    byTag: new Map([
      ["db", 1],
      ["io", 2],
    ]),
    byBucket: new Map([[3, 1]]),
  };

  it("names the first limit that is used up", () => {
    expect(blockedBy(limitsOf(2, { db: 1 }, 1), held, claim(["db"], 3))).toEqual({ kind: "global" });
    expect(blockedBy(limitsOf(9, { io: 3, db: 1 }, 1), held, claim(["io", "db"], 3))).toEqual({ kind: "tag", tag: "db" });
    expect(blockedBy(limitsOf(9, { db: 2 }, 1), held, claim(["db"], 3))).toEqual({ kind: "bucket", bucket: 3 });
  });

  it("lets a task start that no limit holds", () => {
    expect(blockedBy(limitsOf(3), held, claim(["db"], 3))).toBeNull();
    expect(blockedBy(limitsOf(3, { db: 1 }, 1), held, claim(["io"], 4))).toBeNull();
    expect(blockedBy(limitsOf(3, {}, 1), held, claim())).toBeNull();
  });

  it("takes a tag for a name and nothing else", () => {
    expect(blockedBy(limitsOf(9), held, claim(["constructor", "__proto__"]))).toBeNull();
    const limits = { ...limitsOf(9), limits: new Map([["__proto__", 1]]) };
    expect(blockedBy(limits, { ...held, byTag: new Map([["__proto__", 1]]) }, claim(["__proto__"]))).toEqual({ kind: "tag", tag: "__proto__" });
  });
});

describe("Slots", () => {
  it("takes all slots of a claim, or none", () => {
    const slots = new Slots(limitsOf(5, { db: 1 }, 1));
    expect(slots.acquire("a", claim(["io", "db"], 3))).toBeNull();
    expect(slots.acquire("b", claim(["io", "db"], 4))).toEqual({ kind: "tag", tag: "db" });
    expect(slots.acquire("b", claim(["io"], 3))).toEqual({ kind: "bucket", bucket: 3 });
    expect(slots.total).toBe(1);
    expect([...slots.byTag]).toEqual([
      ["io", 1],
      ["db", 1],
    ]);
    expect([...slots.byBucket]).toEqual([[3, 1]]);
    slots.release("a");
    expect([slots.total, slots.byTag.size, slots.byBucket.size]).toEqual([0, 0, 0]);
    expect(slots.acquire("b", claim(["io", "db"], 3))).toBeNull();
  });

  it("counts a tag given twice once", () => {
    const slots = new Slots(limitsOf(5, { db: 2 }));
    slots.acquire("a", claim(["db", "db"]));
    expect(slots.byTag.get("db")).toBe(1);
  });

  it("refuses to give back twice, to take twice, and to give back what was never taken", () => {
    const slots = new Slots(limitsOf(5));
    slots.acquire("a", claim());
    expect(() => slots.acquire("a", claim())).toThrow(InternalError);
    slots.release("a");
    expect(() => slots.release("a")).toThrow(InternalError);
    expect(() => slots.lend("b")).toThrow("b holds no slots");
    expect(() => slots.reclaim("b")).toThrow(InternalError);
    expect(slots.total).toBe(0);
  });

  it("lends the global and the bucket slot, keeps the tags, and takes back when there is room", () => {
    const slots = new Slots(limitsOf(1, { db: 1 }, 1));
    slots.acquire("a", claim(["db"], 3));
    expect(() => slots.reclaim("a")).toThrow("a has lent no slots");
    slots.lend("a");
    expect(() => slots.lend("a")).toThrow(InternalError);
    expect(slots.acquire("b", claim(["db"], 3))).toEqual({ kind: "tag", tag: "db" });
    expect(slots.acquire("b", claim([], 3))).toBeNull();
    expect(slots.reclaim("a")).toEqual({ kind: "global" });
    slots.release("b");
    expect(slots.reclaim("a")).toBeNull();
    expect([slots.total, slots.byTag.get("db"), slots.byBucket.get(3)]).toEqual([1, 1, 1]);
  });

  it("gives back what is left of a holder that has lent", () => {
    const slots = new Slots(limitsOf(2, { db: 1 }, 1));
    slots.acquire("a", claim(["db"], 3));
    slots.lend("a");
    slots.release("a");
    expect([slots.total, slots.byTag.size, slots.byBucket.size]).toEqual([0, 0, 0]);
  });

  it("never holds more than its limits, and nothing once all is given back", () => {
    const step = fc.record({
      verb: fc.constantFrom("acquire", "release", "lend", "reclaim"),
      holder: fc.constantFrom("a", "b", "c", "d", "e"),
      tags: fc.subarray(["db", "io", "gpu"]),
      bucket: fc.constantFrom(null, 1, 2),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const slots = new Slots(limitsOf(3, { db: 1, io: 2 }, 2));
        const holders = new Map<string, "full" | "lent">();
        for (const { verb, holder, tags, bucket } of steps) {
          const state = holders.get(holder);
          if (verb === "acquire" && state === undefined && slots.acquire(holder, { tags, bucket }) === null) holders.set(holder, "full");
          if (verb === "release" && state !== undefined) {
            slots.release(holder);
            holders.delete(holder);
          }
          if (verb === "lend" && state === "full") {
            slots.lend(holder);
            holders.set(holder, "lent");
          }
          if (verb === "reclaim" && state === "lent" && slots.reclaim(holder) === null) holders.set(holder, "full");
          expect(slots.total).toBe([...holders.values()].filter((value) => value === "full").length);
          expect(slots.total).toBeLessThanOrEqual(3);
          expect(slots.byTag.get("db") ?? 0).toBeLessThanOrEqual(1);
          expect(slots.byTag.get("io") ?? 0).toBeLessThanOrEqual(2);
          for (const count of slots.byBucket.values()) expect(count).toBeLessThanOrEqual(2);
        }
        for (const holder of holders.keys()) slots.release(holder);
        expect([slots.total, slots.byTag.size, slots.byBucket.size]).toEqual([0, 0, 0]);
      }),
    );
  });
});
