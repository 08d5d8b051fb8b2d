import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError, TaskCancelled } from "../../src/core/errors.ts";
import type { Failure } from "../../src/core/failure.ts";
import { decideRetry, exponential, resolveRetryPolicy } from "../../src/core/policies/retry.ts";
import type { RetryDecision, RetryPolicy } from "../../src/core/policies/retry.ts";
import { failureOf } from "../../src/core/thrown.ts";

class TransientError extends Error {}
class SlowDown extends TransientError {}

interface Situation {
  readonly attempt?: number;
  readonly maxAttempts?: number;
  readonly error?: unknown;
  readonly failure?: Failure;
  readonly random?: () => number;
}

function decide(policy: RetryPolicy | Record<string, unknown>, situation: Situation = {}): RetryDecision {
  const resolved = resolveRetryPolicy({ maxAttempts: 3, ...policy });
  const error = "error" in situation ? situation.error : new Error("x");
  const { attempt = 1, maxAttempts = resolved.maxAttempts, failure = failureOf(error), random = () => 0.5 } = situation;
  return decideRetry({ policy: resolved, attempt, maxAttempts, failure, error, random });
}

function reasonOf(decision: RetryDecision): string {
  return decision.retry ? "retry" : decision.reason;
}

describe("resolveRetryPolicy", () => {
  it("is one attempt by default", () => {
    const policy = resolveRetryPolicy(undefined);
    expect(policy).toEqual({
      maxAttempts: 1,
      backoff: { kind: "exponential", baseMs: 1_000, factor: 2, maxMs: 300_000, jitter: "full" },
      retryOn: null,
      giveUpOn: [],
      retryLost: false,
    });
    expect(resolveRetryPolicy({ maxAttempts: undefined, retryOn: undefined })).toEqual(policy);
    expect(Object.isFrozen(policy)).toBe(true);
  });

  it.each([0, -1, 1.5, NaN, Infinity, "3", null, 3n, true, 2 ** 53])("refuses maxAttempts %s by its name", (maxAttempts) => {
    expect(() => resolveRetryPolicy({ maxAttempts }, "extract.retry")).toThrow(ConfigurationError);
    expect(() => resolveRetryPolicy({ maxAttempts }, "extract.retry")).toThrow(/^extract\.retry\.maxAttempts must be an integer of at least 1; found/);
  });

  it.each([null, 3, "3", [], () => 1])("refuses the policy %s", (value) => {
    expect(() => resolveRetryPolicy(value)).toThrow(/^retry must be a plain object; found/);
  });

  it("refuses an unknown option and shows the nearest", () => {
    expect(() => resolveRetryPolicy({ maxRetries: 3 })).toThrow('retry has no option "maxRetries".');
    expect(() => resolveRetryPolicy({ retryon: [] })).toThrow('Did you mean "retryOn"?');
  });

  it.each(["retryOn", "giveUpOn"])("refuses wrong entries of %s by their place", (key) => {
    for (const list of [null, "Error", Error, {}]) expect(() => resolveRetryPolicy({ [key]: list })).toThrow(`retry.${key} must be a list; found`);
    for (const entry of [undefined, null, 3, "", " ", /x/, {}, ["Error"]]) {
      expect(() => resolveRetryPolicy({ [key]: ["ECONNRESET", entry] })).toThrow(`retry.${key}[1] must be an error class, an error code or name`);
    }
    expect(() => resolveRetryPolicy({ [key]: Array(1) })).toThrow(`retry.${key}[0] must be`);
  });

  it.each([0, "yes", null])("refuses retryLost %s", (retryLost) => {
    expect(() => resolveRetryPolicy({ retryLost })).toThrow(/^retry\.retryLost must be true or false; found/);
  });

  it("names a wrong backoff", () => {
    expect(() => resolveRetryPolicy({ backoff: "exponential" })).toThrow(
      /^retry\.backoff must be exponential\(\), linear\(\), constant\(\) or a function; found/,
    );
  });
});

