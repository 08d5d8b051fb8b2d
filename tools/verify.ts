import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { CHECKS } from "./checks.ts";
import { filesLostToV8 } from "./engine-crash.ts";
import { runCommand } from "./run-command.ts";
import type { CommandResult } from "./run-command.ts";
import { closingLine, countTests, sumOf, withoutFiles } from "./test-counts.ts";
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
  const colours = process.stdout.isTTY ? { FORCE_COLOR: "1" } : {};
  const env = { ...process.env, ...colours, ...(long ? { CHONGMING_LONG: "1" } : {}) };
  const first = await runVitest("--coverage", env);
  const lost = filesLostToV8(first.output);
  if (lost.length === 0) return countTests(first.report, first.exitCode);
  console.log(`V8 itself ended the process of ${lost.join(", ")}: a fault of the engine (docs/guides/carriers.md). What it took down is run again.`);
  const again = await runVitest(lost.map((file) => `"${file}"`).join(" "), env);
  // The exit code of the first run tells of nothing but these files.
  return sumOf(countTests(withoutFiles(first.report, lost), 0), countTests(again.report, again.exitCode));
}

async function runVitest(args: string, env: NodeJS.ProcessEnv): Promise<CommandResult & { readonly report: TestReport | undefined }> {
  await rm(reportFile, { force: true });
  const command = `vitest run ${args} --reporter=default --reporter=json --outputFile.json="${reportFile}"`;
  const result = await runCommand(command, { cwd: root, env, output: "show" });
  return { ...result, report: await readReport() };
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
