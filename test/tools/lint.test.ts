import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { REPOSITORY, temporaryTree } from "./temporary-tree.ts";

interface Diagnostic {
  readonly code?: string;
  readonly filename: string;
}

const CLEAN = `
type Side = "left" | "right";

export function sideOf(side: Side): number {
  switch (side) {
    case "left":
      return 1;
    case "right":
      return 2;
  }
}
`;

const longBody = Array.from({ length: 60 }, (_, line) => `  total += ${line};`).join("\n");

test.each([
  ["typescript(no-floating-promises)", "export function run(work: () => Promise<void>): void {\n  work();\n}\n"],
  ["typescript(no-misused-promises)", "export function run(work: () => Promise<void>): void {\n  [1].forEach(work);\n}\n"],
  ["typescript(switch-exhaustiveness-check)", CLEAN.replace('    case "right":\n      return 2;\n', "").replace("number", "number | undefined")],
  ["typescript(switch-exhaustiveness-check)", CLEAN.replace('case "right"', "default")],
  ["typescript(no-explicit-any)", "export type Anything = any;\n"],
  ["typescript(no-unsafe-return)", "export function parse(text: string): { readonly a: 1 } {\n  return JSON.parse(text);\n}\n"],
  ["typescript(consistent-type-imports)", 'import { Stats } from "node:fs";\nexport type Found = Stats;\n'],
  ["typescript(consistent-type-imports)", 'export type Found = import("node:fs").Stats;\n'],
  ["import(consistent-type-specifier-style)", 'import { type Stats } from "node:fs";\nexport type Found = Stats;\n'],
  ["import(no-default-export)", "export default 1;\n"],
  ["eslint(max-lines)", "export {};\n".repeat(401)],
  ["eslint(max-lines-per-function)", `export function sum(): number {\n  let total = 0;\n${longBody}\n  return total;\n}\n`],
  ["eslint(no-console)", "console.log(1);\n"],
  ["eslint(no-restricted-properties)", "export const signal = AbortSignal.timeout(1);\n"],
])("%s fails the lint of src", async (code, text) => {
  const diagnostics = await lint({ "src/api/planted.ts": text });
  expect(diagnostics).toContainEqual(expect.objectContaining({ code, filename: "src/api/planted.ts" }));
});

test("a file name that is not kebab-case fails", async () => {
  expect((await lint({ "src/api/plantedHere.ts": CLEAN })).map(({ code }) => code)).toEqual(["unicorn(filename-case)"]);
});

test("a test that asserts nothing, and one that shuts the others out, fail", async () => {
  const text = 'import { test } from "vitest";\ntest.only("a", () => {\n  Math.max(1, 2);\n});\n';
  const codes = (await lint({ "test/planted.test.ts": text })).map(({ code }) => code);
  expect(new Set(codes)).toEqual(new Set(["vitest(expect-expect)", "vitest(no-focused-tests)"]));
});

test("clean code passes", async () => {
  expect(await lint({ "src/api/planted.ts": CLEAN })).toEqual([]);
});

async function lint(files: Readonly<Record<string, string>>): Promise<readonly Diagnostic[]> {
  const settings = { extends: "./tsconfig.base.json", compilerOptions: { typeRoots: [join(REPOSITORY, "node_modules/@types")] }, include: ["src", "test"] };
  const root = await temporaryTree({ ...files, "tsconfig.json": JSON.stringify(settings) }, [".oxlintrc.json", "tsconfig.base.json"]);
  const oxlint = join(REPOSITORY, "node_modules/oxlint/bin/oxlint");
  const stdout = await new Promise<string>((resolve) => {
    execFile(process.execPath, [oxlint, "--type-aware", "--format", "json"], { cwd: root }, (_error, text) => resolve(text));
  });
  return (JSON.parse(stdout) as { readonly diagnostics: readonly Diagnostic[] }).diagnostics;
}
