import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, describe, expect, it } from "vitest";
import { findPages, readSnippets } from "./snippets.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
const snippets = findPages(root).flatMap((page) => readSnippets(root, page));

// Inside the repository, so that packages resolve; not in node_modules, where Node strips no types.
mkdirSync(join(root, ".tmp"), { recursive: true });
const folder = mkdtempSync(join(root, ".tmp/snippets-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** What the code of a page made from tables takes for granted; it stands in the file's first line, which is none of its code. */
const PRELUDES: Readonly<Record<string, string>> = {
  "docs/reference/errors.md": 'declare const handle: import("chongming-task").TaskHandle<unknown>;',
};

function fileOf(name: string): string {
  return join(folder, `${name.replaceAll(/[^\w.-]/g, "_")}.ts`);
}

for (const { page, name, source } of snippets) {
  const entries = { '"chongming-task"': '"../../src/index.ts"', '"chongming-task/testing"': '"../../src/testing/index.ts"' };
  writeFileSync(
    fileOf(name),
    Object.entries(entries).reduce((text, [entry, path]) => text.replaceAll(entry, path), (PRELUDES[page] ?? "") + source),
  );
}

describe("the code in README and docs", () => {
  it("is found", () => {
    expect(snippets.filter(({ page }) => page === "README.md").length).toBeGreaterThanOrEqual(1);
    expect(snippets.length).toBeGreaterThanOrEqual(8);
    expect(snippets.filter(({ output }) => output !== null).length).toBeGreaterThanOrEqual(3);
  });

  it("type-checks (line numbers are those of the page)", { timeout: 60_000 }, async () => {
    const config = {
      extends: "../../tsconfig.base.json",
      compilerOptions: { noEmit: true, noUnusedLocals: false, noUnusedParameters: false },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
    const problems = await run(process.execPath, [tsc, "-p", folder], { cwd: root }).then(
      () => [],
      (error: { readonly stdout: string }) => error.stdout.replaceAll(`.tmp/${basename(folder)}/`, "").split("\n"),
    );
    expect(problems).toEqual([]);
  });

  for (const { name, output } of snippets) {
    if (output === null) continue;
    it(`${name} prints what the page says`, { timeout: 60_000 }, async () => {
      const { stdout } = await run(process.execPath, ["--no-warnings", fileOf(name)], { timeout: 50_000 });
      expect(stdout).toBe(output);
    });
  }
});
