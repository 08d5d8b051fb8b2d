import { expect, it, describe } from "vitest";
import { allSettled, ConfigurationError, definePipeline, task } from "../../src/index.ts";

/** What a caller without types may pass. */
function defineTask(...args: readonly unknown[]): unknown {
  return Reflect.apply(task, undefined, args);
}
function definePipe(...args: readonly unknown[]): unknown {
  return Reflect.apply(definePipeline, undefined, args);
}
const body = (): number => 1;

describe("task", () => {
  it.each([
    [[undefined, body], "the first argument of task() must be its options"],
    [[{}, body], "a task's name must be text; found undefined"],
    [["name", body], 'the first argument of task() must be its options, such as { name: "extract" }; found "name"'],
    [[{ name: " " }, body], "a task's name must not be empty"],
    [[{ name: "a\nb" }, body], "a task's name must be printable on one line"],
    [[{ name: "a" }], 'task "a" needs a function (ctx, ...args) => result as its second argument; found undefined'],
    [[{ name: "a", timeouts: {} }, body], 'Did you mean "timeout"?'],
    [[{ name: "a", maxAttempts: 3 }, body], "It belongs one level deeper: retry: { maxAttempts }."],
    [[{ name: "a", attempt: "1s" }, body], "It belongs one level deeper: timeout: { attempt }."],
    [[{ name: "a", executor: "proces" }, body], 'found "proces". Did you mean "process"?'],
    [[{ name: "a", executor: "fibre" }, body], 'task "a": executor must be one of "async", "inline", "thread", "process"; found "fibre"'],
    [[{ name: "a", executor: "thread" }, body], 'task "a" runs in a thread and must say from which module it can be loaded there'],
    [[{ name: "a", executor: "process" }, body], 'task "a" runs in a process and must say from which module it can be loaded there'],
    [[{ name: "a", executor: "thread", module: "./tasks.ts" }, body], 'task "a": module must be the URL of the module that exports it'],
    [[{ name: "a", executor: null }, body], 'task "a": executor must be one of'],
    [[{ name: "a", retry: 3 }, body], 'task "a": retry must be a plain object; found 3'],
    [[{ name: "a", retry: null }, body], 'task "a": retry must be a plain object; found null'],
    [[{ name: "a", retry: { maxAttempts: 0 } }, body], 'task "a": retry.maxAttempts must be an integer of at least 1'],
    [[{ name: "a", timeout: { attempt: "soon" } }, body], 'task "a": timeout.attempt'],
    [[{ name: "a", timeout: { attempt: 0 } }, body], 'task "a": timeout.attempt'],
    [[{ name: "a", tags: "io" }, body], 'task "a": tags must be a list of strings; found "io"'],
    [[{ name: "a", tags: ["io", 1] }, body], 'task "a": tags: each tag must be a non-empty string; found 1'],
    [[{ name: "a", tags: ["io", undefined] }, body], 'task "a": tags: each tag must be a non-empty string; found undefined'],
    [[{ name: "a", input: {} }, body], 'task "a": input must be a Standard Schema (zod, valibot, arktype, …); found {}'],
    [[{ name: "a", input: body }, body], 'task "a": input must be a Standard Schema'],
    [[{ name: "a", input: null }, body], 'task "a": input must be a Standard Schema'],
  ])("refuses %o", (args, message) => {
    expect(() => defineTask(...args)).toThrow(ConfigurationError);
    expect(() => defineTask(...args)).toThrow(message);
  });

  it("is frozen, keeps its function for direct calls, and nothing of an execution", () => {
    const options = { name: "sum", tags: ["io"] } as const;
    const sum = task(options, (_ctx, a: number, b: number) => a + b);
    expect(Object.isFrozen(sum) && Object.isFrozen(sum.options)).toBe(true);
    expect(Object.keys(sum)).toEqual(["name", "options", "run"]);
    expect(sum.options).toEqual(options);
  });
});

describe("definePipeline", () => {
  it.each([
    [[1, {}, body], "a pipeline's name must be text; found 1"],
    [["", {}, body], "a pipeline's name must not be empty"],
    [["p", { onfailure: 1 }, body], 'pipeline "p" has no option "onfailure". Did you mean "onFailure"?'],
    [["p", { onFailure: "fail_fast" }, body], 'pipeline "p": onFailure must be failFast(), allSettled() or quorum(n); found "fail_fast"'],
    [["p", { onFailure: allSettled }, body], 'pipeline "p": onFailure must be'],
    [["p", { onUpstreamFailure: "ignore" }, body], 'pipeline "p": onUpstreamFailure must be one of "cancel", "skip"; found "ignore"'],
    [["p", { input: "string" }, body], 'pipeline "p": input must be a Standard Schema'],
    [["p", {}], 'pipeline "p" needs a function (p, ...params) => void as its third argument; found undefined'],
    [["p", body], 'pipeline "p" must be a plain object'],
  ])("refuses %o", (args, message) => {
    expect(() => definePipe(...args)).toThrow(ConfigurationError);
    expect(() => definePipe(...args)).toThrow(message);
  });
});
