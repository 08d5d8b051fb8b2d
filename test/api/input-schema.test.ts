import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, definePipeline, InvalidArguments, runTask, task } from "../../src/index.ts";
import type { StandardSchema } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";
import { openStage } from "./stage.ts";

type Validate = StandardSchema<unknown, [number]>["~standard"]["validate"];

/** A schema of the test's own, without any library. */
function schema(validate: Validate): StandardSchema<unknown, [number]> {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

const double = (input: StandardSchema<unknown, [number]>) => task({ name: "double", input }, (_ctx, value) => value * 2);

async function refusal(input: StandardSchema<unknown, [number]>, args: readonly unknown[] = [1]): Promise<unknown> {
  const parsed = double(input);
  await using stage = await openStage({ tasks: [parsed] });
  const problem = await stage.controller.submit("double", args).then(
    () => "submitted",
    (error: unknown) => error,
  );
  expect(await stage.controller.list()).toMatchObject({ items: [] });
  return problem;
}

describe("what the schema refuses", () => {
  it("is refused with the path of each issue", async () => {
    const order = task({ name: "order", input: z.tuple([z.object({ lines: z.array(z.object({ count: z.number() })) }), z.string()]) }, () => 1);
    await using stage = await openStage({ tasks: [order] });
    const problem = await stage.controller.submit("order", [{ lines: [{ count: 1 }, { count: "2" }] }, 3]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(InvalidArguments);
    expect(problem).toMatchObject({
      code: "INVALID_ARGUMENTS",
      issues: [
        { path: "args[0].lines[1].count", message: expect.stringContaining("number") },
        { path: "args[1]", message: expect.stringContaining("string") },
      ],
    });
    expect(String(problem)).toContain('"order" refused its arguments: args[0].lines[1].count: ');
    await expect(stage.controller.submit("order", [])).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(await stage.controller.list()).toMatchObject({ items: [] });
  });

  it.each<[string, Validate, string]>([
    ["at once", () => ({ issues: [{ message: "too odd", path: [0, { key: "a" }] }] }), '"double" refused its arguments: args[0].a: too odd.'],
    ["later", async () => ({ issues: [{ message: "too odd" }] }), '"double" refused its arguments: args: too odd.'],
    ["without a word", () => ({ issues: [] }), '"double" refused its arguments'],
  ])("is refused %s", async (_when, validate, message) => {
    const problem = await refusal(schema(validate));
    expect(problem).toBeInstanceOf(InvalidArguments);
    expect(problem).toHaveProperty("message", expect.stringContaining(message));
  });

  it.each<[string, Validate]>([
    [
      "throws",
      () => {
        throw new RangeError("broken");
      },
    ],
    ["rejects", async () => await Promise.reject(new RangeError("broken"))],
  ])("a schema that %s refuses, with its error as the cause", async (_how, validate) => {
    expect(await refusal(schema(validate))).toMatchObject({
      code: "INVALID_ARGUMENTS",
      issues: [{ path: "args", message: "the schema threw: broken" }],
      cause: { name: "RangeError", message: "broken" },
    });
  });

  it("a schema that does not give the tuple back is a wrong definition", async () => {
    const wrong: StandardSchema = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value: String(value) }) } };
    const parsed = Reflect.apply(task, undefined, [{ name: "double", input: wrong }, () => 1]);
    await using stage = await openStage({ tasks: [parsed] });
    const problem: unknown = await stage.controller.submit("double", [1]).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(ConfigurationError);
    expect(problem).toHaveProperty("message", expect.stringContaining("must describe the tuple of arguments and give an array back"));
  });
});

describe("what the schema takes", () => {
  it("is stored and run as the schema has parsed it", async () => {
    const parsed = task({ name: "parsed", input: z.tuple([z.coerce.number(), z.string().trim().default("none")]) }, (_ctx, count, label) => ({ count, label }));
    await using stage = await openStage({ tasks: [parsed] });
    const handle = await stage.controller.submit("parsed", ["7", undefined]);
    expect(await handle.result()).toEqual({ count: 7, label: "none" });
    await expect(stage.controller.submit("parsed", ["seven"])).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  });

  it("may be parsed later", async () => {
    const parsed = double(schema(async (value) => ({ value: Array.isArray(value) ? [value.length] : [0] })));
    await using stage = await openStage({ tasks: [parsed] });
    expect(await (await stage.controller.submit("double", [5, 5, 5])).result()).toBe(6);
  });

  it("holds for a pipeline's parameters and for runTask as well", async () => {
    const seen: unknown[] = [];
    const note = task({ name: "note" }, (_ctx, value: number) => void seen.push(value));
    const one = definePipeline("one", { input: z.tuple([z.coerce.number()]) }, (p, value) => void p.add(note, { args: [value] }));
    await using stage = await openStage({ pipelines: [one] });
    await (await stage.controller.startRun("one", ["8"])).wait({ timeout: "1s" });
    expect(seen).toEqual([8]);
    await expect(stage.controller.startRun("one", ["eight"])).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
    expect(await stage.controller.stats()).toMatchObject({ succeeded: 1 });

    const parsed = double(schema((value) => ({ value: Array.isArray(value) ? [value.length] : [0] })));
    expect(await (await runTask(parsed, [21], { clock: new FakeClock() })).result()).toBe(2);
    const refuses = double(schema(() => ({ issues: [{ message: "no" }] })));
    await expect(runTask(refuses, [21])).rejects.toMatchObject({ code: "INVALID_ARGUMENTS" });
  });
});
