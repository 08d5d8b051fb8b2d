import { z } from "zod";
import { Controller, definePipeline, runTask, task } from "../../src/index.ts";
import type { PipelineBuilder, TaskHooks } from "../../src/index.ts";

// Each line under `@ts-expect-error` must not compile: `tsc` (npm run types) fails where one does. Never run.

const count = task({ name: "count" }, (_ctx, text: string) => text.length);
const size = task({ name: "size" }, (_ctx, text: string) => text.length);
const double = task({ name: "double" }, (_ctx, value: number) => value * 2);
const pair = task({ name: "pair" }, (_ctx, first: string, second: number) => first.repeat(second));
const greet = task({ name: "greet" }, (_ctx, name: string = "you") => `hello ${name}`);
const tick = task({ name: "tick" }, () => 1);
const parsed = task({ name: "parsed", input: z.tuple([z.coerce.number()]) }, (_ctx, value) => value + 1);
const one = definePipeline("one", {}, (p, text: string) => void p.add(count, { args: [text] }));
const none = definePipeline("none", {}, (p) => void p.add(tick));

export function tasks(): void {
  // @ts-expect-error a task needs a name
  task({}, () => 1);
  // @ts-expect-error unknown option
  task({ name: "a", retires: 3 }, () => 1);
  // @ts-expect-error unknown option of a policy
  task({ name: "a", retry: { attempts: 3 } }, () => 1);
  // @ts-expect-error no such unit
  task({ name: "a", timeout: { attempt: "10 minutes" } }, () => 1);
  // @ts-expect-error a thread must know from which module
  task({ name: "a", executor: "thread" }, () => 1);
  // @ts-expect-error tags are a list
  task({ name: "a", tags: "io" }, () => 1);
  // @ts-expect-error a task is a function
  task({ name: "a" }, 1);
  // @ts-expect-error the schema gives a number
  task({ name: "a", input: z.tuple([z.number()]) }, (_ctx, value: string) => value);
  // @ts-expect-error the schema describes the tuple of arguments, not the first of them
  task({ name: "a", input: z.string() }, (_ctx, value) => value);
  // @ts-expect-error the task returns a number
  task({ name: "a" }, () => 1, { onSuccess: (_snapshot, text: string) => text });
  const ofTexts: TaskHooks<string> = {};
  // @ts-expect-error hooks of another result
  task({ name: "a" }, () => 1, ofTexts);
  // @ts-expect-error hooks of another result
  task({ name: "a" }, (_ctx, value: number): number => value, ofTexts);
  const ofNumbers: TaskHooks<number> = {};
  // @ts-expect-error hooks that do not take all that it may return
  task({ name: "a" }, (_ctx, value: number): number | null => value, ofNumbers);
  // @ts-expect-error no such hook
  task({ name: "a" }, () => 1, { onEnd: () => 1 });
  // @ts-expect-error hooks stand behind the function
  task({ name: "a", onSuccess: () => 1 }, () => 1);
  // @ts-expect-error a retry tells of a failure, and of no result
  task({ name: "a" }, () => 1, { onRetry: (_snapshot, value: number) => value });
  // @ts-expect-error a parameter without annotation and without schema is unknown
  task({ name: "a" }, (_ctx, value) => value.length);
}

