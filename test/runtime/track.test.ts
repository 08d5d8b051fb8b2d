import { beforeEach, describe, expect, test } from "vitest";
import { ConfigurationError, TaskCancelled } from "../../src/core/errors.ts";
import { track } from "../../src/runtime/track.ts";

let told: unknown[];
let stopAt: number;

beforeEach(() => {
  told = [];
  stopAt = Number.POSITIVE_INFINITY;
});

const context = {
  checkpoint: async () => {
    told.push("checkpoint");
    if (told.filter((each) => each === "checkpoint").length > stopAt) throw new TaskCancelled("stopped");
    await Promise.resolve();
  },
  progress: (report: unknown) => void told.push(report),
};

async function all<Item>(items: AsyncIterable<Item>): Promise<readonly Item[]> {
  const got: Item[] = [];
  for await (const item of items) got.push(item);
  return got;
}

async function* later<Item>(...items: readonly Item[]): AsyncGenerator<Item, void, undefined> {
  yield* items;
}

describe("going through items", () => {
  test("comes by a checkpoint before each and says how far it is after each", async () => {
    expect(await all(track(context, ["a", "b"], { unit: "rows" }))).toEqual(["a", "b"]);
    expect(told).toEqual([{ unit: "rows", total: 2, done: 0 }, "checkpoint", { done: 1 }, "checkpoint", { done: 2 }]);
  });

  test.each([
    ["a list", ["a", "b"], 2],
    ["a set", new Set(["a"]), 1],
    ["a map", new Map([["a", 1]]), 1],
    ["a typed array", new Uint8Array(3), 3],
    ["an empty list", [], 0],
  ])("knows the length of %s", async (_what, items, total) => {
    expect(await all(track<unknown>(context, items))).toHaveLength(total);
    expect(told[0]).toEqual({ total, done: 0 });
  });

  test.each([
    ["a generator", () => later("a")],
    ["text", () => "😀b"],
    ["an iterator of its own", () => ["a"].values()],
  ])("does not know the length of %s", async (_what, make) => {
    await all(track<unknown>(context, make()));
    expect(told[0]).toEqual({ done: 0 });
  });

  test("takes the caller's word for the length", async () => {
    await all(track(context, later(1), { total: 9 }));
    expect(told[0]).toEqual({ total: 9, done: 0 });
  });

  test("waits for items that come later, async or as promises", async () => {
    expect(await all(track(context, later("a", "b")))).toEqual(["a", "b"]);
    expect(await all(track(context, [Promise.resolve("c")]))).toEqual(["c"]);
  });
});

describe("an end before the last item", () => {
  test("by a stop: the item at which it was met is not given out, and the source is closed", async () => {
    let closed = false;
    function* source(): Generator<number, void, undefined> {
      try {
        for (let next = 1; ; next += 1) yield next;
      } finally {
        closed = true;
      }
    }
    stopAt = 2;
    const got: number[] = [];
    const going = (async () => {
      for await (const item of track(context, source())) got.push(item);
    })();
    await expect(going).rejects.toThrow("stopped");
    expect({ got, closed }).toEqual({ got: [1, 2], closed: true });
  });

  test("by a break: what was not finished is not counted, and the source is closed", async () => {
    let closed = false;
    async function* source(): AsyncGenerator<number, void, undefined> {
      try {
        for (let next = 1; ; next += 1) yield next;
      } finally {
        closed = true;
      }
    }
    for await (const item of track(context, source())) if (item === 2) break;
    expect(closed).toBe(true);
    expect(told.at(-1)).toBe("checkpoint");
    expect(told).toContainEqual({ done: 1 });
    expect(told).not.toContainEqual({ done: 2 });
  });

  test("by an error of the source: it comes through as it is", async () => {
    const broken = new RangeError("no more rows");
    async function* source(): AsyncGenerator<number, void, undefined> {
      yield 1;
      throw broken;
    }
    await expect(all(track(context, source()))).rejects.toBe(broken);
  });
});

test.each([7, null, undefined, {}, () => []])("what cannot be gone through (%s) is refused", async (items) => {
  await expect(all(track(context, items as never))).rejects.toThrow(ConfigurationError);
  await expect(all(track(context, items as never))).rejects.toThrow("ctx.track takes something to iterate over");
});
