import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chongming } from "./chongming.ts";

// In processes of their own: here the test runner would load the modules in its own way.

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chongming-modules-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
  return path;
}

describe("a module that does not load is exit code 2 with its path and the cause", () => {
  test.each([
    ["throws.mjs", "\nthrow new TypeError('on purpose');", /failed to load: TypeError: on purpose\n +at .*throws\.mjs:2:7\n$/],
    ["syntax.mjs", "export const = 3;", /failed to load: SyntaxError: Unexpected token '=' \(run node .*syntax\.mjs to see where\)\n$/],
    ["syntax.ts", "\nexport const x: number = ;", /failed to load: SyntaxError: Expression expected\n.*syntax\.ts:2\nexport const x: number = ;\n/],
    ["missing.mjs", "import './nowhere.mjs';", /failed to load: Error: Cannot find module .*nowhere\.mjs/],
    ["nothing.mjs", "export const x = 1;", /exports no task and no pipeline/],
    ["enum.ts", "export enum Colour { Red }", /needs more than Node's type stripping .* npm install jiti/],
  ])("%s", async (name, text, message) => {
    const path = await file(name, text);
    const { exitCode, stdout, stderr } = await chongming(["tasks", "--tasks", path]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain(`chongming: module ${path} `);
    expect(stderr).toMatch(message);
  });

  const opens = `import { Controller, runTask, task } from ${JSON.stringify(new URL("../../src/index.ts", import.meta.url).href)};
export const t = task({ name: "t" }, () => console.log("it ran"));\n`;
  test.each([
    ["awaited.mjs", `${opens}const controller = await Controller.open({ tasks: [t] });\nawait controller.submit(t);`],
    ["started.mjs", `${opens}async function main() { const controller = await Controller.open({ tasks: [t] }); await controller.submit(t); }\nvoid main();`],
    ["caught.mjs", `${opens}await Controller.open({ tasks: [t] }).catch(() => {});`],
    ["run-task.mjs", `${opens}await runTask(t);`],
  ])("one that opens a controller: %s", async (name, text) => {
    const path = await file(name, text);
    const { exitCode, stdout, stderr } = await chongming(["run", "t", "--tasks", path]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(
      /^chongming: module \S+ failed to load: ConfigurationError: (?:Controller\.open|runTask) was called while a module was loaded by the command line for its tasks\. Keep it out .*"if \(import\.meta\.main\)"\.\n(?: +at .*\n)*$/,
    );
  });

  test("the user's jiti is used where Node's type stripping is not enough", async () => {
    const path = await file("with-jiti/enum.ts", "export enum Colour { Red }");
    await file("with-jiti/node_modules/jiti/package.json", '{ "name": "jiti", "type": "module", "exports": "./index.js" }');
    await file(
      "with-jiti/node_modules/jiti/index.js",
      "export const createJiti = () => ({ import: async (path) => ({ t: { name: 'by jiti', options: { name: 'by jiti' }, run: () => path } }) });",
    );
    const { exitCode, stdout } = await chongming(["run", "by jiti", "-q", "--tasks", path]);
    expect(stdout).toContain(`result: "${path}"`);
    expect(exitCode).toBe(0);
  });
});
