import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, relative } from "node:path";
import type { Violation } from "./violation.ts";

interface LintReport {
  readonly diagnostics: readonly { readonly message: string; readonly code?: string; readonly filename: string }[];
  readonly number_of_files: number;
}

/**
 * The core names nothing of the host and takes no time or chance by itself. The rules are lint's own (the override
 * for `src/core` in `<root>/.oxlintrc.json`); what lint lets a comment switch off, or cannot see, is added here.
 */
export async function checkCorePurity(root: string): Promise<readonly Violation[]> {
  const report = await lintCore(root);
  if (report.number_of_files === 0) return [{ file: "src/core", message: "the gate saw no file there" }];
  const impure = report.diagnostics.filter(({ code, message }) => code === undefined || PURITY_RULES.includes(code) || message.startsWith("`import()` type"));
  const linted = impure.map(({ filename, message }) => ({ file: filename, message: `the core is pure: ${message}` }));
  return [...linted, ...(await checkText(root))];
}

const PURITY_RULES: readonly string[] = [
  "eslint(no-undef)",
  "eslint(no-restricted-globals)",
  "eslint(no-restricted-properties)",
  "eslint(no-restricted-imports)",
  "eslint(no-eval)",
];

const REFUSED_TEXT: readonly { readonly pattern: RegExp; readonly message: string }[] = [
  { pattern: /(?:oxlint|eslint)-disable/, message: "the core switches no lint rule off" },
  { pattern: /@ts-(?:ignore|nocheck|expect-error)/, message: "the core silences no type error" },
  { pattern: /\bimport\s*\.\s*meta\b/, message: "the core does not ask where it is loaded from" },
];

async function checkText(root: string): Promise<readonly Violation[]> {
  const entries = await readdir(join(root, "src/core"), { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith(".ts")).map((entry) => join(entry.parentPath, entry.name));
  const found = files.map(async (file) => {
    const text = await readFile(file, "utf8");
    return REFUSED_TEXT.filter(({ pattern }) => pattern.test(text)).map(({ message }) => ({ file: relative(root, file), message }));
  });
  return (await Promise.all(found)).flat();
}

function lintCore(root: string): Promise<LintReport> {
  const oxlint = join(dirname(createRequire(import.meta.url).resolve("oxlint/package.json")), "bin/oxlint");
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [oxlint, "--format", "json", "src/core"], { cwd: root, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout.slice(stdout.indexOf("{"))) as LintReport);
      } catch {
        reject(new Error(`oxlint gave no report: ${stderr || stdout}`, { cause: error }));
      }
    });
  });
}
