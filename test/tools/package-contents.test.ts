import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { PACKAGE_CONTENTS, packedFiles, refuseContents, refuseLinks } from "../../tools/package-contents.ts";
import { runCommand } from "../../tools/run-command.ts";
import { REPOSITORY } from "./temporary-tree.ts";

test("the required files alone are a whole package", () => {
  expect(refuseContents(PACKAGE_CONTENTS.required, PACKAGE_CONTENTS)).toEqual([]);
});

test("a missing file is named", () => {
  const files = PACKAGE_CONTENTS.required.filter((file) => file !== "LICENSE");
  expect(refuseContents(files, PACKAGE_CONTENTS)).toEqual(["missing: LICENSE"]);
});

test.each([
  "src/index.ts",
  "test/a.test.ts",
  "dist/.tsbuildinfo",
  "node_modules/a/index.js",
  ".npmrc",
  "dist/index.ts",
  "examples/data.csv",
  "bench/dag.bench.ts",
])("%s has no business there", (file) => {
  expect(refuseContents([...PACKAGE_CONTENTS.required, file], PACKAGE_CONTENTS)).toEqual([`has no business there: ${file}`]);
});

test("a link that leads out of the package is named", () => {
  const text = "[a](docs/a.md#b) [b](docs) [c](examples/) [d](https://x.y/z) [e](#f) [g](src/g.ts) [h](../h.md)\n```md\n[i](i.md)\n```\n";
  const pages = new Map([
    ["README.md", text],
    ["docs/a.md", "[r](../README.md) [t](../test/t.ts)"],
  ]);
  expect(refuseLinks(["README.md", "docs/a.md", "examples/1.ts"], pages)).toEqual([
    "README.md: its link leads out of the package: src/g.ts",
    "README.md: its link leads out of the package: ../h.md",
    "docs/a.md: its link leads out of the package: ../test/t.ts",
  ]);
});

test("every link of the pages that are packed leads into the package", { timeout: 60_000 }, async () => {
  const { output } = await runCommand("npm pack --dry-run --json --ignore-scripts 2>/dev/null", { cwd: REPOSITORY });
  const files = packedFiles(output);
  const pages = files.filter((file) => file.endsWith(".md"));
  expect(pages).toContain("docs/guides/tasks.md");
  expect(refuseLinks(files, new Map(pages.map((page) => [page, readFileSync(join(REPOSITORY, page), "utf8")])))).toEqual([]);
});