export function nodes(p: PipelineBuilder): void {
  const counted = p.add(count, { args: ["a"] });
  const sized = p.add(size, { args: ["a"] });
  const greeted = p.add(greet);

  // @ts-expect-error the task takes an argument
  p.add(count);
  // @ts-expect-error the task takes an argument
  p.add(count, { deps: [greeted] });
  // @ts-expect-error wrong type of an argument
  p.add(count, { args: [1] });
  // @ts-expect-error too few
  p.add(pair, { args: ["a"] });
  // @ts-expect-error too many
  p.add(count, { args: ["a", "b"] });
  // @ts-expect-error the task takes none
  p.add(tick, { args: [1] });
  // @ts-expect-error wrong type of an optional argument
  p.add(greet, { args: [1] });
  // @ts-expect-error args are a tuple
  p.add(count, { args: "a" });
  // @ts-expect-error the upstream's value is a number
  p.add(count, { deps: [counted], args: (up) => [up(counted)] });
  // @ts-expect-error not a dependency at all
  p.add(double, { args: (up) => [up(counted)] });
  // @ts-expect-error another node than the dependency
  p.add(count, { deps: [counted], args: (up) => [up(greeted)] });
  // @ts-expect-error another node than the dependency, of the same result type
  p.add(double, { deps: [counted], args: (up) => [up(sized)] });
  // @ts-expect-error another node of the same task
  p.add(double, { deps: [counted], args: (up) => [up(p.add(count, { name: "other", args: ["b"] }))] });
  // @ts-expect-error nor in a condition
  p.add(tick, { deps: [counted], when: (up) => up(sized) > 0 });
  // @ts-expect-error with this join it may have no value
  p.add(double, { deps: [counted], join: "any_succeeded", args: (up) => [up(counted)] });
  // @ts-expect-error nor with this one
  p.add(double, { deps: [counted], join: "all_done", args: (up) => [up(counted)] });
  // @ts-expect-error nor with this one
  p.add(double, { deps: [counted], join: "none_failed", args: (up) => [up(counted)] });
  // @ts-expect-error a condition says true or false
  p.add(tick, { deps: [counted], when: (up) => up(counted) });
  // @ts-expect-error a condition answers at once
  p.add(tick, { deps: [counted], when: async (up) => up(counted) > 0 });
  // @ts-expect-error arguments are worked out at once
  p.add(double, { deps: [counted], args: async (up) => [up(counted)] });
  // @ts-expect-error no such join
  p.add(tick, { deps: [counted], join: "one_succeeded" });
  // @ts-expect-error unknown option
  p.add(tick, { dependencies: [counted] });
  // @ts-expect-error dependencies are nodes, not names
  p.add(tick, { deps: ["count"] });
  // @ts-expect-error dependencies are nodes, not tasks
  p.add(tick, { deps: [count] });
  // @ts-expect-error a node runs a task
  p.add("count", { args: ["a"] });
  // @ts-expect-error no such rule
  p.add(tick, { onUpstreamFailure: "ignore" });
  // @ts-expect-error a pipeline has its policy, a node has none
  p.add(tick, { onFailure: "fail_fast" });
}

export function maps(p: PipelineBuilder): void {
  const listed = p.add(task({ name: "listed" }, () => ["a", "b"]));
  const others = p.add(task({ name: "others" }, () => ["a", "b"]));
  const counts = p.map(count, { deps: [listed], items: (up) => up(listed) });
  const kept = p.map(count, { name: "kept", items: ["a"], failedItems: "keep" });
  const all = task({ name: "all" }, (_ctx, values: readonly number[]) => values.length);

  // @ts-expect-error a map needs items
  p.map(count);
  // @ts-expect-error a map needs items
  p.map(count, { deps: [listed] });
  // @ts-expect-error wrong type of an item
  p.map(count, { items: [1, 2] });
  // @ts-expect-error wrong type of one of the items
  p.map(count, { items: ["a", 2] });
  // @ts-expect-error items are a list
  p.map(count, { items: "abc" });
  // @ts-expect-error items are no tuples of arguments
  p.map(count, { items: [["a"], ["b"]] });
  // @ts-expect-error the upstream's items are texts
  p.map(double, { deps: [listed], items: (up) => up(listed) });
  // @ts-expect-error not a dependency at all
  p.map(count, { items: (up) => up(listed) });
  // @ts-expect-error another node than the dependency, of the same result type
  p.map(count, { deps: [listed], items: (up) => up(others) });
  // @ts-expect-error with this join it may have no value
  p.map(count, { deps: [listed], join: "all_done", items: (up) => up(listed) });
  // @ts-expect-error items are worked out at once
  p.map(count, { deps: [listed], items: async (up) => up(listed) });
  // @ts-expect-error the task takes two arguments
  p.map(pair, { items: ["a"] });
  // @ts-expect-error the items are the arguments
  p.map(count, { items: ["a"], args: ["a"] });
  // @ts-expect-error a number
  p.map(count, { items: ["a"], maxParallel: "8" });
  // @ts-expect-error no such rule
  p.map(count, { items: ["a"], failedItems: "skip" });
  // @ts-expect-error unknown option
  p.map(count, { items: ["a"], parallel: 8 });
  // @ts-expect-error no such join
  p.map(count, { deps: [listed], items: (up) => up(listed), join: "one_succeeded" });
  // @ts-expect-error a condition says true or false
  p.map(count, { deps: [listed], items: (up) => up(listed), when: (up) => up(listed).length });
  // @ts-expect-error a map runs a task
  p.map("count", { items: ["a"] });
  // @ts-expect-error a map gives a list
  p.add(double, { deps: [counts], args: (up) => [up(counts)] });
  // @ts-expect-error a kept failure is no value
  p.add(all, { deps: [kept], args: (up) => [up(kept)] });
}

