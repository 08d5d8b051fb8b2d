import { describe, expect, test } from "vitest";
import { countStatuses } from "../../src/api/run-summary.ts";
import { drawSummary } from "../../src/cli/output/summary.ts";
import type { EndSummary } from "../../src/cli/output/summary.ts";
import { createFailure } from "../../src/core/failure.ts";
import type { Failure } from "../../src/core/failure.ts";

function summary(status: "succeeded" | "failed", failure: Failure): EndSummary {
  return {
    kind: "run",
    id: "abcdefghijkl",
    name: "nightly",
    status,
    total: 3,
    counts: { ...countStatuses([]), succeeded: 2, failed: 1 },
    maps: [],
    startedAt: 1_000,
    endedAt: 2_000,
    attempt: null,
    maxAttempts: null,
    firstFailure: { node: "vote-2", taskId: "", status: "failed", failure, affected: ["count"] },
    outcome: undefined,
    outcomeMissing: null,
    exitCode: 0,
  };
}

function lines(status: "succeeded" | "failed", failure: Failure): readonly string[] {
  return drawSummary(summary(status, failure), { paint: (_style, text) => text, verbose: false });
}

describe("the first failure", () => {
  test.each([
    ["failed", "failed:"],
    ["succeeded", "forgiven:"],
  ] as const)("of a run that has %s is called %s", (status, word) => {
    expect(lines(status, createFailure({ kind: "exception", message: "no" }))).toEqual([
      `${word} vote-2 (exception): no`,
      "  brought down: count",
      `run nightly (abcdefgh) ${status} in 1 s: 2 succeeded, 1 failed`,
    ]);
  });

  test("has the chain of its causes, each with its place", () => {
    const stack = "Error: x\n    at work (/home/ada/tasks.ts:7:1)";
    const causes = ["a", "b"].map((message) => ({ name: "Error", message, stack }));
    expect(lines("failed", createFailure({ kind: "exception", message: "no", causes })).slice(1, 5)).toEqual([
      "  caused by a",
      "    at work (/home/ada/tasks.ts:7:1)",
      "  caused by b",
      "    at work (/home/ada/tasks.ts:7:1)",
    ]);
  });

  test("of a map has what went wrong with its items as a list, and the place they share once", () => {
    const stack = (line: number): string => `Error: x\n    at work (/home/ada/tasks.ts:${line}:1)`;
    const causes = [
      { name: "12 items, first vote-2[0]", message: "no such host", stack: stack(7) },
      { name: "vote-2[3]", message: "no such port", stack: stack(7) },
      { name: "vote-2[4]", message: "lost", stack: stack(9) },
    ];
    const failure = createFailure({ kind: "exception", name: "ItemsFailed", message: "14 of 20 items did not succeed", causes });
    expect(lines("failed", failure).slice(0, 6)).toEqual([
      "failed: vote-2 (exception): ItemsFailed: 14 of 20 items did not succeed",
      "  12 items, first vote-2[0]: no such host",
      "    at work (/home/ada/tasks.ts:7:1)",
      "  vote-2[3]: no such port",
      "  vote-2[4]: lost",
      "    at work (/home/ada/tasks.ts:9:1)",
    ]);
  });
});
