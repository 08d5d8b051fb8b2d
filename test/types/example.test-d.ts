import { expectTypeOf } from "vitest";
import { z } from "zod";
import { allSettled, Controller, definePipeline, exponential, failFast, isFailure, quorum, runTask, task } from "../../src/index.ts";
import type {
  Failure,
  FeedEntry,
  Hold,
  HoldTarget,
  Limits,
  ParsedArgs,
  Pipeline,
  PipelineBuilder,
  PipelineNode,
  RunHandle,
  RunSnapshot,
  SlotHolding,
  Task,
  TaskContext,
  TaskEvent,
  TaskHandle,
  TaskHooks,
  TaskResult,
  TaskSnapshot,
  TaskStatus,
  TupleSchema,
} from "../../src/index.ts";

// Checked by `tsc` with the tests (npm run types). No cast and no `any` here: this is what a user writes.

interface Order {
  readonly id: string;
  readonly total: number;
}

async function readOrders(path: string, { signal }: { readonly signal: AbortSignal }): Promise<Order[]> {
  signal.throwIfAborted();
  return [{ id: path, total: 1 }];
}

const extract = task(
  {
    name: "extract",
    retry: { maxAttempts: 3, backoff: exponential({ base: "1s", max: "5m" }) },
    timeout: { start: "30s", attempt: "10m", idle: "60s" },
    tags: ["io"],
  },
  async (ctx, path: string): Promise<Order[]> => {
    const orders = await readOrders(path, { signal: ctx.signal });
    ctx.progress({ total: orders.length, unit: "rows" });
    for (const [index] of orders.entries()) {
      await ctx.checkpoint();
      ctx.progress({ done: index + 1 });
    }
    return orders;
  },
);
const transform = task({ name: "transform" }, (_ctx, orders: readonly Order[]) => orders.map(({ total }) => total));
const load = task({ name: "load", executor: "inline" }, async (_ctx, totals: readonly number[]) => totals.length > 0);
const report = task({ name: "report" }, (_ctx, title: string = "report") => title);
const tick = task({ name: "tick" }, (ctx) => ctx.attempt);

expectTypeOf(extract).toEqualTypeOf<Task<"extract", [path: string], Order[]>>();
expectTypeOf(transform).toEqualTypeOf<Task<"transform", [orders: readonly Order[]], number[]>>();
expectTypeOf(load.run).returns.toEqualTypeOf<boolean | PromiseLike<boolean>>();
expectTypeOf<Parameters<typeof tick.run>>().toEqualTypeOf<[ctx: TaskContext]>();
expectTypeOf<TaskResult<typeof extract>>().toEqualTypeOf<Order[]>();
expectTypeOf<TaskResult<typeof load>>().toEqualTypeOf<boolean>();

const nightly = definePipeline("nightly-etl", { onFailure: failFast() }, (p, day: string) => {
  const raw = p.add(extract, { args: [`in/${day}.csv`] });
  expectTypeOf(raw.name).toEqualTypeOf<"extract">();
  const clean = p.add(transform, { deps: [raw], args: (up) => [up(raw)], retry: { maxAttempts: 5 } });
  p.add(load, { deps: [clean], when: (up) => up(clean).length > 0, args: (up) => [up(clean)] });
  p.add(tick);
  p.add(tick, { name: "tock" });
  p.add(report, { deps: [clean] });
  p.add(report, { name: "titled", args: ["orders"] });
  // A tuple that nobody may change is a tuple, too.
  const fixed = [["a", "b"].map((id) => ({ id, total: 1 }))] as const;
  p.add(transform, { name: "fixed", args: fixed });
  p.add(transform, { name: "fixed-too", args: () => fixed });
});

