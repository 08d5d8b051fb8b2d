import { beforeEach, describe, expect, test } from "vitest";
import type { CarrierListener } from "../../../src/runtime/executors/carrier-link.ts";
import { CarrierPool } from "../../../src/runtime/executors/carrier-pool.ts";
import type { PooledLink } from "../../../src/runtime/executors/carrier-pool.ts";

class FakeLink implements PooledLink {
  readonly pid = null;
  readonly name: string;
  listener: CarrierListener | null = null;
  alive = true;
  readonly #gone = Promise.withResolvers<void>();

  constructor(name: string) {
    this.name = name;
  }

  post(): void {}

  kill(): void {
    done.push(`${this.name} killed`);
  }

  hold(): void {
    done.push(`${this.name} held`);
  }

  letGo(): void {
    done.push(`${this.name} let go`);
  }

  async retire(): Promise<void> {
    done.push(`${this.name} retired`);
    await this.#gone.promise;
  }

  die(): void {
    this.alive = false;
    this.#gone.resolve();
  }
}

let done: string[];
let made: FakeLink[];

beforeEach(() => {
  done = [];
  made = [];
});

function newPool(options: { readonly keep?: number; readonly maxUses?: number } = {}): CarrierPool<FakeLink> {
  const make = (): FakeLink => {
    const link = new FakeLink(`c${made.length + 1}`);
    made.push(link);
    return link;
  };
  return new CarrierPool({ make, keep: 2, maxUses: 100, ...options });
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  void promise.then(() => (pending = false));
  await new Promise((resolve) => setImmediate(resolve));
  return pending;
}

describe("a carrier", () => {
  test("is made when it is needed, and used again", () => {
    const pool = newPool();
    const first = pool.take();
    first.listener = { message: () => {}, exited: () => {} };
    pool.giveBack(first);
    expect(first.listener).toBeNull();
    expect(pool.take()).toBe(first);
    expect(made).toHaveLength(1);
    expect(done).toEqual(["c1 held", "c1 let go", "c1 held"]);
  });

  test("is retired after its last use", () => {
    const pool = newPool({ maxUses: 2 });
    pool.giveBack(pool.take());
    const second = pool.take();
    pool.giveBack(second);
    expect(done).toEqual(["c1 held", "c1 let go", "c1 held", "c1 retired"]);
    expect(pool.take()).not.toBe(second);
  });

  test("is retired where enough are idle", () => {
    const pool = newPool({ keep: 1 });
    const [first, second] = [pool.take(), pool.take()];
    pool.giveBack(first);
    pool.giveBack(second);
    expect(pool.idleCount).toBe(1);
    expect(done.at(-1)).toBe("c2 retired");
  });

  test("made ahead is the next one taken, and has all its uses", () => {
    const pool = newPool({ keep: 0, maxUses: 1 });
    pool.add(new FakeLink("ahead"));
    expect(pool.idleCount).toBe(1);
    const taken = pool.take();
    expect(taken.name).toBe("ahead");
    pool.giveBack(taken);
    expect(done).toEqual(["ahead let go", "ahead held", "ahead retired"]);
  });

  test("that died while it was idle is passed over", () => {
    const pool = newPool();
    const [first, second] = [pool.take(), pool.take()];
    pool.giveBack(first);
    pool.giveBack(second);
    second.die();
    expect(pool.take()).toBe(first);
    first.die();
    pool.giveBack(first);
    expect(pool.take().name).toBe("c3");
  });

  test("that is dropped is not taken again; while it lives it is sent home", () => {
    const pool = newPool();
    const link = pool.take();
    pool.drop(link);
    expect(done).toEqual(["c1 held", "c1 retired"]);
    link.die();
    pool.drop(link);
    expect(done).toEqual(["c1 held", "c1 retired"]);
    expect(pool.take().name).toBe("c2");
  });
});

describe("closing", () => {
  test("sends the idle ones home and waits until they are gone", async () => {
    const pool = newPool();
    const [first, second] = [pool.take(), pool.take()];
    pool.giveBack(first);
    pool.giveBack(second);
    const closed = pool.close();
    expect(done.slice(-2)).toEqual(["c1 retired", "c2 retired"]);
    first.die();
    expect(await isPending(closed)).toBe(true);
    second.die();
    await closed;
    expect(pool.idleCount).toBe(0);
  });

  test("ends those that still work", async () => {
    const pool = newPool();
    const link = pool.take();
    const closed = pool.close();
    expect(done).toEqual(["c1 held", "c1 killed", "c1 retired"]);
    link.die();
    await closed;
  });

  test("waits for those that were leaving already", async () => {
    const pool = newPool({ keep: 0 });
    const link = pool.take();
    pool.giveBack(link);
    const closed = pool.close();
    expect(await isPending(closed)).toBe(true);
    link.die();
    await closed;
    await pool.close();
  });

  test("keeps nothing that comes back, or was made ahead, afterwards", async () => {
    const pool = newPool();
    await pool.close();
    const link = pool.take();
    pool.giveBack(link);
    pool.add(new FakeLink("ahead"));
    expect(pool.idleCount).toBe(0);
    expect(done.filter((step) => step.endsWith("retired"))).toEqual(["c1 retired", "ahead retired"]);
  });
});
