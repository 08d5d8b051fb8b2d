import { describe, expect, test } from "vitest";
import { recordError, reviveError } from "../../src/core/error-record.ts";
import { matchesFailure, resolveFailureMatchers } from "../../src/core/policies/failure-matcher.ts";
import { decideRetry, resolveRetryPolicy } from "../../src/core/policies/retry.ts";
import { failureOf } from "../../src/core/thrown.ts";

class TransientError extends Error {}
class Busy extends TransientError {
  readonly code = "E_BUSY";
}

const here = new Busy("later");
const elsewhere = reviveError(structuredClone(recordError(here)));

function matches(matcher: unknown, error: unknown): boolean {
  return matchesFailure(resolveFailureMatchers([matcher], "retryOn"), failureOf(error), error);
}

describe.each([
  ["in this thread", here],
  ["in another thread or process", elsewhere],
])("an error thrown %s", (_where, error) => {
  test.each([
    ["its class", Busy, true],
    ["a class above it", TransientError, true],
    ["Error", Error, true],
    ["another class", RangeError, false],
    ["its name", "Busy", true],
    ["its code", "E_BUSY", true],
    ["its kind", "exception", true],
    ["another code", "E_OTHER", false],
    ["a class without a name", class extends Error {}, false],
  ])("is matched by %s: %#", (_what, matcher, expected) => {
    expect(matches(matcher, error)).toBe(expected);
  });

  test("is handed to a predicate", () => {
    const seen: unknown[] = [];
    expect(matches((failure: { readonly name: string }, thrown: unknown) => seen.push(failure.name, thrown) > 0, error)).toBe(true);
    expect(seen).toEqual(["Busy", error]);
  });

  test("is retried, or given up on, as the policy says", () => {
    const ask = (policy: object): unknown =>
      decideRetry({
        policy: resolveRetryPolicy({ maxAttempts: 3, ...policy }),
        attempt: 1,
        maxAttempts: 3,
        failure: failureOf(error),
        error,
        random: () => 0.5,
      });
    expect(ask({ retryOn: [TransientError] })).toMatchObject({ retry: true });
    expect(ask({ retryOn: [RangeError] })).toEqual({ retry: false, reason: "not-matched" });
    expect(ask({ giveUpOn: [TransientError] })).toEqual({ retry: false, reason: "given-up" });
  });
});

test("an error that is gone is matched by its own name alone", () => {
  const failure = failureOf(here);
  expect(matchesFailure(resolveFailureMatchers([Busy], "retryOn"), failure, undefined)).toBe(true);
  expect(matchesFailure(resolveFailureMatchers([TransientError], "retryOn"), failure, undefined)).toBe(false);
});