/** `up` is `T` where the join promises success, else `T | undefined`. */
const joins = definePipeline("joins", { onFailure: allSettled(), onUpstreamFailure: "skip" }, (p) => {
  const raw = p.add(extract, { args: ["a"] });
  const ticked = p.add(tick);
  const readRaw = task({ name: "read-raw" }, (_ctx, orders: readonly Order[] | undefined) => orders?.length ?? 0);
  p.add(readRaw, {
    deps: [raw, ticked],
    args: (up) => {
      expectTypeOf(up(raw)).toEqualTypeOf<Order[]>();
      expectTypeOf(up(ticked)).toEqualTypeOf<number>();
      return [up(raw)];
    },
  });
  for (const join of ["any_succeeded", "none_failed", "all_done"] as const) {
    p.add(readRaw, {
      name: `read-raw-${join}`,
      deps: [raw, ticked],
      join,
      when: (up) => up(ticked) !== undefined,
      args: (up) => {
        expectTypeOf(up(raw)).toEqualTypeOf<Order[] | undefined>();
        expectTypeOf(up(ticked)).toEqualTypeOf<number | undefined>();
        return [up(raw)];
      },
    });
  }
  p.add(transform, { name: "explicit", deps: [raw], join: "all_succeeded", args: (up) => [up(raw)] });
});

/** `deps` may stand after what reads it. */
const depsLast = definePipeline("deps-last", {}, (p) => {
  const raw = p.add(extract, { args: ["a"] });
  p.add(transform, { args: (up) => [up(raw)], deps: [raw] });
  p.add(load, { name: "load-2", when: (up) => up(raw).length > 0, args: (up) => [up(raw).map(({ total }) => total)], deps: [raw] });
});

/** A map's value is the list of results in the order of its items; where it keeps failures each of them may be one. */
const maps = definePipeline("maps", { onFailure: allSettled() }, (p, ids: readonly string[]) => {
  const raw = p.add(extract, { args: ["a"] });
  const price = task({ name: "price" }, (_ctx, order: Order) => order.total);
  const priced = p.map(price, { deps: [raw], items: (up) => up(raw), maxParallel: 8 });
  expectTypeOf(priced).toEqualTypeOf<PipelineNode<"price", readonly number[]>>();
  const kept = p.map(price, { name: "kept", items: ids.map((id) => ({ id, total: 1 })), failedItems: "keep" });
  expectTypeOf(kept).toEqualTypeOf<PipelineNode<"kept", readonly (number | Failure)[]>>();
  // What follows the item may be left out, and the item, too, may be optional.
  const titled = task({ name: "titled" }, (_ctx, title?: string, times: number = 1) => (title ?? "none").repeat(times));
  const titles = p.map(titled, { items: ids, retry: { maxAttempts: 2 }, timeout: { attempt: "1m" } });
  p.map(titled, { name: "some-titles", items: ["a", undefined] as const });
  const tupled = task({ name: "tupled" }, (_ctx, [id, total]: readonly [string, number]) => id.repeat(total));
  p.map(tupled, { deps: [raw], items: (up) => up(raw).map(({ id, total }) => [id, total] as const) });
  p.add(load, { deps: [priced, titles], args: (up) => [up(priced)], when: (up) => up(titles).length > 0 });
  // A map of a map, and one below a join that promises nothing.
  p.map(tick, { name: "ticks", deps: [priced], items: (up) => up(priced).map(() => undefined as never) });
  p.map(price, {
    name: "any",
    deps: [raw, kept],
    join: "all_done",
    items: (up) => {
      expectTypeOf(up(kept)).toEqualTypeOf<readonly (number | Failure)[] | undefined>();
      return up(raw) ?? [];
    },
  });
});

/** Names made in a loop widen to a template, and still flow. */
const fanOut = definePipeline("fan-out", { onFailure: quorum(2) }, (p, count: number, options: { readonly dry?: boolean } = {}) => {
  const parts = Array.from({ length: count }, (_, index) => p.add(extract, { name: `part-${index}`, args: [`in/${index}.csv`] }));
  const all = task({ name: "all" }, (_ctx, orders: readonly Order[]) => orders.length);
  const joined = p.add(all, {
    deps: parts,
    args: (up) => {
      expectTypeOf(parts.map((part) => up(part))).toEqualTypeOf<Order[][]>();
      return [parts.flatMap((part) => up(part))];
    },
  });
  p.add(tick, { deps: [...parts, joined], when: (up) => up(joined) > 0 && options.dry !== true });
  let before: PipelineNode<`step-${number}`, number> = p.add(tick, { name: "step-0" });
  for (let index = 1; index < count; index += 1) before = p.add(tick, { name: `step-${index}`, deps: [before] });
});

