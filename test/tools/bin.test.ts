import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "acorn";
import { describe, expect, test } from "vitest";
import { REPOSITORY, temporaryTree } from "./temporary-tree.ts";

interface Ended {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `bin/chongming.cjs` over a `dist/cli/main.js` of this text, as if by this version of Node. */
async function chongming(main: string, args: readonly string[] = [], nodeVersion?: string): Promise<Ended> {
  const root = await temporaryTree(
    {
      "package.json": '{ "type": "module" }',
      "dist/cli/main.js": main,
      "faked.cjs": `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${nodeVersion}" } });`,
    },
    ["bin"],
  );
  const faked = nodeVersion === undefined ? [] : ["-r", join(root, "faked.cjs")];
  return new Promise((resolve) => {
    const argv = [...faked, join(root, "bin/chongming.cjs"), ...args];
    execFile(process.execPath, argv, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      resolve({ exitCode: typeof error?.code === "number" ? error.code : 0, stdout, stderr });
    });
  });
}

const MAIN = "export const main = async (argv) => { console.log(argv.join(' ')); return 0; };";

describe("the version of Node", () => {
  test.each(["0.10.48", "12.22.12", "20.20.2", "22.0.0", "22.17.1"])("%s gets one line and exit code 2", async (version) => {
    expect(await chongming(MAIN, [], version)).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `chongming needs Node 22.18 or later; this is Node ${version}.\n`,
    });
  });

  test.each(["22.18.0", "22.20.1", "24.0.0", "26.1.0"])("%s starts the program", async (version) => {
    expect(await chongming(MAIN, ["run", "x"], version)).toEqual({ exitCode: 0, stdout: "run x\n", stderr: "" });
  });

  test("is the floor that package.json names", async () => {
    const { engines } = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8")) as { readonly engines: { readonly node: string } };
    expect(engines.node).toBe(">=22.18");
  });

  test("any Node can parse the file that asks for it", async () => {
    const text = await readFile(join(REPOSITORY, "bin/chongming.cjs"), "utf8");
    expect(() => parse(text, { ecmaVersion: 5, allowHashBang: true })).not.toThrow();
  });
});

describe("the end", () => {
  test("the exit code is what main resolves to", async () => {
    expect((await chongming("export const main = async () => 6;")).exitCode).toBe(6);
  });

  test("an error that main lets through is exit code 70, with its stack on stderr", async () => {
    const { exitCode, stdout, stderr } = await chongming("export const main = async () => { throw new Error('a bug'); };");
    expect({ exitCode, stdout }).toEqual({ exitCode: 70, stdout: "" });
    expect(stderr).toMatch(/^Error: a bug\n +at .*main/);
  });

  test("stdout arrives whole, however much there is", async () => {
    const { exitCode, stdout } = await chongming("export const main = async () => { process.stdout.write('x'.repeat(8_000_000)); return 3; };");
    expect({ exitCode, length: stdout.length }).toEqual({ exitCode: 3, length: 8_000_000 });
  });
});

describe("warnings", () => {
  const warning = "SQLite is an experimental feature and might change at any time";

  test("the one about node:sqlite is kept from users", async () => {
    const { stderr } = await chongming(
      `export const main = async () => { process.emitWarning(${JSON.stringify(warning)}, "ExperimentalWarning"); await import("node:sqlite"); return 0; };`,
    );
    expect(stderr).toBe("");
  });

  test.each([
    ["another experimental feature", 'process.emitWarning("Ships is an experimental feature", "ExperimentalWarning")', "Ships is"],
    ["SQLite without being experimental", 'process.emitWarning("SQLite is full")', "SQLite is full"],
    ["a warning with options", 'process.emitWarning("mind", { type: "TaskWarning", detail: "the gap" })', "TaskWarning: mind\nthe gap"],
    ["a warning that is an Error", 'process.emitWarning(Object.assign(new Error("old"), { name: "DeprecationWarning" }))', "DeprecationWarning: old"],
  ])("%s goes through", async (_what, statement, expected) => {
    const { stderr } = await chongming(`export const main = async () => { ${statement}; return 0; };`);
    expect(stderr).toContain(expected);
  });
});