describe("decideRetry", () => {
  it("retries while attempts are left, after the backoff", () => {
    const backoff = exponential({ base: "1s", max: "3s", jitter: "none" });
    expect(decide({ backoff }, { attempt: 1 })).toEqual({ retry: true, delayMs: 1_000 });
    expect(decide({ backoff }, { attempt: 2 })).toEqual({ retry: true, delayMs: 2_000 });
    expect(decide({ backoff }, { attempt: 3 })).toEqual({ retry: false, reason: "exhausted" });
    expect(decide({ backoff }, { attempt: 9 })).toEqual({ retry: false, reason: "exhausted" });
  });

  it("counts against the task's own budget, which a person may have raised", () => {
    expect(reasonOf(decide({}, { attempt: 3, maxAttempts: 4 }))).toBe("retry");
    expect(reasonOf(decide({}, { attempt: 2, maxAttempts: 2 }))).toBe("exhausted");
  });

  it.each([
    ["exception", "retry"],
    ["nonzero_exit", "retry"],
    ["timeout_start", "retry"],
    ["timeout_attempt", "retry"],
    ["timeout_idle", "retry"],
    ["cancelled", "not-retryable"],
    ["lost", "not-retryable"],
    ["dependency_failed", "not-retryable"],
    ["condition_false", "not-retryable"],
  ] as const)("answers a failure of kind %s with %s", (kind, reason) => {
    expect(reasonOf(decide({}, { failure: failureOf(new Error("x"), { kind, retryable: true }) }))).toBe(reason);
    expect(reasonOf(decide({}, { failure: failureOf(new Error("x"), { kind, retryable: false }) }))).toBe("not-retryable");
  });

  it("retries what was lost only with retryLost, within the budget", () => {
    const failure = failureOf(new Error("x"), { kind: "lost" });
    expect(reasonOf(decide({ retryLost: true }, { failure }))).toBe("retry");
    expect(reasonOf(decide({ retryLost: true }, { failure, attempt: 3 }))).toBe("exhausted");
  });

  it("never retries a cancellation or a configuration error, whatever the policy says", () => {
    for (const error of [new TaskCancelled("stop"), new ConfigurationError("wrong")]) {
      expect(reasonOf(decide({ retryOn: [Error, () => true] }, { error }))).toBe("not-retryable");
      expect(reasonOf(decide({}, { error, failure: { ...failureOf(error), retryable: true } }))).toBe("not-retryable");
    }
  });

  it("lets giveUpOn beat retryOn", () => {
    const policy: RetryPolicy = { retryOn: [TransientError], giveUpOn: [SlowDown] };
    expect(reasonOf(decide(policy, { error: new TransientError("x") }))).toBe("retry");
    expect(reasonOf(decide(policy, { error: new SlowDown("x") }))).toBe("given-up");
    expect(reasonOf(decide(policy, { error: new Error("x") }))).toBe("not-matched");
    expect(reasonOf(decide({ retryOn: [Error], giveUpOn: [Error] }))).toBe("given-up");
    expect(reasonOf(decide({ retryOn: [] }))).toBe("not-matched");
  });

  it("asks the caller's functions only where their answer counts", () => {
    const never = (): boolean => {
      throw new Error("asked in vain");
    };
    expect(reasonOf(decide({ retryOn: [never] }, { attempt: 3 }))).toBe("exhausted");
    expect(reasonOf(decide({ retryOn: [never] }, { error: new TaskCancelled("x") }))).toBe("not-retryable");
  });
});

describe("matching a failure", () => {
  const matches = (matcher: unknown, situation: Situation): boolean => reasonOf(decide({ giveUpOn: [matcher] }, situation)) === "given-up";
  const reset = Object.assign(new Error("socket"), { code: "ECONNRESET" });
  function OldStyle() {}
  Object.setPrototypeOf(OldStyle.prototype, Error.prototype);

  it.each<[string, unknown, unknown, boolean]>([
    ["a class", TransientError, new TransientError("x"), true],
    ["a class and its subclass", TransientError, new SlowDown("x"), true],
    ["a subclass and its parent", SlowDown, new TransientError("x"), false],
    ["Error and any error", Error, new TypeError("x"), true],
    ["Error and what is none", Error, "text", false],
    ["a class that is no error", class Signal {}, new Error("x"), false],
    ["a constructor of the old style", OldStyle, Object.create(OldStyle.prototype), true],
    ["a code", "ECONNRESET", reset, true],
    ["another code", "EPIPE", reset, false],
    ["a name", "TypeError", new TypeError("x"), true],
    ["a class's name as text", "SlowDown", new SlowDown("x"), true],
    ["a kind", "exception", new Error("x"), true],
    ["another kind", "timeout_idle", new Error("x"), false],
    ["a predicate on the error", (_: Failure, error: unknown) => error === reset, reset, true],
    ["a predicate on the failure", (failure: Failure) => failure.message === "socket", reset, true],
    ["a predicate that says no", () => false, reset, false],
  ])("by %s", (_title, matcher, error, expected) => {
    expect(matches(matcher, { error })).toBe(expected);
  });

  it("goes by the class's name where the error is gone", () => {
    const failure = failureOf(new SlowDown("x"));
    expect(matches(SlowDown, { error: undefined, failure })).toBe(true);
    expect(matches(TransientError, { error: undefined, failure })).toBe(false);
  });

  it("does not go by the name while the error is at hand", () => {
    const Namesake = { TypeError: class TypeError extends Error {} }.TypeError;
    expect(matches(Namesake, { error: new TypeError("x") })).toBe(false);
  });

  it("stands errors that cannot be read", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(matches(Error, { error: proxy })).toBe(false);
    expect(matches("ECONNRESET", { error: proxy })).toBe(false);
  });
});

