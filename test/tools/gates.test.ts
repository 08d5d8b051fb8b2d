import { describe, expect, test } from "vitest";
import { checkDependencies } from "../../tools/gates/dependency-gate.ts";
import { LAYERS } from "../../tools/gates/layers.ts";
import { checkCorePurity } from "../../tools/gates/purity-gate.ts";
import type { Violation } from "../../tools/gates/violation.ts";
import { REPOSITORY, temporaryTree } from "./temporary-tree.ts";

/** A file per layer, `index.ts` among them; each importable by its path. */
const CLEAN: Readonly<Record<string, string>> = {
  "src/core/a.ts": "export type A = 1;\nexport const a = 1;\n",
  "src/stores/memory/a.ts": 'export { a } from "../../core/a.ts";\n',
  "src/stores/sqlite/a.ts": 'import { DatabaseSync } from "node:sqlite";\nexport const open = () => new DatabaseSync(":memory:");\n',
  "src/observability/a.ts": 'export { a } from "../core/a.ts";\n',
  "src/runtime/a.ts": 'export { a } from "../core/a.ts";\n',
  "src/testing/a.ts": 'export { a } from "../core/a.ts";\n',
  "src/api/a.ts": 'export { a } from "../runtime/a.ts";\nexport { a as stored } from "../stores/memory/a.ts";\n',
  "src/cli/a.ts": 'export { a } from "../api/a.ts";\nexport { open } from "../stores/sqlite/a.ts";\n',
  "src/server/a.ts": 'export { a } from "../api/a.ts";\n',
  "src/index.ts": 'export { a } from "./api/a.ts";\n',
};

describe("layers", () => {
  test("a tree that keeps to the table passes", async () => {
    const report = await checkDependencies(await temporaryTree(CLEAN));
    expect(report.violations).toEqual([]);
    expect(report.modules).toBe(Object.keys(CLEAN).length);
  });

  test.each(forbiddenPairs())("$from may not import $to", async ({ from, to }) => {
    const file = `src/${from}/planted.ts`;
    const violations = await plantedIn(file, `import type {} from "../../src/${to}/a.ts";\n`);
    expect(violations).toEqual([{ file, message: expect.stringContaining(`${from} may not import ../../src/${to}/a.ts`) }]);
  });

  test.each([
    ["a type import", 'import type { A } from "../runtime/a.ts";\nexport type B = A;\n'],
    ["a type among the names", 'import { type A } from "../runtime/a.ts";\nexport type B = A;\n'],
    ["a type export", 'export type { A } from "../runtime/a.ts";\n'],
    ["an export of everything", 'export * from "../runtime/a.ts";\n'],
    ["an import for its effect", 'import "../runtime/a.ts";\n'],
    ["a dynamic import", 'export const load = () => import("../runtime/a.ts");\n'],
  ])("%s counts", async (_kind, text) => {
    const violations = await plantedIn("src/stores/planted.ts", text);
    expect(violations).toEqual([{ file: "src/stores/planted.ts", message: "stores may not import ../runtime/a.ts: it may import core" }]);
  });

  test("api may import the memory store and no other", async () => {
    const violations = await plantedIn("src/api/planted.ts", 'import "../stores/sqlite/a.ts";\n');
    expect(violations).toEqual([expect.objectContaining({ file: "src/api/planted.ts" })]);
  });

  test("core may import no module of the host", async () => {
    const violations = await plantedIn("src/core/planted.ts", 'import type { Stats } from "node:fs";\nexport type S = Stats;\n');
    expect(violations).toEqual([{ file: "src/core/planted.ts", message: expect.stringContaining("no module of the host") }]);
  });

  test("a package is refused until the table names it", async () => {
    const tree = await temporaryTree({ ...CLEAN, "src/cli/planted.ts": 'import "chalk";\n' });
    expect((await checkDependencies(tree)).violations).toEqual([{ file: "src/cli/planted.ts", message: expect.stringContaining("cli may not import chalk") }]);
    const named = LAYERS.map((layer) => (layer.path === "cli" ? { ...layer, packages: ["chalk"] } : layer));
    expect((await checkDependencies(tree, named)).violations).toEqual([]);
  });

  test("a file outside every layer is refused", async () => {
    const violations = await plantedIn("src/utils/planted.ts", "export {};\n");
    expect(violations).toEqual([{ file: "src/utils/planted.ts", message: expect.stringContaining("belongs to no layer") }]);
  });

  test("an import of a file that is not there is refused", async () => {
    const violations = await plantedIn("src/core/planted.ts", 'import "./gone.ts";\n');
    expect(violations).toEqual([{ file: "src/core/planted.ts", message: expect.stringContaining("there is no such file") }]);
  });

  test("an import from outside src is refused", async () => {
    const tree = await temporaryTree({ ...CLEAN, "tools/a.ts": "export {};\n", "src/cli/planted.ts": 'import "../../tools/a.ts";\n' });
    expect((await checkDependencies(tree)).violations).toEqual([{ file: "src/cli/planted.ts", message: expect.stringContaining("outside src") }]);
  });

  test("a tree in which nothing is seen does not pass", async () => {
    expect((await checkDependencies(await temporaryTree({ "src/readme.txt": "" }))).violations).toHaveLength(1);
  });
});

