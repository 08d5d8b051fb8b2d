import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { DEFAULTS, resolveTimeoutPolicy } from "../../src/core/policies/timeout.ts";

describe("resolveTimeoutPolicy", () => {
  it("has no timeouts unless they are given", () => {
    const none = { startMs: null, attemptMs: null, idleMs: null };
    expect(resolveTimeoutPolicy(undefined)).toEqual(none);
    expect(resolveTimeoutPolicy({})).toEqual(none);
    expect(resolveTimeoutPolicy({ idle: undefined })).toEqual(none);
  });

  it("reads each of the three by itself", () => {
    expect(resolveTimeoutPolicy({ start: "30s", attempt: "10m", idle: 60_000 })).toEqual({ startMs: 30_000, attemptMs: 600_000, idleMs: 60_000 });
    expect(resolveTimeoutPolicy({ idle: "0.5s" })).toEqual({ startMs: null, attemptMs: null, idleMs: 500 });
  });

  const wrong: readonly unknown[] = [0, "0s", -1, NaN, Infinity, "10", "5 parsecs", null, true, {}, 2 ** 53];
  it.each(["start", "attempt", "idle"].flatMap((key) => wrong.map((value) => [key, value] as const)))("refuses %s: %s by its name", (key, value) => {
    expect(() => resolveTimeoutPolicy({ [key]: value }, "extract.timeout")).toThrow(ConfigurationError);
    expect(() => resolveTimeoutPolicy({ [key]: value }, "extract.timeout")).toThrow(`extract.timeout.${key} `);
  });

  it("refuses unknown options and other types", () => {
    expect(() => resolveTimeoutPolicy({ attemp: "1s" })).toThrow('timeout has no option "attemp". Did you mean "attempt"?');
    expect(() => resolveTimeoutPolicy("10s")).toThrow("timeout must be a plain object");
  });

  it("cannot be changed afterwards", () => {
    expect(Object.isFrozen(resolveTimeoutPolicy({ start: 1 }))).toBe(true);
  });
});

describe("DEFAULTS", () => {
  it("are what the contract says", () => {
    expect(DEFAULTS).toEqual({ stopGraceMs: 10_000, pauseTimeoutMs: 30_000, timeoutGraceMs: 5_000 });
  });
});
