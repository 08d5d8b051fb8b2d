import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { Controller } from "../../src/index.ts";
import * as example from "./example.test-d.ts";
import * as refusals from "./refusals.test-d.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

it("runs what the type tests say compiles", async () => {
  const { depsLast, fanOut, importAll, joins, maps, nightly } = example;
  await using controller = await Controller.open({ pipelines: [depsLast, fanOut, importAll, joins, maps, nightly] });
  const runs = [
    await controller.startRun(nightly, ["2026-12-01"]),
    await controller.startRun(joins),
    await controller.startRun(maps, [["b", "c"]]),
    await controller.startRun(depsLast),
    await controller.startRun(fanOut, [3]),
    await controller.startRun(importAll, [["2026-12-01", "2026-12-02"], true]),
  ];
  const ended = await Promise.all(runs.map((run) => run.wait({ timeout: "10s" })));
  expect(ended.map(({ name, status }) => [name, status])).toEqual(runs.map(({ name }) => [name, "succeeded"]));
});

it("does not compile a type test that expects a refusal where there is none", async () => {
  // They stand in files of the check project; that they are loaded here keeps them from being taken for unused code.
  const { controllers, maps, nodes, opening, pipelines, tasks } = refusals;
  for (const checked of [
    example.main,
    example.withAlert,
    example.checked,
    example.daysOf,
    example.tellApart,
    controllers,
    maps,
    nodes,
    opening,
    pipelines,
    tasks,
  ])
    expect(checked).toBeTypeOf("function");
  const folder = await mkdtemp(join(root, "node_modules/.type-test-"));
  try {
    const source = (args: string): string =>
      `import { runTask, task } from "../../src/index.ts";\n` +
      `const count = task({ name: "count" }, (_ctx, text: string) => text.length);\n` +
      `// @ts-expect-error wrong type of an argument\nawait runTask(count, ${args});\n`;
    await writeFile(join(folder, "refused.ts"), source("[1]"));
    await writeFile(join(folder, "accepted.ts"), source('["a"]'));
    const config = { extends: join(root, "tsconfig.base.json"), compilerOptions: { noEmit: true }, include: ["*.ts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    expect(await tsc(folder)).toMatch(/^[^\n]*accepted\.ts\(3,1\): error TS2578: Unused '@ts-expect-error' directive\.\n$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("says of forgotten arguments that they are missing, and of wrong ones where they are", async () => {
  const folder = await mkdtemp(join(root, "node_modules/.type-test-"));
  try {
    const lines = [
      'import { Controller, definePipeline, runTask, task } from "../../src/index.ts";',
      'const count = task({ name: "count" }, (_ctx, text: string) => text.length);',
      'const one = definePipeline("one", {}, (p, text: string) => void [p.add(count, { args: [text] }), p.add(count)]);',
      "declare const controller: Controller;",
      "await controller.submit(count);",
      "await controller.startRun(one);",
      "await runTask(count);",
      "await controller.submit(count, [1]);",
      "await controller.startRun(one, [1]);",
    ];
    await writeFile(join(folder, "calls.ts"), lines.join("\n"));
    const config = { extends: join(root, "tsconfig.base.json"), compilerOptions: { noEmit: true }, include: ["*.ts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const said = String(await tsc(folder)).replaceAll(/^.*\((\d+),\d+\): error TS\d+: /gm, "$1 ");
    expect(said.trimEnd().split("\n")).toEqual([
      "3 Expected 2 arguments, but got 1.",
      "5 Expected 2-3 arguments, but got 1.",
      "6 Expected 2-3 arguments, but got 1.",
      "7 Expected 2-3 arguments, but got 1.",
      "8 Type 'number' is not assignable to type 'string'.",
      "9 Type 'number' is not assignable to type 'string'.",
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

it("says of a mistake in a definition what it is, and nothing of what it is not", async () => {
  const folder = await mkdtemp(join(root, "node_modules/.type-test-"));
  try {
    const mistakes = [
      'task({ name: "a" }, (path: string) => path.length);',
      'task({ name: "a" }, async (path: string, rows: number) => path.length + rows, { onFailure: () => 1 });',
      'task({ name: "a", retry: { attempts: 3 } }, (_ctx, path: string) => path.length);',
      'task({ name: "a", executor: "thread" }, (_ctx, path: string) => path.length);',
      'task({ name: "a", executor: "worker" }, () => 1);',
      'task({ name: "a", tags: "io" }, (_ctx, path: string) => path.length);',
      'task({ nme: "a" }, (_ctx, path: string) => path.length);',
      'task({ name: "a" }, (_ctx, path: string) => path.length, { onEnd: () => 1 });',
      'task({ name: "a" }, (_ctx, path: string) => path.length, { onFailure: 1 });',
      'task({ name: "a" }, (_ctx, path: string) => path.length, { onSuccess: (_snapshot, text: string) => text });',
      'definePipeline("p", {}, async (p, day: string) => void p.add(task({ name: day }, () => 1)));',
      'definePipeline("p", { onFailures: 1 }, (p, day: string) => void p.add(task({ name: day }, () => 1)));',
    ];
    await writeFile(join(folder, "definitions.ts"), ['import { definePipeline, task } from "../../src/index.ts";', ...mistakes].join("\n"));
    const config = { extends: join(root, "tsconfig.base.json"), compilerOptions: { noEmit: true }, include: ["*.ts"] };
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    const said = String(await tsc(folder)).split(/^.*definitions\.ts\(\d+,\d+\): error TS\d+: /m);
    // The last line of a message is what it comes down to.
    expect(said.slice(1).map((text) => text.trimEnd().split("\n").at(-1)?.trim())).toEqual([
      "Type 'TaskContext' is not assignable to type 'string'.",
      "Type 'TaskContext' is not assignable to type 'string'.",
      "Object literal may only specify known properties, and 'attempts' does not exist in type 'RetryPolicy'.",
      `Property 'module' is missing in type '{ name: "a"; executor: "thread"; }' but required in type '{ readonly executor: "process" | "thread"; readonly module: string; }'.`,
      `Type '"worker"' is not assignable to type '"async" | "inline" | "process" | "thread" | \`custom:\${string}\`'.`,
      "Type 'string' is not assignable to type 'readonly string[]'.",
      `Object literal may only specify known properties, but 'nme' does not exist in type 'TaskOptions<string> & { readonly input?: undefined; }'. Did you mean to write 'name'?`,
      "Object literal may only specify known properties, and 'onEnd' does not exist in type 'TaskHooks<number>'.",
      "Type 'number' is not assignable to type '(snapshot: TaskSnapshot, failure: Failure) => unknown'.",
      "Type 'number' is not assignable to type 'string'.",
      expect.stringContaining("is not assignable to type 'never'."),
      "Object literal may only specify known properties, but 'onFailures' does not exist in type 'PipelineOptions & { readonly input?: undefined; }'. Did you mean to write 'onFailure'?",
    ]);
    expect(said.join("\n")).not.toMatch(/overload/i);
    expect(said.at(-2)).toContain("Type 'Promise<undefined>' is not assignable to type 'AtOnce'.");
  } finally {
    await rm(folder, { recursive: true });
  }
});

async function tsc(folder: string): Promise<unknown> {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  return await promisify(execFile)(process.execPath, [compiler, "-p", folder, "--pretty", "false"]).then(
    ({ stdout }) => stdout,
    (error: { readonly stdout: string }) => error.stdout,
  );
}
