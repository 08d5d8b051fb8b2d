import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGE_CONTENTS, packedFiles, refuseContents, refuseLinks } from "./package-contents.ts";
import { runCommand } from "./run-command.ts";
import { closingLine } from "./test-counts.ts";

// What a user gets: the built package is packed, looked into, checked by two linters of packages, installed into an
// empty folder, imported and started there.
const root = fileURLToPath(new URL("..", import.meta.url));
const folder = await mkdtemp(join(tmpdir(), "chongming-package-"));
const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest;
const tarball = join(folder, `${manifest.name}-${manifest.version}.tgz`);
let passed = 0;
let failed = 0;

try {
  await step("pack", `npm pack --json --pack-destination "${folder}"`, { check: checkContents });
  await step("publint", `publint run "${tarball}" --strict`);
  await step("are the types wrong", `attw "${tarball}" --profile esm-only`);
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await step("install", `npm install --no-audit --no-fund --ignore-scripts "${tarball}"`, { cwd: folder });
  for (const entry of publicEntries()) {
    await step(`import ${entry}`, `node --input-type=module -e "if (Object.keys(await import('${entry}')).length === 0) throw new Error('exports nothing')"`, {
      cwd: folder,
    });
  }
  await step("refuse a deep import", `node --input-type=module -e "await import('${manifest.name}/dist/index.js').then(() => process.exit(1), () => {})"`, {
    cwd: folder,
  });
  await step("chongming --version", "npx --no-install chongming --version", { cwd: folder, check: checkVersion });
  await step("chongming --help", "npx --no-install chongming --help", { cwd: folder });
} finally {
  await rm(folder, { recursive: true, force: true });
}
console.log(closingLine({ passed, failed, skipped: 0 }));
process.exitCode = failed === 0 ? 0 : 1;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
}

interface StepOptions {
  readonly cwd?: string;
  readonly check?: (output: string) => readonly string[] | Promise<readonly string[]>;
}

async function step(name: string, command: string, options: StepOptions = {}): Promise<void> {
  const { exitCode, output } = await runCommand(command, { cwd: options.cwd ?? root });
  const complaints = exitCode === 0 ? ((await options.check?.(output)) ?? []) : [`exit code ${exitCode}`, output.trimEnd()];
  console.log(`${complaints.length === 0 ? "✓" : "✗"} ${name}`);
  for (const complaint of complaints) console.log(`  ${complaint}`);
  if (complaints.length === 0) passed += 1;
  else failed += 1;
}

async function checkContents(output: string): Promise<readonly string[]> {
  const files = packedFiles(output);
  const pages = files.filter((file) => file.endsWith(".md"));
  const texts = await Promise.all(pages.map(async (page) => [page, await readFile(join(root, page), "utf8")] as const));
  return [...refuseContents(files, PACKAGE_CONTENTS), ...refuseLinks(files, new Map(texts))];
}

function checkVersion(output: string): readonly string[] {
  return output.includes(manifest.version) ? [] : [`it said ${JSON.stringify(output)}; package.json says ${manifest.version}`];
}

function publicEntries(): readonly string[] {
  const entries = Object.keys(manifest.exports).filter((entry) => !entry.endsWith(".json"));
  return entries.map((entry) => manifest.name + entry.slice(1));
}
