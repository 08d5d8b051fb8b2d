import { describe, expect, test } from "vitest";
import { TaskCancelled } from "../../src/core/errors.ts";
import { createFailure } from "../../src/core/failure.ts";
import { FAILURE_KINDS } from "../../src/core/failure.ts";
import { decideRetry, resolveRetryPolicy } from "../../src/core/policies/retry.ts";
import type { Settlement } from "../../src/core/ports/executor.ts";
import { judgeSettlement } from "../../src/core/verdict.ts";
import type { FiredTimeout, SettledAttempt, Verdict } from "../../src/core/verdict.ts";

const boom = new TypeError("cleanup broke");
const died = createFailure({ kind: "nonzero_exit", message: "it exited with code 3 before its code began", exitCode: 3, retryable: true });

const SETTLEMENTS: Readonly<Record<string, Settlement>> = {
  returned: { type: "returned", value: 7, noticed: false },
  "returned, having noticed": { type: "returned", value: 7, noticed: true },
  threw: { type: "threw", error: boom, noticed: false },
  "threw the stop": { type: "threw", error: new TaskCancelled("asked to end"), noticed: true },
  killed: { type: "killed", exitCode: null, signal: "SIGKILL" },
  died: { type: "died", failure: died },
  abandoned: { type: "abandoned" },
};

function judge(settlement: Settlement, given: Partial<SettledAttempt> = {}): Verdict {
  return judgeSettlement({ status: "running", requestedAction: null, timeout: null, settlement, ...given });
}

function settlement(name: string): Settlement {
  const found = SETTLEMENTS[name];
  if (found === undefined) throw new Error(`no settlement "${name}"`);
  return found;
}

/** Type, failure kind, forced, abandoned. */
function gist(verdict: Verdict): string {
  if (verdict.type === "succeeded") return "succeeded";
  const { kind, forced, abandoned } = verdict.failure;
  return [verdict.type, kind, ...(forced ? ["forced"] : []), ...(abandoned ? ["abandoned"] : [])].join(" ");
}

describe("by itself", () => {
  test.each([
    ["returned", "succeeded"],
    ["returned, having noticed", "succeeded"],
    ["threw", "failed exception"],
    ["threw the stop", "failed exception"],
    ["killed", "failed nonzero_exit forced"],
    ["died", "failed nonzero_exit"],
    ["abandoned", "lost lost abandoned"],
  ])("%s: %s", (name, expected) => {
    expect(gist(judge(settlement(name)))).toBe(expected);
  });

  test("what was thrown is kept for result()", () => {
    expect(judge(settlement("threw"))).toMatchObject({ error: boom });
  });
});

describe.each([
  ["stop", "stopped"],
  ["cancel", "cancelled"],
] as const)("under a %s", (requestedAction, word) => {
  test.each([
    ["returned", "succeeded"],
    ["returned, having noticed", "ended cancelled"],
    ["threw", "ended cancelled"],
    ["threw the stop", "ended cancelled"],
    ["killed", "ended cancelled forced"],
    ["died", "failed nonzero_exit"],
    ["abandoned", "lost lost abandoned"],
  ])("%s: %s", (name, expected) => {
    expect(gist(judge(settlement(name), { status: "stopping", requestedAction }))).toBe(expected);
  });

  test("what it returned is its partial outcome, and the message says so", () => {
    const verdict = judge(settlement("returned, having noticed"), { status: "stopping", requestedAction });
    expect(verdict).toMatchObject({ partialOutcome: 7, failure: { message: expect.stringContaining(word) } });
  });

  test("what it threw is kept as the detail and never retried", () => {
    const verdict = judge(settlement("threw"), { status: "stopping", requestedAction });
    expect(verdict).toMatchObject({ failure: { name: "TypeError", message: "cleanup broke", retryable: false } });
  });
});

const TIMEOUTS: readonly FiredTimeout["kind"][] = ["timeout_start", "timeout_attempt", "timeout_idle"];

describe.each(TIMEOUTS)("under %s", (kind) => {
  const timeout: FiredTimeout = { kind, message: "the attempt ran longer than 1s" };

  test.each([
    ["returned", `failed ${kind}`],
    ["returned, having noticed", `failed ${kind}`],
    ["threw", `failed ${kind}`],
    ["threw the stop", `failed ${kind}`],
    ["killed", `failed ${kind} forced`],
    ["died", `failed ${kind}`],
    ["abandoned", `lost ${kind} abandoned`],
  ])("%s: %s", (name, expected) => {
    const verdict = judge(settlement(name), { timeout });
    expect(gist(verdict)).toBe(expected);
    expect(verdict).toMatchObject({ failure: { message: expect.stringContaining("the attempt ran longer than 1s") } });
  });

  test.each(["returned", "threw", "threw the stop", "killed", "died"])("%s: another attempt may follow", (name) => {
    const verdict = judge(settlement(name), { timeout });
    if (verdict.type !== "failed") throw new Error(`it is ${verdict.type}`);
    const policy = resolveRetryPolicy({ maxAttempts: 2 }, "retry");
    expect(decideRetry({ policy, attempt: 1, maxAttempts: 2, failure: verdict.failure, error: verdict.error, random: () => 0 })).toMatchObject({ retry: true });
  });

  test("what it returned is discarded, on the record", () => {
    expect(judge(settlement("returned"), { timeout })).toMatchObject({ discarded: 7 });
    expect(judge(settlement("threw"), { timeout })).not.toHaveProperty("discarded");
  });

  test("a stop in the grace wins", () => {
    expect(gist(judge(settlement("threw the stop"), { timeout, status: "stopping", requestedAction: "stop" }))).toBe("ended cancelled");
    expect(gist(judge(settlement("abandoned"), { timeout, status: "stopping", requestedAction: "stop" }))).toBe("lost lost abandoned");
  });
});

test("every failure of every verdict has a known kind and a message", () => {
  const verdicts = Object.values(SETTLEMENTS).flatMap((each) => [
    judge(each),
    judge(each, { status: "stopping", requestedAction: "stop" }),
    judge(each, { timeout: { kind: "timeout_idle", message: "idle" } }),
  ]);
  const failures = verdicts.flatMap((verdict) => (verdict.type === "succeeded" ? [] : [verdict.failure]));
  expect(failures.length).toBeGreaterThan(15);
  for (const failure of failures) {
    expect(FAILURE_KINDS).toContain(failure.kind);
    expect(failure.message).not.toBe("");
  }
});