describe("cycles", () => {
  test("a cycle through type imports is refused, with its path", async () => {
    const tree = await temporaryTree({
      "src/core/one.ts": 'import type { Two } from "./two.ts";\nexport type One = Two;\n',
      "src/core/two.ts": 'export { three } from "./three.ts";\nexport type Two = 2;\n',
      "src/core/three.ts": 'import type { One } from "./one.ts";\nexport const three: One = 2;\n',
    });
    const { violations } = await checkDependencies(tree);
    expect(violations).toContainEqual({
      file: "src/core/one.ts",
      message: "import cycle: src/core/one.ts → src/core/two.ts → src/core/three.ts → src/core/one.ts",
    });
  });
});

describe("purity of the core", () => {
  const pure =
    'export const table = new Map([["a", Math.max(1, 2)]]);\nexport function wait(signal: AbortSignal, at: number): Error {\n  return new Error(`${signal.aborted} ${at}`);\n}\n';

  test("plain language, and types of the host, pass", async () => {
    expect(await purityOf(pure)).toEqual([]);
  });

  test.each([
    "Date.now()",
    "new Date()",
    "Math.random()",
    'Math["random"]()',
    "globalThis.Date.now()",
    "process.pid",
    'typeof process === "undefined"',
    "console",
    "setTimeout(() => 1, 1)",
    "setImmediate(() => 1)",
    "queueMicrotask(() => 1)",
    "performance.now()",
    "crypto.randomUUID()",
    'fetch("x")',
    "structuredClone({})",
    "new AbortController()",
    'Buffer.from("x")',
    "Intl.DateTimeFormat()",
    "new WeakRef({})",
    "import.meta.url",
    'require("fs")',
    "global",
    'eval("1")',
  ])("%s is refused", async (expression) => {
    const violations = await purityOf(`export const planted = ${expression};\n`);
    expect(violations).toContainEqual({ file: "src/core/deep/planted.ts", message: expect.stringMatching(/^the core /) });
  });

  test.each([
    'import { readFileSync } from "node:fs";\nexport const planted = readFileSync;\n',
    'import type { Stats } from "node:fs";\nexport type Planted = Stats;\n',
    'export type Planted = import("../../runtime/a.ts").A;\n',
    "/* eslint-disable */\nexport const planted = Date.now();\n",
    "// oxlint-disable-next-line no-restricted-globals\nexport const planted = Date.now();\n",
    "// @ts-expect-error\nexport const planted: string = 1;\n",
  ])("refused: %s", async (text) => {
    expect(await purityOf(text)).toContainEqual({ file: "src/core/deep/planted.ts", message: expect.stringMatching(/^the core /) });
  });

  test("a parameter that has the name of something of the host passes", async () => {
    expect(await purityOf("export function pidOf(process: { readonly pid: number }): number {\n  return process.pid;\n}\n")).toEqual([]);
  });

  test("outside the core the same is allowed", async () => {
    const tree = await temporaryTree({ "src/core/a.ts": pure, "src/runtime/clock.ts": "export const now = Date.now();\n" }, [".oxlintrc.json"]);
    expect(await checkCorePurity(tree)).toEqual([]);
  });

  test("a tree in which nothing is seen does not pass", async () => {
    const tree = await temporaryTree({ "src/core/readme.txt": "" }, [".oxlintrc.json"]);
    expect(await checkCorePurity(tree)).toHaveLength(1);
  });
});

describe("this repository", () => {
  test("keeps to its layers and has no cycle", async () => {
    expect((await checkDependencies(REPOSITORY)).violations).toEqual([]);
  });

  test("has a pure core", async () => {
    expect(await checkCorePurity(REPOSITORY)).toEqual([]);
  });
});

async function plantedIn(file: string, text: string): Promise<readonly Violation[]> {
  return (await checkDependencies(await temporaryTree({ ...CLEAN, [file]: text }))).violations;
}

async function purityOf(text: string): Promise<readonly Violation[]> {
  return checkCorePurity(await temporaryTree({ "src/core/deep/planted.ts": text }, [".oxlintrc.json"]));
}

/** Every pair of layers that the design does not list as allowed: written here apart from the gate's own table. */
function forbiddenPairs(): readonly { readonly from: string; readonly to: string }[] {
  const layers = ["core", "stores", "observability", "runtime", "testing", "api", "cli", "server"];
  const allowed: Readonly<Record<string, readonly string[]>> = {
    core: [],
    stores: ["core"],
    observability: ["core"],
    runtime: ["core"],
    testing: ["core"],
    api: ["core", "runtime"],
    cli: ["core", "api", "stores", "observability"],
    server: ["core", "api"],
  };
  const withFile = layers.filter((layer) => layer !== "stores");
  return layers.flatMap((from) => withFile.filter((to) => to !== from && !allowed[from]?.includes(to)).map((to) => ({ from, to })));
}
