import fc from "fast-check";
import { afterEach, expect, test } from "vitest";
import type { StoredEvent, TaskStatusChanged } from "../../src/core/events.ts";
import { createFailure } from "../../src/core/failure.ts";
import type { LifecycleEvent } from "../../src/core/lifecycle-events.ts";
import type { TaskChange, TaskQuery, TaskStore } from "../../src/core/ports/store.ts";
import type { TaskSnapshot } from "../../src/core/snapshot.ts";
import { apply } from "../../src/core/state-machine.ts";
import { TASK_STATUSES } from "../../src/core/status.ts";
import { isTerminal } from "../../src/core/transitions.ts";
import { clearFolders, STORE_KINDS } from "./store-kinds.ts";
import { changeOf, creationOf } from "./stored-tasks.ts";

/** The naive store: rows in a list, events in a list, everything found by looking at all of it. */
class Model {
  readonly rows: TaskSnapshot[] = [];
  readonly events: StoredEvent[] = [];

  find(taskId: string): TaskSnapshot | undefined {
    return this.rows.find((row) => row.taskId === taskId);
  }

  put(row: TaskSnapshot, events: readonly StoredEvent[]): void {
    const index = this.rows.findIndex((known) => known.taskId === row.taskId);
    if (index < 0) this.rows.push(row);
    else this.rows[index] = row;
    this.events.push(...events);
  }

  query(query: TaskQuery): readonly TaskSnapshot[] {
    return this.rows.filter(
      (row) =>
        (query.status?.includes(row.status) ?? true) &&
        (query.pipelineRunId ?? row.pipelineRunId) === row.pipelineRunId &&
        (query.name ?? row.name) === row.name &&
        (query.tag === undefined || row.tags.includes(query.tag)) &&
        row.taskId.startsWith(query.idPrefix ?? "") &&
        (query.owner ?? row.owner) === row.owner,
    );
  }
}

const FAILURE = createFailure({ kind: "exception", message: "no" });
const HAPPENINGS: readonly LifecycleEvent[] = [
  { type: "enqueue" },
  { type: "dispatch", owner: "node:1", executor: "async" },
  { type: "dispatch", owner: "node:2", executor: "async" },
  { type: "launched", pid: null },
  { type: "succeeded", outcome: { n: 1 } },
  { type: "failed", failure: FAILURE, retryAt: 5 },
  { type: "failed", failure: FAILURE, retryAt: null },
  { type: "cancel" },
  { type: "pause" },
  { type: "resume" },
  { type: "retry" },
  { type: "reset" },
];

type Step =
  | { readonly do: "create"; readonly count: number; readonly run: string | null; readonly tag: string; readonly name: string }
  | { readonly do: "commit"; readonly picks: readonly { readonly task: number; readonly event: number; readonly stale: number }[] }
  | { readonly do: "touch"; readonly task: number; readonly owner: string; readonly attempt: number; readonly at: number };

const steps = fc.array(
  fc.oneof(
    fc.record({
      do: fc.constant("create" as const),
      count: fc.integer({ min: 1, max: 3 }),
      run: fc.constantFrom(null, "r1", "r2"),
      tag: fc.constantFrom("io", "db"),
      name: fc.constantFrom("x", "y"),
    }),
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant("commit" as const),
        picks: fc.array(fc.record({ task: fc.nat(30), event: fc.nat(99), stale: fc.constantFrom(0, 0, 0, 1) }), {
          minLength: 1,
          maxLength: 5,
        }),
      }),
    },
    fc.record({
      do: fc.constant("touch" as const),
      task: fc.nat(30),
      owner: fc.constantFrom("node:1", "node:2"),
      attempt: fc.constantFrom(1, 2),
      at: fc.nat(99),
    }),
  ),
  { minLength: 40, maxLength: 80 },
);

const queries: fc.Arbitrary<TaskQuery> = fc.record(
  {
    status: fc.subarray([...TASK_STATUSES]),
    pipelineRunId: fc.constantFrom("r1", "r2", "r3"),
    name: fc.constantFrom("x", "y"),
    tag: fc.constantFrom("io", "db"),
    idPrefix: fc.constantFrom("t", "t1", "t01"),
    owner: fc.constantFrom("node:1", "node:2"),
  },
  { requiredKeys: [] },
);

