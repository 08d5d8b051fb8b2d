import { resolveConcurrencyPolicy } from "../src/core/policies/concurrency.ts";
import { Scheduler } from "../src/runtime/scheduler.ts";
import { systemClock } from "../src/runtime/system-clock.ts";
import { alternate } from "./lib/alternate.ts";
import { ROUNDS, sized } from "./lib/mode.ts";
import { ratios, report } from "./lib/report.ts";

// One decision: slots come free, the scheduler picks who is next, and somebody else queues up. The queue
// keeps its length, so that the figure is that of this length; slots are given back a hundred at a time.
const SMALL = sized(1_000, 200);
const LARGE = sized(100_000, 2_000);
const HUGE = sized(1_000_000, 5_000);
const DECISIONS = sized(50_000, 500);
const AT_ONCE = 100;
const BLOCKED_SHARE = 0.9;
const BUCKETS = sized(1_000, 200);
const TAGS = 20;

let made = 0;

class Load {
  readonly #started: string[] = [];
  readonly #scheduler: Scheduler;
  readonly #blockedShare: number;

  constructor(blockedShare: number) {
    this.#blockedShare = blockedShare;
    const concurrency = resolveConcurrencyPolicy({ maxParallel: AT_ONCE + 1, limits: { scarce: 1 } });
    this.#scheduler = new Scheduler({ clock: systemClock, concurrency, dispatch: (taskId) => void this.#started.push(taskId), backoffEnded: () => {} });
  }

  async fill(length: number): Promise<void> {
    // The first takes the only slot of its tag and keeps it, so that its whole class stays blocked.
    this.#enqueue(["scarce"]);
    await Promise.resolve();
    this.#started.length = 0;
    for (let i = 0; i < length + AT_ONCE; i += 1) this.#enqueue(i % 10 < this.#blockedShare * 10 ? ["scarce"] : []);
    await Promise.resolve();
  }

  /** Nanoseconds a decision. */
  async decideNs(): Promise<number> {
    const from = performance.now();
    for (let decided = 0; decided < DECISIONS; decided += AT_ONCE) {
      for (const taskId of this.#started.splice(0)) this.#scheduler.release(taskId);
      for (let i = 0; i < AT_ONCE; i += 1) this.#enqueue([]);
      await Promise.resolve();
      if (this.#started.length !== AT_ONCE) throw new Error(`expected ${AT_ONCE} to be started, and there were ${this.#started.length}.`);
    }
    return ((performance.now() - from) * 1e6) / DECISIONS;
  }

  #enqueue(tags: readonly string[]): void {
    made += 1;
    this.#scheduler.enqueue({ taskId: `t${made}`, name: "bench", priority: made % 7, bucket: null, tags, availableAt: null, backoff: false });
  }
}

/** Tasks of many buckets and tags, all limited, so that at any time a good part of the classes is blocked. */
class SpreadLoad {
  readonly #started: string[] = [];
  readonly #scheduler: Scheduler;

  constructor() {
    const limits = Object.fromEntries(Array.from({ length: TAGS }, (_, tag) => [`tag ${tag}`, 8]));
    const concurrency = resolveConcurrencyPolicy({ maxParallel: AT_ONCE, limits, perBucket: 1 });
    this.#scheduler = new Scheduler({ clock: systemClock, concurrency, dispatch: (taskId) => void this.#started.push(taskId), backoffEnded: () => {} });
  }

  async fill(length: number): Promise<void> {
    for (let i = 0; i < length + AT_ONCE; i += 1) this.#enqueue();
    await Promise.resolve();
  }