// Without annotations the parameters have the types that the schema gives out.
const importDay = task({ name: "import-day", input: z.tuple([z.string(), z.object({ limit: z.coerce.number() })]) }, (_ctx, day, { limit }) => {
  expectTypeOf(day).toEqualTypeOf<string>();
  expectTypeOf(limit).toEqualTypeOf<number>();
  return day.length + limit;
});
expectTypeOf(importDay).toEqualTypeOf<Task<"import-day", [string, { limit: number }], number>>();

// Nobody has to name them all.
const firstOnly = task({ name: "first-only", input: z.tuple([z.string(), z.number()]) }, (_ctx, day) => day.length);
expectTypeOf(firstOnly).toEqualTypeOf<Task<"first-only", [string, number], number>>();
const parsesOnly = task({ name: "parses-only", input: z.tuple([z.string()]) }, () => true);
expectTypeOf(parsesOnly).toEqualTypeOf<Task<"parses-only", [string], boolean>>();
const daily = definePipeline("daily", { input: z.tuple([z.string(), z.number()]) }, (p, day) => void p.add(firstOnly, { args: [day, 1] }));
expectTypeOf(daily).toEqualTypeOf<Pipeline<"daily", [string, number]>>();

const importAll = definePipeline("import-all", { input: z.tuple([z.array(z.string()), z.boolean()]) }, (p, days, dry) => {
  expectTypeOf(days).toEqualTypeOf<string[]>();
  expectTypeOf(dry).toEqualTypeOf<boolean>();
  for (const day of days) p.add(importDay, { name: `import-${day}`, args: [day, { limit: 1 }] });
});

// Hooks stand behind the function, so the result they are given has its type.
const hooked = task({ name: "hooked", tags: ["io"] }, async (_ctx, path: string): Promise<Order[]> => [{ id: path, total: 1 }], {
  onStart: (snapshot) => expectTypeOf(snapshot).toEqualTypeOf<TaskSnapshot>(),
  onSuccess: async (snapshot, orders) => {
    expectTypeOf(snapshot).toEqualTypeOf<TaskSnapshot>();
    expectTypeOf(orders).toEqualTypeOf<Order[]>();
  },
  onFailure: (_snapshot, failure) => expectTypeOf(failure).toEqualTypeOf<Failure>(),
  onRetry: (_snapshot, failure) => expectTypeOf(failure).toEqualTypeOf<Failure>(),
  onCancel: ({ status }) => expectTypeOf(status).toEqualTypeOf<TaskStatus>(),
});
expectTypeOf(hooked).toEqualTypeOf<Task<"hooked", [path: string], Order[]>>();
const hookedByName = task({ name: "hooked-by-name", input: z.tuple([z.number()]) }, (_ctx, value) => String(value), {
  onSuccess: (_snapshot, text) => expectTypeOf(text).toEqualTypeOf<string>(),
});
expectTypeOf(hookedByName).toEqualTypeOf<Task<"hooked-by-name", [number], string>>();

