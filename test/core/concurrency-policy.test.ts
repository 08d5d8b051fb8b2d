import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { DEFAULT_MAX_PARALLEL, resolveConcurrencyPolicy } from "../../src/core/policies/concurrency.ts";

const DEFAULT = { maxParallel: 10, limits: new Map(), perBucket: null, defaultPriority: 0, agingMs: null };

describe("resolveConcurrencyPolicy", () => {
  it("has defaults", () => {
    expect(resolveConcurrencyPolicy(undefined)).toEqual(DEFAULT);
    expect(resolveConcurrencyPolicy({ maxParallel: undefined, limits: {} })).toEqual(DEFAULT);
    expect(DEFAULT_MAX_PARALLEL).toBe(10);
  });

  it("takes the default of maxParallel from its caller", () => {
    expect(resolveConcurrencyPolicy({}, "concurrency", 3).maxParallel).toBe(3);
    expect(resolveConcurrencyPolicy({ maxParallel: 8 }, "concurrency", 3).maxParallel).toBe(8);
  });

  it("reads every option", () => {
    const policy = resolveConcurrencyPolicy({ maxParallel: 8, limits: { io: 4, gpu: 1 }, perBucket: 2, defaultPriority: -3, aging: "1m" });
    expect(policy).toEqual({
      maxParallel: 8,
      limits: new Map([
        ["io", 4],
        ["gpu", 1],
      ]),
      perBucket: 2,
      defaultPriority: -3,
      agingMs: 60_000,
    });
    expect(Object.isFrozen(policy)).toBe(true);
  });

  const counts: readonly unknown[] = [0, -1, 1.5, "4", NaN, Infinity, -Infinity, null, 4n, true, [4], 2 ** 53];
  it.each(counts.map((value) => [value]))("refuses a limit of %s by its name", (value) => {
    expect(() => resolveConcurrencyPolicy({ maxParallel: value })).toThrow(/^concurrency\.maxParallel must be an integer of at least 1; found/);
    expect(() => resolveConcurrencyPolicy({ perBucket: value })).toThrow(/^concurrency\.perBucket must be an integer of at least 1; found/);
    expect(() => resolveConcurrencyPolicy({ limits: { io: value } })).toThrow(/^concurrency\.limits\.io must be an integer of at least 1; found/);
    expect(() => resolveConcurrencyPolicy({ maxParallel: value })).toThrow(ConfigurationError);
  });

  it.each([NaN, Infinity, 0.5, "1", null])("refuses a priority of %s", (defaultPriority) => {
    expect(() => resolveConcurrencyPolicy({ defaultPriority })).toThrow(/^concurrency\.defaultPriority must be an integer; found/);
  });

  it.each([0, "0s", -1, NaN, "fast", null])("refuses aging of %s", (aging) => {
    expect(() => resolveConcurrencyPolicy({ aging })).toThrow(/^concurrency\.aging must be/);
  });

  it.each([null, 3, "io", [4], new Map([["io", 4]])])("refuses limits of %s", (limits) => {
    expect(() => resolveConcurrencyPolicy({ limits })).toThrow(/^concurrency\.limits must be a plain object; found/);
  });

  it("refuses a limit without a tag", () => {
    expect(() => resolveConcurrencyPolicy({ limits: { "": 1 } })).toThrow("concurrency.limits: a limit needs the name of a tag");
  });

  it("refuses an unknown option and shows the nearest", () => {
    expect(() => resolveConcurrencyPolicy({ maxParalel: 4 })).toThrow('concurrency has no option "maxParalel". Did you mean "maxParallel"?');
  });

  it("treats tags named like parts of objects as tags", () => {
    const limits: unknown = JSON.parse('{ "constructor": 2, "__proto__": 3 }');
    const policy = resolveConcurrencyPolicy({ limits });
    expect([...policy.limits]).toEqual([
      ["constructor", 2],
      ["__proto__", 3],
    ]);
    expect(policy.limits.get("toString")).toBeUndefined();
  });
});
