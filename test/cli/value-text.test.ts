import { describe, expect, test } from "vitest";
import { stackFrames, userStall } from "../../src/cli/output/stack-frames.ts";
import { valueText } from "../../src/cli/output/value-text.ts";

describe("a value for people", () => {
  test.each<[unknown, string]>([
    [Number.NaN, "NaN"],
    [Number.NEGATIVE_INFINITY, "-Infinity"],
    [undefined, "undefined"],
    [10n, "10n"],
    [function work() {}, "[Function: work]"],
    [{ a: [Number.NaN, undefined] }, "{ a: [ NaN, undefined ] }"],
    [new Map([["k", 1]]), "Map(1) { 'k' => 1 }"],
    [null, "null"],
    ["NaN", '"NaN"'],
    [{ a: [1, null] }, '{"a":[1,null]}'],
  ])("%s", (value, text) => {
    expect(valueText(value)).toBe(text);
  });
});

describe("frames for people", () => {
  const own = new URL("../../src/runtime/x.ts", import.meta.url).href;
  const stack = `Error: x\n    at step (file:///app/tasks.ts:3:1)\n    at run (${own}:9:1)\n    at node:internal/timers:1:1\n    at main (/app/main.js:1:1)`;

  test("are the user's", () => {
    expect(stackFrames(stack, "user")).toEqual(["at step (file:///app/tasks.ts:3:1)", "at main (/app/main.js:1:1)"]);
    expect(stackFrames(stack, "all")).toHaveLength(4);
  });

  test("of a blocked loop too, where there are any", () => {
    const advice = 'Nothing else could run: await ctx.checkpoint(), or use executor: "thread".';
    expect(userStall(`"x" has blocked the event loop, at a (node:fs:1) < b (file:///app/t.ts:2) < run (${own}:9). ${advice}`)).toBe(
      `"x" has blocked the event loop, at b (file:///app/t.ts:2). ${advice}`,
    );
    expect(userStall(`"x" has blocked the event loop, at run (${own}:9). ${advice}`)).toContain(own);
  });
});
