/** What the test runner's JSON report has to say, as far as it is read here. */
export interface TestReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: readonly { readonly name: string; readonly status: string; readonly assertionResults: readonly { readonly status: string }[] }[];
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

/** The report as it would be had these files not been run. */
export function withoutFiles(report: TestReport | undefined, files: readonly string[]): TestReport | undefined {
  if (report === undefined) return undefined;
  const [left, taken] = [false, true].map((isTaken) => report.testResults.filter(({ name }) => files.includes(name) === isTaken));
  const count = (status: string): number => (taken ?? []).flatMap((file) => file.assertionResults).filter((test) => test.status === status).length;
  return {
    numPassedTests: report.numPassedTests - count("passed"),
    numFailedTests: report.numFailedTests - count("failed"),
    numPendingTests: report.numPendingTests - count("pending"),
    numTodoTests: report.numTodoTests - count("todo"),
    testResults: left ?? [],
  };
}

/** Both runs as one. */
export function sumOf(a: TestCounts, b: TestCounts): TestCounts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}

/** The line that closes a run: anything can read the counts from it. */
export function closingLine(counts: TestCounts): string {
  return `${counts.passed} passed, ${counts.failed} failed`;
}