async function take(step: Step, store: TaskStore, model: Model): Promise<void> {
  switch (step.do) {
    case "create": {
      const creations = Array.from({ length: step.count }, (_, index) =>
        creationOf(`t${String(model.rows.length + index).padStart(2, "0")}`, { pipelineRunId: step.run, tags: [step.tag], name: step.name }),
      );
      await store.tasks.create(creations);
      for (const { snapshot, events } of creations) model.put(snapshot, events);
      return;
    }
    case "commit":
      return commit(step.picks, store, model);
    case "touch": {
      const row = model.rows[step.task % model.rows.length];
      if (row === undefined) return;
      await store.tasks.touch([{ taskId: row.taskId, owner: step.owner, attempt: step.attempt, heartbeatAt: step.at }]);
      if (row.owner === step.owner && row.attempt === step.attempt && !isTerminal(row.status)) model.put({ ...row, lastHeartbeatAt: step.at }, []);
    }
  }
}

async function commit(picks: Extract<Step, { do: "commit" }>["picks"], store: TaskStore, model: Model): Promise<void> {
  const changes: TaskChange[] = [];
  const expected: (number | null)[] = [];
  for (const pick of picks) {
    const row = model.rows[pick.task % model.rows.length];
    if (row === undefined) continue;
    const possible = HAPPENINGS.filter((event) => apply(row, event, 1).ok);
    const happening = possible[pick.event % possible.length];
    if (happening === undefined) continue;
    const change = changeOf(row, happening);
    changes.push(pick.stale === 0 ? change : { ...change, expectVersion: change.expectVersion + pick.stale });
    expected.push(pick.stale === 0 ? null : row.statusVersion);
    if (pick.stale === 0) model.put(change.snapshot, change.events);
  }
  const results = await store.tasks.commit(changes);
  expect(results.map((result) => result.conflict?.actual ?? null)).toEqual(expected);
}

async function pages(store: TaskStore, query: TaskQuery, limit: number): Promise<readonly TaskSnapshot[]> {
  const found: TaskSnapshot[] = [];
  let page = await store.tasks.query({ ...query, limit });
  found.push(...page.items);
  while (page.cursor !== null) {
    expect(page.items).toHaveLength(limit);
    page = await store.tasks.query({ ...query, limit, cursor: page.cursor });
    expect(page.items).not.toEqual([]);
    found.push(...page.items);
  }
  return found;
}

async function feed(store: TaskStore, limit: number, filter: { readonly taskId?: string; readonly pipelineRunId?: string }): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  let page = await store.audit.feed(null, { ...filter, limit });
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    found.push(...page.map((entry) => entry.event));
    page = await store.audit.feed(last.cursor, { ...filter, limit });
  }
  return found;
}

afterEach(clearFolders);

test.each(STORE_KINDS)("commits, touches, queries, counts, history and feed of the $name store agree with a naive model", async (kind) => {
  await fc.assert(
    fc.asyncProperty(steps, fc.array(queries, { minLength: 1, maxLength: 4 }), fc.integer({ min: 1, max: 7 }), async (taken, asked, limit) => {
      const store = kind.make();
      await store.open();
      const model = new Model();
      await take({ do: "create", count: 6, run: "r1", tag: "io", name: "x" }, store, model);
      for (const step of taken) await take(step, store, model);
      for (const query of [{}, ...asked]) {
        const expected = model.query(query);
        expect(await pages(store, query, limit)).toEqual(expected.map((row) => ({ ...row, outcome: undefined })));
        const counts = await store.tasks.counts(query);
        for (const status of TASK_STATUSES) expect(counts[status]).toBe(expected.filter((row) => row.status === status).length);
        const buckets = Map.groupBy(expected, (row) => row.bucket);
        buckets.delete(null);
        expect(await store.tasks.bucketCounts(query)).toEqual(new Map([...buckets].map(([bucket, rows]) => [bucket, rows.length])));
      }
      for (const status of TASK_STATUSES) {
        // By status and another part: what the store counts one by one.
        const counts = await store.tasks.counts({ status: [status], idPrefix: "t" });
        expect(counts[status]).toBe(model.query({ status: [status] }).length);
      }
      expect(await feed(store, limit, {})).toEqual(model.events);
      expect(await feed(store, limit, { pipelineRunId: "r1" })).toEqual(model.events.filter((event) => event.pipelineRunId === "r1"));
      for (const row of model.rows) {
        const events = model.events.filter((event) => event.taskId === row.taskId);
        const history = events.filter((event): event is TaskStatusChanged => event.type === "TaskStatusChanged");
        expect(await store.tasks.get(row.taskId)).toEqual(row);
        expect(await store.audit.history(row.taskId)).toEqual(history);
        expect(history.map((step) => step.statusVersion)).toEqual(history.map((_, index) => index + 1));
        expect(await feed(store, limit, { taskId: row.taskId })).toEqual(events);
      }
      await store.close();
    }),
    { numRuns: kind.name === "memory" ? 60 : 15 },
  );
});
