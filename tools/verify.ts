import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CHECKS } from "./checks.ts";
import { runCommand } from "./run-command.ts";
import { closingLine, countTests } from "./test-counts.ts";
import type { TestCounts, TestReport } from "./test-counts.ts";

// `npm test`: every check, then every test with coverage, then one line with the counts. A failed check counts as one
// failure and stops nothing: one run shows all there is to mend.
const root = fileURLToPath(new URL("..", import.meta.url));
const reportFile = join(root, "node_modules/.cache/vitest/report.json");

const { values } = parseArgs({ options: { "checks-only": { type: "boolean", default: false }, long: { type: "boolean", default: false } } });

const failedChecks = await runChecks();
if (values["checks-only"]) {
  close({ passed: CHECKS.length - failedChecks, failed: failedChecks, skipped: 0 });
} else {
  const counts = await runTests(values.long);
  close({ ...counts, failed: counts.failed + failedChecks });
}

async function runChecks(): Promise<number> {
  let failed = 0;
  for (const { name, script } of CHECKS) {
    const begun = performance.now();
    const { exitCode, output } = await runCommand(`npm run --silent ${script}`, { cwd: root });
    const seconds = ((performance.now() - begun) / 1000).toFixed(1);
    console.log(`${exitCode === 0 ? "✓" : "✗"} ${name} (${seconds} s)`);
    if (exitCode === 0) continue;
    failed += 1;
    console.log(`${output.trimEnd()}\n✗ ${name}: run it alone with: npm run ${script}\n`);
  }
  return failed;
}

async function runTests(long: boolean): Promise<TestCounts> {
  await rm(reportFile, { force: true });
  const command = `vitest run --coverage --reporter=default --reporter=json --outputFile.json="${reportFile}"`;
  const env = long ? { ...process.env, CHONGMING_LONG: "1" } : process.env;
  const { exitCode } = await runCommand(command, { cwd: root, env, output: "show" });
  return countTests(await readReport(), exitCode);
}

async function readReport(): Promise<TestReport | undefined> {
  try {
    return JSON.parse(await readFile(reportFile, "utf8")) as TestReport;
  } catch {
    return undefined;
  }
}

function close(counts: TestCounts): void {
  if (counts.skipped > 0) console.log(`${counts.skipped} skipped`);
  console.log(closingLine(counts));
  process.exitCode = counts.failed === 0 ? 0 : 1;
}