// Hooks that stand elsewhere, for one result or for all of them: the result is still that of the function.
const alert: TaskHooks = { onFailure: (snapshot, failure) => void [snapshot.name, failure.message] };
const ofNumbers: TaskHooks<number> = { onSuccess: (_snapshot, value) => value.toFixed() };
const ofMore: TaskHooks<number | null> = { onSuccess: (_snapshot, value) => value?.toFixed() };
const inferred = { onSuccess: (_snapshot: TaskSnapshot, value: number) => value };
const square = (_ctx: TaskContext, side: number): number => side * side;
for (const hooks of [alert, ofNumbers, ofMore, inferred, { ...alert, ...ofNumbers }]) {
  expectTypeOf(task({ name: "square" }, (_ctx, side: number): number => side * side, hooks)).toEqualTypeOf<Task<"square", [side: number], number>>();
  expectTypeOf(task({ name: "square" }, async (_ctx, side: number) => side * side, hooks)).toEqualTypeOf<Task<"square", [side: number], number>>();
  expectTypeOf(task({ name: "square" }, square, hooks)).toEqualTypeOf<Task<"square", [side: number], number>>();
  expectTypeOf(task({ name: "one" }, () => 1, hooks)).toEqualTypeOf<Task<"one", [], number>>();
  expectTypeOf(task({ name: "next", input: z.tuple([z.number()]) }, (_ctx, value) => value + 1, hooks)).toEqualTypeOf<Task<"next", [number], number>>();
}
expectTypeOf(task({ name: "square" }, square, alert)).toEqualTypeOf<Task<"square", [side: number], number>>();
expectTypeOf(task({ name: "square" }, (_ctx, side: number): number => side * side, alert)).toEqualTypeOf<Task<"square", [side: number], number>>();
expectTypeOf(task({ name: "square" }, (_ctx, side: number): number => side * side, ofNumbers)).toEqualTypeOf<Task<"square", [side: number], number>>();
const mixed = task({ name: "square" }, (_ctx, side: number) => side * side, {
  ...alert,
  onSuccess: (_snapshot, value) => expectTypeOf(value).toEqualTypeOf<number>(),
});
expectTypeOf(mixed).toEqualTypeOf<Task<"square", [side: number], number>>();
const throws = task({ name: "throws" }, (_ctx, why: string): never => {
  throw new Error(why);
});
expectTypeOf(throws).toEqualTypeOf<Task<"throws", [why: string], never>>();
task({ name: "anything" }, (): unknown => 1, { onSuccess: (_snapshot, value) => expectTypeOf(value).toBeUnknown() });

/** Functions that make tasks and pipelines lose nothing. */
export function withAlert<Args extends readonly unknown[], Result>(
  name: string,
  run: (ctx: TaskContext, ...args: Args) => Result | PromiseLike<Result>,
): Task<string, Args, Result> {
  return task({ name }, run, { ...alert, onSuccess: (_snapshot, result) => [result] satisfies Result[] });
}
export function checked<Schema extends TupleSchema, Result>(
  input: Schema,
  run: (ctx: TaskContext, ...args: ParsedArgs<Schema>) => Result,
  hooks: TaskHooks<Result>,
): Task<"checked", ParsedArgs<Schema>, Result> {
  return task({ name: "checked", input }, run, hooks);
}
export function daysOf<Params extends readonly unknown[]>(build: (p: PipelineBuilder, ...params: Params) => void): Pipeline<"days", Params> {
  return definePipeline("days", {}, build);
}
expectTypeOf(withAlert("square", square)).toEqualTypeOf<Task<string, [side: number], number>>();

/** What a map keeps is told apart. */
export function tellApart(kept: readonly (number | Failure)[]): void {
  expectTypeOf(kept.filter(isFailure)).toEqualTypeOf<Failure[]>();
  expectTypeOf(kept.flatMap((each) => (isFailure(each) ? [] : [each]))).toEqualTypeOf<number[]>();
}

// What a build returns is not looked at, as long as it is no promise.
expectTypeOf(definePipeline("returns", {}, (p) => p.add(tick))).toEqualTypeOf<Pipeline<"returns", []>>();
expectTypeOf(definePipeline("returns", {}, (p, day: string) => [p.add(tick, { name: day })])).toEqualTypeOf<Pipeline<"returns", [day: string]>>();
expectTypeOf(definePipeline("returns", {}, (p, dry: boolean) => dry || p.add(tick))).toEqualTypeOf<Pipeline<"returns", [dry: boolean]>>();

export { depsLast, fanOut, importAll, joins, maps, nightly };