  /** Nanoseconds a decision; one task ends at a time, and what can start then does. */
  async decideNs(): Promise<number> {
    const from = performance.now();
    for (let decided = 0; decided < DECISIONS; decided += 1) {
      const ended = this.#started.splice(decided % this.#started.length, 1)[0];
      if (ended !== undefined) this.#scheduler.release(ended);
      this.#enqueue();
      await Promise.resolve();
    }
    const ns = ((performance.now() - from) * 1e6) / DECISIONS;
    if (this.#started.length < AT_ONCE / 2) throw new Error(`only ${this.#started.length} run: too much is blocked for this to mean anything.`);
    return ns;
  }

  /** Milliseconds until a name with a hundredth of the tasks is held, and is let go. */
  holdMs(): { readonly hold: number; readonly release: number } {
    const key = { kind: "name", name: "rare" } as const;
    const from = performance.now();
    this.#scheduler.hold(key);
    const held = performance.now();
    this.#scheduler.endHold(key);
    return { hold: held - from, release: performance.now() - held };
  }

  #enqueue(): void {
    made += 1;
    const name = made % 100 === 0 ? "rare" : "bench";
    const [bucket, tags] = [(made * 7919) % BUCKETS, [`tag ${(made * 31) % TAGS}`]];
    this.#scheduler.enqueue({ taskId: `t${made}`, name, priority: made % 7, bucket, tags, availableAt: null, backoff: false });
  }
}

async function spreadOf(length: number): Promise<SpreadLoad> {
  const load = new SpreadLoad();
  await load.fill(length);
  return load;
}

async function loadOf(length: number, blockedShare: number): Promise<Load> {
  const load = new Load(blockedShare);
  await load.fill(length);
  return load;
}

const small = await loadOf(SMALL, 0);
const large = await loadOf(LARGE, 0);
const huge = await loadOf(HUGE, BLOCKED_SHARE);
const smallSpread = await spreadOf(SMALL);
const largeSpread = await spreadOf(LARGE);
const figures = await alternate(
  [
    { name: "small", measure: async () => await small.decideNs() },
    { name: "large", measure: async () => await large.decideNs() },
    { name: "huge", measure: async () => await huge.decideNs() },
    { name: "smallSpread", measure: async () => await smallSpread.decideNs() },
    { name: "largeSpread", measure: async () => await largeSpread.decideNs() },
  ],
  { rounds: ROUNDS, warmups: 2 },
);

report({ bench: "dispatch", metric: `decision, ${SMALL} queued`, unit: "ns", samples: figures.small });
report({ bench: "dispatch", metric: `decision, ${LARGE} queued`, unit: "ns", samples: figures.large });
report({ bench: "dispatch", metric: `decision, ${HUGE} queued, 9 of 10 blocked`, unit: "ns", samples: figures.huge });
report({ bench: "dispatch", metric: `decision, ${SMALL} queued of ${BUCKETS} buckets, ${TAGS} tags`, unit: "ns", samples: figures.smallSpread });
report({ bench: "dispatch", metric: `decision, ${LARGE} queued of ${BUCKETS} buckets, ${TAGS} tags`, unit: "ns", samples: figures.largeSpread });
const target = { atMost: 1.5 };
report({ bench: "dispatch", metric: `${LARGE} / ${SMALL} queued`, unit: "ratio", samples: ratios(figures.large, figures.small), target });
report({ bench: "dispatch", metric: `${HUGE}, 9 of 10 blocked / ${SMALL} queued`, unit: "ratio", samples: ratios(figures.huge, figures.small), target });
report({
  bench: "dispatch",
  metric: `${LARGE} / ${SMALL} queued of ${BUCKETS} buckets, ${TAGS} tags`,
  unit: "ratio",
  samples: ratios(figures.largeSpread, figures.smallSpread),
});

// Once for each fresh queue: the first hold of a key is the one that sorts.
const holds = [];
for (let round = 0; round < ROUNDS; round += 1) holds.push((await spreadOf(LARGE)).holdMs());
report({ bench: "dispatch", metric: `first hold of a name, ${LARGE} queued`, unit: "ms", samples: holds.map(({ hold }) => hold) });
report({ bench: "dispatch", metric: `release of it`, unit: "ms", samples: holds.map(({ release }) => release) });