export function pipelines(): void {
  // @ts-expect-error unknown option
  definePipeline("p", { onFailures: [] }, () => {});
  // @ts-expect-error no such policy
  definePipeline("p", { onFailure: "fail_fast" }, () => {});
  // @ts-expect-error the schema gives a number
  definePipeline("p", { input: z.tuple([z.number()]) }, (_p, _day: string) => {});
  // @ts-expect-error a build is done when it returns
  definePipeline("p", {}, async (p) => void p.add(tick));
  // @ts-expect-error a build is done when it returns
  definePipeline("p", {}, async (p, text: string) => void p.add(count, { args: [text] }));
  // @ts-expect-error a build is done when it returns
  definePipeline("p", { input: z.tuple([z.string()]) }, async (p, text) => void p.add(count, { args: [text] }));
  // @ts-expect-error a build is done when it returns
  definePipeline("p", {}, (p) => Promise.resolve(p.add(tick)));
}

export async function controllers(controller: Controller): Promise<void> {
  // @ts-expect-error what a page holds is no matter of watching
  controller.watch({ limit: 10 });
  // @ts-expect-error a cursor is text
  controller.stream({ from: 12 });
  // @ts-expect-error the task takes an argument
  await controller.submit(count);
  // @ts-expect-error wrong type of an argument
  await controller.submit(count, [1]);
  // @ts-expect-error too many
  await controller.submit(count, ["a", "b"]);
  // @ts-expect-error too few
  await controller.submit(pair, ["a"]);
  // @ts-expect-error the arguments come before the options
  await controller.submit(tick, { priority: 1 });
  // @ts-expect-error unknown option
  await controller.submit(tick, [], { prio: 1 });
  // @ts-expect-error an instant is a Date or a number
  await controller.submit(tick, [], { runAt: "2026-01-01" });
  // @ts-expect-error a run starts at once
  await controller.startRun("nightly", [], { delay: "1s" });
  // @ts-expect-error one of a name, a tag and a bucket
  await controller.hold({});
  // @ts-expect-error a limit that is lifted is null
  await controller.setLimits({ limits: { io: false } });
  // @ts-expect-error the schema gives a number out
  await controller.submit(parsed, ["1"]);
  // @ts-expect-error the result is a number
  const text: string = await (await controller.submit(count, ["a"])).result();
  // @ts-expect-error by name nothing is known of the result
  const value: number = await (await controller.submit("count", ["a"])).result();
  // @ts-expect-error the pipeline takes a parameter
  await controller.startRun(one);
  // @ts-expect-error wrong type of a parameter
  await controller.startRun(one, [1]);
  // @ts-expect-error the pipeline takes none
  await controller.startRun(none, ["a"]);
  // @ts-expect-error a pipeline is no task
  await controller.submit(none);
  // @ts-expect-error a task is no pipeline
  await controller.startRun(tick);
  // @ts-expect-error the timeout is required
  await controller.wait("id", {});
  // @ts-expect-error no such status
  await controller.wait("id", { for: "finished", timeout: "1s" });
  // @ts-expect-error no such verb
  await controller.can("id", "halt");
  // @ts-expect-error no such event
  controller.events({ types: ["TaskDone"] });
  // @ts-expect-error no such unit
  await controller.stop("id", { grace: "10 seconds" });
  // @ts-expect-error a pause has no grace
  await controller.pause("id", { grace: "10s" });
  // @ts-expect-error skip has no force
  await controller.skip("id", { force: true });
  // @ts-expect-error a person has a name
  await controller.skip("id", { actor: 7 });
  // @ts-expect-error reset needs its options
  await controller.reset("id");
  // @ts-expect-error it must be meant
  await controller.reset("id", {});
  // @ts-expect-error it must be meant
  await controller.reset("id", { confirm: false });
  // @ts-expect-error a reset gives no outcome
  await controller.reset("id", { confirm: true, outcome: 1 });
  // @ts-expect-error who and why are required
  await controller.forceTransition("id", "failed");
  // @ts-expect-error why is required
  await controller.forceTransition("id", "failed", { actor: "ada" });
  // @ts-expect-error who is required
  await controller.forceTransition("id", "failed", { reason: "because" });
  // @ts-expect-error no such status
  await controller.forceTransition("id", "finished", { actor: "ada", reason: "because" });
  // @ts-expect-error the task takes an argument
  await runTask(count);
  // @ts-expect-error wrong type of an argument
  await runTask(count, [1]);
  // @ts-expect-error unknown option
  await runTask(tick, [], { priority: 1 });
  void [text, value];
}

export async function opening(): Promise<void> {
  // @ts-expect-error unknown option
  await Controller.open({ task: [tick] });
  // @ts-expect-error a pipeline is no task
  await Controller.open({ tasks: [none] });
  // @ts-expect-error a task is no pipeline
  await Controller.open({ pipelines: [tick] });
  // @ts-expect-error only all of them
  await Controller.open({ buckets: { count: 64, own: "0-15" } });
  // @ts-expect-error a limit is a number
  await Controller.open({ concurrency: { limits: { io: "4" } } });
}