export async function main(): Promise<void> {
  await using controller = await Controller.open({
    tasks: [extract, transform, load, report, tick, importDay, hooked, hookedByName],
    pipelines: [nightly, joins, fanOut, importAll, maps],
    concurrency: { maxParallel: 8, limits: { io: 4 }, perBucket: 2, defaultPriority: 0 },
    buckets: { count: 64, own: "all" },
    onSuccess: (_snapshot, result) => expectTypeOf(result).toBeUnknown(),
    onFailure: async (_snapshot, failure) => expectTypeOf(failure).toEqualTypeOf<Failure>(),
  });

  const handle = await controller.submit(extract, ["in/today.csv"], { priority: 5, tags: ["io"], timeout: { attempt: 60_000 } });
  expectTypeOf(handle).toEqualTypeOf<TaskHandle<Order[]>>();
  expectTypeOf(await handle.pause({ timeout: "30s" })).toEqualTypeOf<boolean>();
  await handle.resume();
  await handle.stop({ grace: "10s" });
  expectTypeOf(await handle.wait({ timeout: "1h" })).toEqualTypeOf<TaskSnapshot>();
  await handle.wait({ for: "paused", timeout: "none" });
  expectTypeOf(await handle.result()).toEqualTypeOf<Order[]>();
  for await (const event of handle.events({ types: ["TaskStatusChanged"] })) expectTypeOf(event).toEqualTypeOf<TaskEvent>();

  for await (const snapshot of controller.watch(handle.id)) expectTypeOf(snapshot).toEqualTypeOf<TaskSnapshot>();
  for await (const snapshot of controller.watch({ status: ["running"], tag: "io" })) expectTypeOf(snapshot).toEqualTypeOf<TaskSnapshot>();
  for await (const entry of controller.stream({ from: null, types: ["TaskStatusChanged"] })) expectTypeOf(entry).toEqualTypeOf<FeedEntry>();

  await controller.submit(extract, ["in/today.csv"] as const);
  await controller.submit(extract, ["in/today.csv"], { delay: "10m", bucketKey: "tenant-42" });
  await controller.submit(tick, [], { runAt: new Date(0) });
  await controller.startRun(nightly, ["2026-12-01"], { bucketKey: "tenant-42" });

  for (const target of [{ name: "extract" }, { tag: "io" }, { bucket: 3 }] satisfies HoldTarget[]) {
    expectTypeOf(await controller.hold(target, { actor: "ada", reason: "the disk is full" })).toEqualTypeOf<Hold>();
    expectTypeOf(await controller.release(target)).toEqualTypeOf<boolean>();
  }
  expectTypeOf(await controller.setLimits({ maxParallel: 4, limits: { io: null, db: 2 }, perBucket: null })).toEqualTypeOf<Limits>();
  expectTypeOf(await controller.bucketCounts()).toEqualTypeOf<ReadonlyMap<number, number>>();
  for (const reason of (await controller.explain(handle.id)).reasons) {
    if (reason.kind === "semaphore") expectTypeOf(reason.holders).toEqualTypeOf<readonly SlotHolding[]>();
    if (reason.kind === "backoff" || reason.kind === "delay") expectTypeOf(reason.until).toEqualTypeOf<number>();
  }

  // What needs no argument needs none; options then follow an empty tuple.
  expectTypeOf(await controller.submit(tick)).toEqualTypeOf<TaskHandle<number>>();
  await controller.submit(tick, [], { priority: 1 });
  expectTypeOf(await (await controller.submit(report)).result()).toEqualTypeOf<string>();
  await controller.submit(report, ["a title"]);
  expectTypeOf(await (await controller.submit(importDay, ["2026-12-01", { limit: 3 }])).result()).toEqualTypeOf<number>();
  expectTypeOf(await controller.submit("extract", ["x"], { priority: 2 })).toEqualTypeOf<TaskHandle<unknown>>();

  const run = await controller.startRun(nightly, ["2026-12-01"], { priority: 1 });
  expectTypeOf(run).toEqualTypeOf<RunHandle>();
  for await (const event of run.events()) expectTypeOf(event.type).toEqualTypeOf<TaskEvent["type"]>();
  expectTypeOf(await run.wait({ timeout: "1h" })).toEqualTypeOf<RunSnapshot>();
  await controller.startRun(joins);
  await controller.startRun(fanOut, [3]);
  await controller.startRun(fanOut, [3, { dry: true }]);
  await controller.startRun(importAll, [["2026-12-01"], true]);
  await controller.startRun(maps, [["a"]]);
  expectTypeOf(run.items("price").map(({ taskId }) => taskId)).toEqualTypeOf<string[]>();
  await controller.startRun("nightly-etl", ["2026-12-01"]);

  const alone = await runTask(extract, ["in/today.csv"], { timeout: { idle: "5s" } });
  expectTypeOf(await alone.result()).toEqualTypeOf<Order[]>();
  expectTypeOf(await runTask(tick)).toEqualTypeOf<TaskHandle<number>>();
}
