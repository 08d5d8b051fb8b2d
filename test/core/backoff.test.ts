import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../src/core/errors.ts";
import { resolveBackoff } from "../../src/core/policies/backoff.ts";
import type { Backoff } from "../../src/core/policies/backoff.ts";
import { backoffDelayMs, constant, exponential, linear } from "../../src/core/policies/retry.ts";
import { failureOf } from "../../src/core/thrown.ts";

const FAILURE = failureOf(new Error("x"));
const half = () => 0.5;
const delays = (backoff: Backoff, attempts: number, random = half) =>
  Array.from({ length: attempts }, (_, index) => backoffDelayMs(backoff, index + 1, random, FAILURE));

describe("builders", () => {
  it("make frozen, serialisable records with their defaults", () => {
    expect(exponential({ base: "1s" })).toEqual({ kind: "exponential", baseMs: 1_000, factor: 2, maxMs: 300_000, jitter: "full" });
    expect(linear({ base: "1s" })).toEqual({ kind: "linear", baseMs: 1_000, stepMs: 1_000, maxMs: 300_000, jitter: "full" });
    expect(constant({ delay: "1s" })).toEqual({ kind: "constant", delayMs: 1_000, jitter: "full" });
    for (const backoff of [
      exponential({ base: 5, factor: 3, max: "1h", jitter: "equal" }),
      linear({ base: 0, step: 7, max: 9, jitter: "none" }),
      constant({ delay: 0, jitter: "none" }),
    ]) {
      expect(Object.isFrozen(backoff)).toBe(true);
      expect(resolveBackoff(JSON.parse(JSON.stringify(backoff)), "backoff")).toEqual(backoff);
    }
  });

  const wrongDurations: readonly unknown[] = [NaN, Infinity, -1, "10", "5 parsecs", null, {}];
  const cases: readonly (readonly [name: string, build: () => unknown, found: RegExp])[] = [
    ...wrongDurations.flatMap((value) => [
      [`exponential base ${String(value)}`, () => Reflect.apply(exponential, undefined, [{ base: value }]), /^exponential\(\)\.base /] as const,
      [`exponential max ${String(value)}`, () => Reflect.apply(exponential, undefined, [{ base: 1, max: value }]), /^exponential\(\)\.max /] as const,
      [`linear base ${String(value)}`, () => Reflect.apply(linear, undefined, [{ base: value }]), /^linear\(\)\.base /] as const,
      [`linear step ${String(value)}`, () => Reflect.apply(linear, undefined, [{ base: 1, step: value }]), /^linear\(\)\.step /] as const,
      [`constant delay ${String(value)}`, () => Reflect.apply(constant, undefined, [{ delay: value }]), /^constant\(\)\.delay /] as const,
    ]),
    ...[0, -1, NaN, Infinity, "2", null].map(
      (factor) =>
        [
          `factor ${String(factor)}`,
          () => Reflect.apply(exponential, undefined, [{ base: 1, factor }]),
          /^exponential\(\)\.factor must be a finite number above 0; found/,
        ] as const,
    ),
    ...["half", null, true, 1].map(
      (jitter) =>
        [
          `jitter ${String(jitter)}`,
          () => Reflect.apply(constant, undefined, [{ delay: 1, jitter }]),
          /^constant\(\)\.jitter must be one of "full", "equal", "none"; found/,
        ] as const,
    ),
    ["a max below the base", () => exponential({ base: "10m" }), /^exponential\(\)\.max must be at least the base \(10 m\); found 5 m\.$/],
    ["a max below the base", () => linear({ base: 2, max: 1 }), /^linear\(\)\.max must be at least the base/],
    ["no base", () => Reflect.apply(exponential, undefined, []), /^exponential\(\)\.base must be a duration/],
    [
      "an unknown option",
      () => Reflect.apply(exponential, undefined, [{ base: 1, maximum: 2 }]),
      /^exponential\(\) has no option "maximum"\. Did you mean "max"\?/,
    ],
  ];
  it.each(cases)("refuse %s", (_title, build, message) => {
    expect(build).toThrow(ConfigurationError);
    expect(build).toThrow(message);
  });
});