describe("a policy whose function misbehaves", () => {
  const boom = new RangeError("my own bug");
  const original = new Error("the task's own error", { cause: new Error("its cause") });
  const throwing = (): never => {
    throw boom;
  };

  it.each<[string, unknown, RegExp]>([
    ["NaN", () => NaN, /answer of the backoff function after attempt 1 must be a duration.*found NaN/],
    ["a negative number", () => -5, /found -5/],
    ["Infinity", () => Infinity, /too long.*found Infinity/],
    ["undefined", () => undefined, /found undefined/],
    ["null", () => null, /found null/],
    ["text without a unit", () => "250", /found "250"/],
    ["a promise", () => Promise.reject(boom), /found Promise/],
    ["an error", throwing, /threw after attempt 1: my own bug/],
  ])("fails the task when the backoff gives %s", (_title, backoff, message) => {
    const decision = decide({ backoff }, { error: original });
    if (decision.retry || decision.reason !== "invalid-policy") throw new Error("expected a refusal");
    expect(decision.error).toBeInstanceOf(ConfigurationError);
    expect(decision.error.message).toMatch(message);
    expect(decision.failure).toMatchObject({ kind: "exception", name: "ConfigurationError", retryable: false });
    expect(decision.failure.causes.map((cause) => cause.message)).toEqual([
      ...(backoff === throwing ? ["my own bug"] : []),
      "the task's own error",
      "its cause",
    ]);
    expect(decision.failure.causes.find((cause) => cause.message === original.message)?.stack).toBe(original.stack);
    expect(decision.error.cause).toBe(backoff === throwing ? boom : undefined);
  });

  it.each<[string, unknown]>([
    ["throws", throwing],
    ["answers with text", () => "yes"],
    ["answers with nothing", () => undefined],
    ["answers with a promise", () => Promise.reject(boom)],
  ])("fails the task when a predicate %s", (_title, predicate) => {
    for (const key of ["retryOn", "giveUpOn"]) expect(reasonOf(decide({ [key]: [predicate] }))).toBe("invalid-policy");
  });

  it("keeps what else is known of the failure, and the task's own error however long the chain", () => {
    let deep: unknown = "root";
    for (let n = 0; n < 30; n += 1) deep = new Error(`deep ${n}`, { cause: deep });
    const backoff = (): never => {
      throw deep;
    };
    const failure = failureOf(original, { kind: "nonzero_exit", exitCode: 3, signal: "SIGKILL", forced: true });
    const decision = decide({ backoff }, { failure, error: undefined });
    expect(decision).toMatchObject({ reason: "invalid-policy", failure: { kind: "nonzero_exit", exitCode: 3, signal: "SIGKILL", forced: true } });
    if (decision.retry || decision.reason !== "invalid-policy") throw new Error("expected a refusal");
    expect(decision.failure.causes).toHaveLength(10);
    expect(decision.failure.causes.at(-1)?.message).toBe(original.message);
  });

  it("uses what a well-behaved function gives, told the attempt and the failure", () => {
    const backoff = (attempt: number, failure: Failure) => (failure.message === "x" ? (`${attempt}.5s` as const) : 0);
    expect(decide({ backoff }, { attempt: 2 })).toEqual({ retry: true, delayMs: 2_500 });
    expect(decide({ backoff: { kind: "custom", delay: backoff } }, { attempt: 1 })).toEqual({ retry: true, delayMs: 1_500 });
    expect(decide({ backoff: () => 0 })).toEqual({ retry: true, delayMs: 0 });
    expect(decide({ backoff: () => 2.7 })).toEqual({ retry: true, delayMs: 2 });
  });

  it("answers with a legal delay or a refusal, whatever a function gives", () => {
    fc.assert(
      fc.property(fc.anything(), (answer) => {
        const decision = decide({ backoff: () => answer });
        const legal = decision.retry ? Number.isInteger(decision.delayMs) && decision.delayMs >= 0 : decision.reason === "invalid-policy";
        expect(legal).toBe(true);
      }),
    );
  });
});
