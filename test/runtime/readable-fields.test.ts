import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { clones } from "../../src/runtime/clone.ts";
import { readableFields } from "../../src/runtime/readable-fields.ts";

const call = (): number => 1;

function read(fields: object): unknown {
  return readableFields(fields as Readonly<Record<string, unknown>>, clones);
}

class Connection {
  readonly socket = call;
}

describe("the fields of a log line", () => {
  test("are as they were where they can be copied", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.anything({ withMap: true, withDate: true })), (fields) => {
        expect(read(fields)).toBe(fields);
      }),
    );
  });

  test.each<[string, object, unknown]>([
    ["a function", { row: 1, call }, { row: 1, call: "function call" }],
    ["what lies deep", { rows: [{ id: 1n }, { id: Symbol("s") }] }, { rows: [{ id: 1n }, { id: "Symbol(s)" }] }],
    ["a promise", { later: Promise.resolve() }, { later: "Promise {}" }],
    ["an instance", { db: new Connection() }, { db: "Connection { socket: function call }" }],
    ["a map", { map: new Map([["a", call]]) }, { map: "Map {}" }],
    ["a bare object", Object.assign(Object.create(null) as object, { call }), { call: "function call" }],
    [
      "a name that is special",
      JSON.parse('{"__proto__":1}') && Object.defineProperty({ call }, "__proto__", { value: 1, enumerable: true }),
      JSON.parse('{"call":"function call","__proto__":1}'),
    ],
    ["a function as the fields", call, { fields: "function call" }],
    ["a list as the fields", [call], ["function call"]],
  ])("have a text in place of %s", (_what, fields, expected) => {
    expect(read(fields)).toEqual(expected);
  });

  test("that throw when they are read say so, and the others are there", () => {
    const fields = {
      row: 1,
      get hostile(): never {
        throw new Error("no database");
      },
    };
    expect(read(fields)).toEqual({ row: 1, hostile: "cannot be read: no database" });
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(read({ row: 1, proxy })).toEqual({ row: 1, proxy: "an object that cannot be read" });
    expect(read(proxy)).toEqual({ fields: "an object that cannot be read" });
  });

  test("that hold themselves do so afterwards; what is too deep is described", () => {
    const cyclic: Record<string, unknown> = { call };
    cyclic["self"] = cyclic;
    const copy = read(cyclic) as Readonly<Record<string, unknown>>;
    expect(copy).toMatchObject({ call: "function call" });
    expect(copy["self"]).toBe(copy);
    let deep: unknown = call;
    for (let level = 0; level < 20_000; level += 1) deep = { deep };
    expect(clones(read({ deep }))).toBe(true);
  });

  test("that are never twice the same are one text", () => {
    let nth = 0;
    const fields = {
      call,
      get moody(): unknown {
        nth += 1;
        return nth % 2 === 0 ? call : 1;
      },
    };
    expect(clones(read(fields))).toBe(true);
  });
});