describe("resolveBackoff", () => {
  it("wraps a function", () => {
    const delay = () => 1;
    expect(resolveBackoff(delay, "backoff")).toEqual({ kind: "custom", delay });
  });

  const exponentialRecord = { ...exponential({ base: 1_000 }) };
  it.each([
    null,
    undefined,
    3,
    "1s",
    [],
    {},
    { kind: "quadratic" },
    { kind: "custom" },
    { kind: "custom", delay: 3 },
    { kind: "exponential", base: "1s" },
    { ...exponentialRecord, baseMs: NaN },
    { ...exponentialRecord, factor: Infinity },
    { ...exponentialRecord, maxMs: 1 },
    { ...exponentialRecord, jitter: "some" },
    { kind: "linear", baseMs: 1, stepMs: -1, maxMs: 1, jitter: "none" },
    { kind: "constant", delayMs: "soon", jitter: "none" },
  ])("refuses %j", (value) => {
    expect(() => resolveBackoff(value, "retry.backoff")).toThrow(ConfigurationError);
    expect(() => resolveBackoff(value, "retry.backoff")).toThrow(/^retry\.backoff/);
  });
});

describe("backoffDelayMs", () => {
  it("grows as its kind says", () => {
    expect(delays(exponential({ base: "1s", max: "10s", jitter: "none" }), 6)).toEqual([1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    expect(delays(linear({ base: "1s", step: "2s", max: "6s", jitter: "none" }), 5)).toEqual([1_000, 3_000, 5_000, 6_000, 6_000]);
    expect(delays(constant({ delay: "1s", jitter: "none" }), 3)).toEqual([1_000, 1_000, 1_000]);
    expect(delays(exponential({ base: "1s", factor: 0.5, jitter: "none" }), 3)).toEqual([1_000, 500, 250]);
  });

  it.each([
    ["full", 0, 0],
    ["full", 0.25, 250],
    ["full", 0.9999999, 999],
    ["equal", 0, 500],
    ["equal", 0.5, 750],
    ["none", 0.25, 1_000],
  ] as const)("with %s jitter and chance %d waits %d of 1,000 ms", (jitter, chance, expected) => {
    expect(backoffDelayMs(constant({ delay: 1_000, jitter }), 1, () => chance, FAILURE)).toBe(expected);
  });

  it.each([NaN, -1, 2, Infinity])("waits the whole delay where chance gives %d", (chance) => {
    expect(backoffDelayMs(constant({ delay: 1_000 }), 1, () => chance, FAILURE)).toBe(1_000);
  });

  const MAX_MS = 30_000;
  it.each([2, 1e308, Number.MAX_VALUE, 1.0000000000000002, 1, 0.5, 5e-324])("stays within [0, max] for 2,000 attempts with factor %d", (factor) => {
    for (const base of [0, 0.5, 100, MAX_MS]) {
      const growing = delays(exponential({ base, factor, max: MAX_MS, jitter: "none" }), 2_000);
      expect(growing.every((ms) => Number.isInteger(ms) && ms >= 0 && ms <= MAX_MS)).toBe(true);
      const falls = growing.some((ms, index) => index > 0 && ms < (growing[index - 1] ?? 0));
      expect(falls).toBe(factor < 1 && base >= 1);
      for (const jitter of ["full", "equal"] as const) {
        const jittered = delays(exponential({ base, factor, max: MAX_MS, jitter }), 2_000, () => 1);
        expect(jittered).toEqual(growing);
      }
    }
  });

  it("stays within [0, max] and never falls where it grows, for any record and chance", () => {
    const length = fc.double({ min: 0, max: Number.MAX_SAFE_INTEGER, noNaN: true });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    const growth = fc.oneof(fc.double({ min: 1, max: Number.MAX_VALUE, noNaN: true }), fc.double({ min: 1, max: 3, noNaN: true }));
    fc.assert(
      fc.property(length, length, growth, fc.integer({ min: 1, max: 2_000 }), chance, (a, b, factor, attempt, random) => {
        const [base, max] = [Math.min(a, b), Math.max(a, b)];
        for (const build of [exponential, linear]) {
          const shape = build === exponential ? { factor } : { step: a };
          const plain = build({ base, max, ...shape, jitter: "none" });
          const [now, next] = [attempt, attempt + 1].map((n) => backoffDelayMs(plain, n, half, FAILURE));
          expect(now).toBeLessThanOrEqual(next ?? NaN);
          expect(next).toBeLessThanOrEqual(max);
          const equal = backoffDelayMs(build({ base, max, ...shape, jitter: "equal" }), attempt, () => random, FAILURE);
          const full = backoffDelayMs(build({ base, max, ...shape }), attempt, () => random, FAILURE);
          expect(full).toBeGreaterThanOrEqual(0);
          expect(full).toBeLessThanOrEqual(equal);
          expect(equal).toBeLessThanOrEqual(max);
        }
      }),
    );
  });
});
