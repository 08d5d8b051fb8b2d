import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createFailure, FAILURE_KINDS, isFailure } from "../../src/core/failure.ts";
import type { Failure } from "../../src/core/failure.ts";
import { failureOf } from "../../src/core/thrown.ts";

const plain = createFailure({ kind: "exception", message: "boom", exitCode: 3, signal: "SIGTERM" });

describe("isFailure", () => {
  it.each<[string, Failure]>([
    ...FAILURE_KINDS.map((kind): [string, Failure] => [kind, createFailure({ kind, message: "" })]),
    ["of an error with causes", failureOf(new Error("a", { cause: new TypeError("b", { cause: 3 }) }))],
    ["of a text that was thrown", failureOf("boom")],
    ["of an AggregateError", failureOf(new AggregateError([new Error("a"), "b"]))],
    ["with an exit code and a signal", plain],
  ])("knows a failure: %s", (_what, failure) => {
    for (const same of [failure, structuredClone(failure), JSON.parse(JSON.stringify(failure)), Object.freeze({ ...failure })])
      expect(isFailure(same)).toBe(true);
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a text", "exception"],
    ["an error", new Error("boom")],
    ["an error of that form", Object.assign(new Error("boom"), plain)],
    ["an empty object", {}],
    ["an object with some of the fields", { kind: "exception", message: "boom" }],
    ["an object with more fields", { ...plain, orderId: 7 }],
    ["another kind", { ...plain, kind: "refused" }],
    ["a failure as a prototype", Object.create(plain)],
    ["a list of that length", Array.from({ length: Object.keys(plain).length }, () => null)],
    ...Object.keys(plain).map((field): [string, unknown] => [`another value of ${field}`, { ...plain, [field]: { it: "is" } }]),
    ...Object.keys(plain).map((field): [string, unknown] => [
      `${field} missing and another field in its place`,
      Object.fromEntries(Object.entries(plain).map(([name, value]) => [name === field ? "other" : name, value])),
    ]),
    ["causes that are none", { ...plain, causes: [{ name: "a", message: "b" }] }],
  ])("takes nothing else for one: %s", (_what, value) => {
    expect(isFailure(value)).toBe(false);
  });

  it("takes nothing else for one, whatever it is", () => {
    fc.assert(fc.property(fc.anything(), (value) => !isFailure(value)));
  });
});
