import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { allSettled, ConfigurationError, Controller, definePipeline, runTask, task } from "../../src/index.ts";
import type { Task } from "../../src/index.ts";
import { processEcho, threadEcho } from "./fixtures/deaths.ts";
import { CarrierRig } from "./support/carrier-rig.ts";
import { KILLABLE } from "./support/kinds.ts";
import { expectNoneLeft, markDescendants } from "./support/leftovers.ts";
import { expectSound } from "./support/soundness.ts";

const mark = markDescendants();
const folder = mkdtempSync(join(tmpdir(), "carrier-modules-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Written here: no tool that reads the tree has to stumble over it.
const broken = join(folder, "broken.mjs");
writeFileSync(broken, "export const broken = {;\n");

interface BadModule {
  readonly module: string;
  readonly says: RegExp;
}

const fixture = (name: string): string => new URL(`./fixtures/modules/${name}`, import.meta.url).href;
const BAD: readonly BadModule[] = [
  { module: fixture("is-not-there.ts"), says: /does not load.*is-not-there/s },
  { module: pathToFileURL(broken).href, says: /does not load.*Unexpected token/s },
  { module: fixture("throws.ts"), says: /does not load: this module will not have it/ },
  { module: fixture("exits.ts"), says: /exited with code 9|ended with code 9|code 9/ },
  { module: fixture("no-tasks.ts"), says: /does not export a task named "wanted"; it exports none/ },
  { module: fixture("other-tasks.ts"), says: /does not export a task named "wanted"; it exports "wnated".*Did you mean "wnated"/s },
  {
    module: fixture("opens-controller.ts"),
    says: /Controller\.open was called while a module was loaded in a (worker thread|child process|worker thread or child process).*import\.meta\.main/s,
  },
];

function wanted(kind: "thread" | "process", module: string): Task<"wanted", [], string> {
  return task({ name: "wanted", executor: kind, module, retry: { maxAttempts: 3, backoff: () => 0 } }, () => "wanted");
}

describe.each(KILLABLE)("%s: a module that cannot serve", (kind) => {
  test.each(BAD)("$module is found at open", async ({ module, says }) => {
    const opening = Controller.open({ tasks: [wanted(kind, module)] });
    await expect(opening).rejects.toBeInstanceOf(ConfigurationError);
    await expect(opening).rejects.toThrow(says);
    await expectNoneLeft(mark, 1_500);
  });

  test("fails its node at once where open could not see it; the pool serves the next task", { timeout: 60_000 }, async () => {
    const echo = kind === "thread" ? threadEcho : processEcho;
    const pipelines = BAD.map(({ module }, index) =>
      definePipeline(`bad-${index}`, { onFailure: allSettled() }, (p) => void p.add(wanted(kind, module), { timeout: { start: "10s" } })),
    );
    for (const [index, pipeline] of pipelines.entries()) {
      await using rig = await CarrierRig.open({
        tasks: [echo],
        pipelines: [pipeline],
        concurrency: { maxParallel: 1 },
        threads: { keep: 1 },
        processes: { standby: 1 },
      });
      await (await rig.controller.startRun(pipeline)).wait({ timeout: "15s" });
      const { items } = await rig.controller.list({ name: "wanted" });
      const snapshot = await expectSound(rig.controller, items[0]?.taskId ?? "");
      expect(snapshot.status).toBe("failed");
      expect(snapshot.failure?.message).toMatch(BAD[index]?.says ?? /never/);
      const exits = BAD[index]?.module.endsWith("exits.ts") === true;
      // A module that cannot be loaded will not load next time; a carrier that died may live next time.
      expect(snapshot.attempt).toBe(exits ? 3 : 1);
      if (exits) expect(snapshot.failure?.message).toContain("nothing ran");
      expect(await (await rig.controller.submit(echo, ["next"])).result()).toBe("next");
    }
  });
});

const API = new URL("../../src/api/task.ts", import.meta.url);
const ESM = `import { task } from ${JSON.stringify(API.href)};\nexport const odd = task({ name: "odd" }, (ctx, value) => [value, typeof ctx.checkpoint]);\n`;
const DEFAULT = ESM.replace("export const odd =", "export default");
const TYPED = ESM.replace("(ctx, value) =>", "(ctx: { readonly checkpoint: unknown }, value: string): readonly string[] =>");
const CJS = `const { task } = require(${JSON.stringify(API.pathname)});\nexports.odd = task({ name: "odd" }, (ctx, value) => [value, typeof ctx.checkpoint]);\n`;

const GOOD: readonly (readonly [path: string, source: string])[] = [
  ["plain.mjs", ESM],
  ["typed.ts", TYPED],
  ["typed.mts", TYPED],
  ["common.cjs", CJS],
  ["default export.mjs", DEFAULT],
  ["with spaces in it/my tasks.mjs", ESM],
  ["hash #1/tasks#2.mjs", ESM],
  ["percent%20/100%25.mjs", ESM],
  ["question?/tasks?.mjs", ESM],
  ["emoji 🦊/任务.mjs", ESM],
];

describe.each(KILLABLE)("%s: a module", (kind) => {
  test.each(GOOD)("%s serves", async (path, source) => {
    const file = join(folder, kind, path);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, source);
    const odd = task({ name: "odd", executor: kind, module: pathToFileURL(file).href }, (_ctx, value: string): unknown => value);
    await using rig = await CarrierRig.open({ tasks: [odd], processes: { standby: 0 } });
    expect(await (await rig.controller.submit(odd, ["🦊"])).result()).toEqual(["🦊", "function"]);
  });

  test("serves a task that runs without a controller", async () => {
    const echo = kind === "thread" ? threadEcho : processEcho;
    expect(await (await runTask(echo, ["alone"])).result()).toBe("alone");
  });
});

test("nothing is left of all this", async () => {
  await expectNoneLeft(mark, 2_000);
});
