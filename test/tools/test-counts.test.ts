import { describe, expect, test } from "vitest";
import { closingLine, countTests, sumOf, withoutFiles } from "../../tools/test-counts.ts";
import type { TestReport } from "../../tools/test-counts.ts";

const report: TestReport = {
  numPassedTests: 12,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 2,
  testResults: [{ name: "/a.test.ts", status: "passed", assertionResults: [{ status: "passed" }] }],
};

describe("counts", () => {
  test("a run in which all is well", () => {
    expect(countTests(report, 0)).toEqual({ passed: 12, failed: 0, skipped: 3 });
  });

  test("failed tests, each once, whatever their files say", () => {
    const failed = {
      ...report,
      numFailedTests: 2,
      testResults: [{ name: "/a.test.ts", status: "failed", assertionResults: [{ status: "failed" }, { status: "failed" }] }],
    };
    expect(countTests(failed, 1).failed).toBe(2);
  });

  test("a file that failed before its first test is one failure", () => {
    expect(countTests({ ...report, testResults: [{ name: "/a.test.ts", status: "failed", assertionResults: [] }] }, 1).failed).toBe(1);
  });

  test("a file whose tests passed and whose hooks failed is one failure", () => {
    expect(countTests({ ...report, testResults: [{ name: "/a.test.ts", status: "failed", assertionResults: [{ status: "passed" }] }] }, 1).failed).toBe(1);
  });

  test("coverage below its threshold is one failure: the runner fails and no test does", () => {
    expect(countTests(report, 1)).toEqual({ passed: 12, failed: 1, skipped: 3 });
  });

  test("no report is one failure, whatever the exit code", () => {
    expect(countTests(undefined, 0)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });
});

test("the closing line has nothing but the counts", () => {
  expect(closingLine({ passed: 12, failed: 1, skipped: 3 })).toBe("12 passed, 1 failed");
});

test("files that are run again count by their second run alone", () => {
  const lost = { name: "/b.test.ts", status: "failed", assertionResults: [{ status: "passed" }, { status: "pending" }] };
  const first = { ...report, numPassedTests: 13, numPendingTests: 2, testResults: [...report.testResults, lost] };
  const again = { ...report, numPassedTests: 2, numPendingTests: 0, numTodoTests: 0 };
  expect(countTests(withoutFiles(first, ["/b.test.ts"]), 0)).toEqual({ passed: 12, failed: 0, skipped: 3 });
  expect(sumOf(countTests(withoutFiles(first, ["/b.test.ts"]), 0), countTests(again, 1))).toEqual({ passed: 14, failed: 1, skipped: 3 });
  expect(countTests(withoutFiles(undefined, []), 0).failed).toBe(1);
});
