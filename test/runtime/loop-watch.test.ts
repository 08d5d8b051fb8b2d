import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Controller, task } from "../../src/index.ts";
import type { ControllerOptions } from "../../src/index.ts";
import { SCOPE_KEY } from "../../src/runtime/loop-watch-protocol.ts";
import { FakeClock } from "../../src/testing/index.ts";

const HOST = fileURLToPath(new URL("fixtures/loop-watch-host.ts", import.meta.url));

/** Each starts a process with a thread, on a machine that may be loaded, and blocks it for seconds. */
const SLOW = { timeout: 60_000 } as const;

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "chongming-loop-watch-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

interface Said {
  readonly code: number | null;
  readonly output: string;
  /** The lines of its error output about a blocked loop. */
  readonly announced: readonly string[];
}

/** Runs the host in a process of its own; its error output goes into a file that it can read while its loop is blocked. */
async function host(who: string, { afterMs = 500, givesUpAfterMs = 15_000, flags = [] as readonly string[] } = {}): Promise<Said> {
  const errorOutput = join(folder, "stderr");
  const file = await open(errorOutput, "a");
  const args = [who, String(afterMs), errorOutput, String(givesUpAfterMs)];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...flags, HOST, ...args], { stdio: ["ignore", "pipe", file.fd] });
  await file.close();
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = await once(child, "close");
  const lines = (await readFile(errorOutput, "utf8")).split("\n");
  return { code: typeof code === "number" ? code : null, output, announced: lines.filter((line) => line.includes("has blocked the event loop")) };
}

describe("a task that blocks the event loop", SLOW, () => {
  test("is named with its place while it still blocks, once; and is warned of when the loop turns again", async () => {
    const { code, output, announced } = await host("task");
    expect(code).toBe(0);
    expect(output).toContain("announced while it blocked: true");
    expect(announced.filter((line) => line.includes('"grinds"'))).toEqual([
      expect.stringMatching(/^warning: task "grinds" \([0-9a-z]{16}\) has blocked the event loop for 500 ms, at \w+ \(.*loop-watch-host\.ts:\d+\)$/),
    ]);
    const warnings = output.split("\n").filter((line) => line.startsWith('loop_stalled: "grinds"'));
    // From the innermost frame outwards, and what can be done.
    expect(warnings).toEqual([expect.stringMatching(/blocked the event loop, at .*\bgrind \(.*loop-watch-host\.ts:\d+\) < .*await ctx\.checkpoint\(\)/)]);
  });
});

describe("other code that blocks the event loop", SLOW, () => {
  test("is named as such while a task has to wait for it, and no task is warned of it", async () => {
    const { code, output, announced } = await host("outside");
    expect([code, output]).toEqual([0, "announced while it blocked: true\n"]);
    expect(announced.filter((line) => /\b(grind|announced) \(/.test(line))).toEqual([
      expect.stringMatching(/^warning: code outside any task has blocked the event loop for 500 ms/),
    ]);
  });

  test("is nobody's business while no task runs", async () => {
    const { code, output, announced } = await host("none", { afterMs: 1_000, givesUpAfterMs: 2_500 });
    expect([code, output, announced]).toEqual([0, "announced while it blocked: false\n", []]);
  });
});

describe("a debugger", SLOW, () => {
  test("that can attach turns the watch off: a breakpoint is no stall", async () => {
    const { code, output, announced } = await host("task", { givesUpAfterMs: 2_500, flags: ["--inspect=127.0.0.1:0"] });
    expect([code, output, announced]).toEqual([0, "announced while it blocked: false\n", []]);
  });
});

describe("the watch", () => {
  const key = Symbol.for(SCOPE_KEY);

  /** Has a watcher been started for a task of this controller? It leaves its way in on the global object. */
  async function isWatched(options: ControllerOptions): Promise<boolean> {
    Reflect.deleteProperty(globalThis, key);
    const one = task({ name: "one" }, () => 1);
    const controller = await Controller.open({ tasks: [one], ...options });
    const before = Reflect.has(globalThis, key);
    await (await controller.submit(one)).result();
    await controller.close();
    // Not before a task runs.
    expect(before).toBe(false);
    return Reflect.has(globalThis, key);
  }

  test("is on where nothing is said", async () => {
    expect(await isWatched({})).toBe(true);
  });

  test("is off on a clock of the caller's, which may stand still", async () => {
    expect(await isWatched({ clock: new FakeClock() })).toBe(false);
  });

  test("is off where that is said, and on where that is", async () => {
    expect(await isWatched({ watchLoop: false })).toBe(false);
    expect(await isWatched({ clock: new FakeClock(), watchLoop: true })).toBe(true);
  });
});
