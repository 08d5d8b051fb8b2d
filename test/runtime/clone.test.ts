import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { clone, uncloneable } from "../../src/runtime/clone.ts";
import { canEncode } from "../../src/runtime/executors/frames.ts";

function problemOf(value: unknown): Error {
  try {
    clone(value, "args");
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error("it was copied");
}

function detached(): Uint8Array {
  const bytes = new Uint8Array(8);
  structuredClone(bytes, { transfer: [bytes.buffer] });
  return bytes;
}

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = { next: value };
  return value;
}

describe("a copy", () => {
  test("is deep, and of everything that a structured clone takes", () => {
    fc.assert(
      fc.property(fc.anything({ withMap: true, withSet: true, withDate: true, withBigInt: true, withTypedArray: true }), (value) => {
        expect(clone(value, "args")).toEqual(structuredClone(value));
      }),
    );
    const rows = [{ id: 1 }];
    const copy = clone(rows, "args");
    rows[0] = { id: 2 };
    expect(copy).toEqual([{ id: 1 }]);
  });
});

describe("what cannot be copied", () => {
  const callback = (): number => 1;
  const cyclic: Record<string, unknown> = { deep: {} };
  cyclic["self"] = cyclic;
  cyclic["deep"] = { callback };
  const getter = {
    get rows() {
      throw new Error("no database");
    },
  };

  test.each([
    ["args", callback],
    ["args", Symbol("s")],
    ["args[1].callback", [1, { callback }]],
    ["args.a.b[0]", { a: { b: [callback] } }],
    [
      "args.<value 1>",
      new Map<string, unknown>([
        ["x", 1],
        ["y", callback],
      ]),
    ],
    ["args.<key 0>", new Map([[callback, 1]])],
    ["args.<item 1>.f", new Set([1, { f: callback }])],
    ["args.later", { later: Promise.resolve() }],
    ["args.deep.callback", cyclic],
    [
      "args",
      new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error("hostile");
          },
        },
      ),
    ],
    ["args", new WeakMap()],
  ])("is named by its path: %s", (path, value) => {
    const problem = problemOf(value);
    expect(problem.message.startsWith(`${path} cannot be copied`)).toBe(true);
    const onItsWay = uncloneable(value, "args", problem).message;
    expect(onItsWay.startsWith(`${path} cannot leave its thread or process`)).toBe(true);
    expect(onItsWay).toContain('executor: "async"');
    expect(problem.cause).toBeInstanceOf(Error);
  });

  test("is named by some path however deep it lies, and soon", () => {
    let value: unknown = callback;
    for (let depth = 0; depth < 500; depth += 1) value = { next: value };
    expect(problemOf(value).message).toMatch(/^args(\.next){50} cannot be copied/);
  });

  test.each<[string, unknown, string]>([
    ["args.rows", getter, "reading it throws an error (no database)"],
    ["args[0].bytes", [{ bytes: detached() }], "its memory was transferred"],
    ["args.memory", { memory: detached().buffer }, "its memory was transferred"],
    ["args", nested(50_000), "it is nested too deep"],
  ])("is told with its true cause: %s", (path, value, why) => {
    const problem = problemOf(value);
    expect(problem.message).toContain(`${path} cannot be copied: ${why}`);
    expect(uncloneable(value, "args", problem.cause).message).toContain(`${path} cannot leave its thread or process: ${why}`);
  });

  test.each([
    ["result.memory", { memory: new SharedArrayBuffer(8) }, "shared memory cannot pass between processes"],
    ["result[1]", [1, new SharedArrayBuffer(8)], "shared memory cannot pass between processes"],
    ["result.blob", { blob: new Blob(["x"]) }, "Blob can pass between threads, not between processes"],
  ])("between processes alone, and %s can between threads, is told so", (path, value, why) => {
    const { message } = uncloneable(value, "result", new Error("told so"), canEncode);
    expect(message.startsWith(`${path} cannot leave its process: ${why}`)).toBe(true);
    expect(message).toContain('executor: "thread"');
  });

  test("but can be here, as only another way of copying fails, is named as a whole", () => {
    expect(uncloneable({ rows: [1] }, "args", new Error("told so")).message).toContain("functions, symbols, promises and objects such as a URL");
    expect(uncloneable({ rows: [1] }, "args", new Error("told so")).message).toMatch(/^args cannot leave/);
  });
});
