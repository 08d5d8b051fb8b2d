import type { AuditFacet, RunFacet, StoreSupports, TaskFacet, TaskStore } from "../../../src/core/ports/store.ts";

/** A call that can be made to fail or to wait. */
export type StoreCall = "create" | "commit" | "createRun" | "commitRun" | "get" | "touch" | "feed";

interface Fault {
  readonly call: StoreCall;
  readonly error: Error;
  /** `after`: the store has done it and the answer is lost. */
  readonly when: "before" | "after";
  /** So many calls go through first. */
  after: number;
  times: number;
}

/** A call that waits inside the store. */
export interface Barrier {
  /** How many calls have come to it. */
  readonly arrived: number;
  release(): void;
}

/** A store between the runtime and another store, that fails, waits and counts as it is told. */
export class FaultStore implements TaskStore {
  readonly supports: StoreSupports;
  readonly tasks: TaskFacet;
  readonly audit: AuditFacet;
  readonly runs: RunFacet;
  /** Each write that came, failed or not: its name, and how many rows it had. */
  readonly writes: string[] = [];
  readonly #inner: TaskStore;
  #faults: Fault[] = [];
  readonly #barriers = new Map<StoreCall, { arrived: number; readonly when: Fault["when"]; readonly open: Promise<void> }>();

  constructor(inner: TaskStore, supports: Partial<StoreSupports> = {}) {
    this.#inner = inner;
    this.supports = { ...inner.supports, ...supports };
    const { tasks, audit, runs } = inner;
    this.tasks = {
      create: (creations) => this.#pass("create", () => tasks.create(creations), creations.length),
      commit: (changes) => this.#pass("commit", () => tasks.commit(changes), changes.length),
      get: (taskId) => this.#pass("get", () => tasks.get(taskId)),
      payload: (taskId) => tasks.payload(taskId),
      query: (query) => tasks.query(query),
      counts: (query) => tasks.counts(query),
      bucketCounts: (query) => tasks.bucketCounts(query),
      touch: (touches) => this.#pass("touch", () => tasks.touch(touches)),
    };
    this.audit = {
      history: (taskId, options) => audit.history(taskId, options),
      attempts: (taskId) => audit.attempts(taskId),
      feed: (cursor, options) => this.#pass("feed", () => audit.feed(cursor, options)),
      head: () => audit.head(),
    };
    this.runs = {
      create: (run, params, creations, events) => this.#pass("createRun", () => runs.create(run, params, creations, events), creations.length),
      commit: (change) => this.#pass("commitRun", () => runs.commit(change), 1),
      get: (runId) => runs.get(runId),
      query: (query) => runs.query(query),
    };
  }

  async open(): Promise<void> {
    await this.#inner.open();
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** The next calls of that name fail, or those after some that go through. Faults of one call take their turns. */
  fail(call: StoreCall, error: Error, { times = 1, after = 0, when = "before" }: Partial<Omit<Fault, "call" | "error">> = {}): void {
    this.#faults.push({ call, error, when, times, after });
  }

  /** No call fails any more. */
  heal(): void {
    this.#faults = [];
  }

  /** Every call of that name waits until it is released, before it does anything or with its answer. */
  hold(call: StoreCall, when: Fault["when"] = "before"): Barrier {
    const { promise, resolve } = Promise.withResolvers<void>();
    const barrier = { arrived: 0, when, open: promise };
    this.#barriers.set(call, barrier);
    return {
      get arrived() {
        return barrier.arrived;
      },
      release: () => {
        this.#barriers.delete(call);
        resolve();
      },
    };
  }

  async #pass<Answer>(call: StoreCall, act: () => Promise<Answer>, rows?: number): Promise<Answer> {
    if (rows !== undefined) this.writes.push(`${call} ${rows}`);
    const barrier = this.#barriers.get(call);
    if (barrier !== undefined) {
      barrier.arrived += 1;
      if (barrier.when === "before") await barrier.open;
    }
    const answer = await this.#act(call, act);
    if (barrier?.when === "after") await barrier.open;
    return answer;
  }

  async #act<Answer>(call: StoreCall, act: () => Promise<Answer>): Promise<Answer> {
    const fault = this.#faults.find((each) => each.call === call && each.times > 0);
    if (fault === undefined) return await act();
    if (fault.after > 0) {
      fault.after -= 1;
      return await act();
    }
    fault.times -= 1;
    if (fault.when === "after") await act();
    throw fault.error;
  }
}
