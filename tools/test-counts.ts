/** What the test runner's JSON report has to say, as far as it is read here. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly { readonly status: string }[] }[];
}

export interface TestCounts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/**
 * Counts from the runner's report. A file that failed before its first test counts as one failure, and so does a run
 * that the runner itself calls failed though no test did (coverage below its threshold, an unhandled error, no report).
 */
export function countTests(report: TestReport | undefined, exitCode: number): TestCounts {
  if (report === undefined) return { passed: 0, failed: 1, skipped: 0 };
  const brokenFiles = report.testResults.filter((file) => file.status === "failed" && file.assertionResults.every((test) => test.status !== "failed"));
  const failed = report.numFailedTests + brokenFiles.length;
  return {
    passed: report.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/** The line that closes a run: anything can read the counts from it. */
export function closingLine(counts: TestCounts): string {
  return `${counts.passed} passed, ${counts.failed} failed`;
}
