import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chongming, fixture, start } from "./chongming.ts";
import { hasPty, startOnTerminal } from "./pty.ts";

const blocking = ["--tasks", fixture("blocking.ts")];
const ends = ["--tasks", fixture("ends.ts")];
const CTRL_C = "\u0003";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chongming-terminal-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

function argsFor(path: string): readonly string[] {
  return ["--args", JSON.stringify([path])];
}

async function pass(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

describe("a blocked event loop", () => {
  test("is told on stderr while it blocks", async () => {
    const go = join(folder, "told");
    const { said, ended } = start(["run", "blocks", ...argsFor(go), ...blocking]);
    await said('warning: task "blocks"');
    expect(existsSync(go)).toBe(false);
    await writeFile(go, "");
    const { exitCode, stdout } = await ended;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/blocks warning \(loop_stalled\)/);
    expect(stdout).not.toMatch(/src\/runtime|node:/);
  });

  test("one Ctrl-C that is heard when all has ended changes no verdict, whoever else listens", async () => {
    const go = join(folder, "heard");
    const { child, said, ended } = start(["run", "listens", ...argsFor(go), ...blocking]);
    await said("it blocks");
    child.kill("SIGINT");
    await writeFile(go, "");
    expect(await ended).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("1 succeeded") });
  });

  test.runIf(hasPty)("nor on a terminal, where the view stands once more when the loop turns", async () => {
    const go = join(folder, "terminal");
    const terminal = startOnTerminal(["run", "blocks", ...argsFor(go), ...blocking]);
    await expect.poll(terminal.screen.raw, { timeout: 20_000 }).toContain("for 1000 ms");
    terminal.press(CTRL_C);
    await pass(200);
    await writeFile(go, "");
    expect(await terminal.exitCode).toBe(0);
    const lines = await terminal.screen.lines();
    expect(lines.filter((line) => /^✓ blocks {2}succeeded/.test(line))).toHaveLength(1);
    expect(lines.at(-1)).toMatch(/^task blocks \(\w+\) succeeded in .*: 1 succeeded$/);
  });
});

describe("Ctrl-C twice", () => {
  test("tells the counts and what was forced", async () => {
    const { child, said, ended } = start(["run", "losing", "--grace", "1h", ...ends]);
    await said("here I listen");
    child.kill("SIGINT");
    await said("stopping within 1 h");
    await pass(300);
    child.kill("SIGINT");
    const { exitCode, stdout, stderr } = await ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain("forced: threads and processes are killed, what runs on the event loop is given up");
    expect(stdout).toMatch(/run losing \(\w+\) \w+ in .*: 1 lost\n$/);
  });

  test.runIf(hasPty)("leaves a last frame with the verdict, and nothing stuck to ^C", async () => {
    const terminal = startOnTerminal(["run", "losing", "--grace", "1h", ...ends]);
    await expect.poll(terminal.screen.raw, { timeout: 20_000 }).toContain("here I listen");
    terminal.press(CTRL_C);
    await expect.poll(terminal.screen.raw, { timeout: 20_000 }).toContain("stopping within");
    await pass(300);
    terminal.press(CTRL_C);
    expect(await terminal.exitCode).toBe(130);
    const lines = await terminal.screen.lines();
    expect(lines.join("\n")).not.toContain("^C");
    expect(lines.join("\n")).not.toMatch(/ 1 stopping|◌ deaf/);
    expect(lines.join("\n")).toMatch(/\? deaf {2}lost .*\nlosing {2}1\/1 ended · 1 lost .*\n(?:.*\n)*run losing .*: 1 lost$/);
  });
});

test("a skipped node in a pipe tells why", async () => {
  const { stdout } = await chongming(["run", "unwanted", ...blocking]);
  expect(stdout).toMatch(/first skipped: its condition \(when\) was false\n/);
  expect(stdout).toMatch(/second skipped: what it depends on was skipped: first/);
});

test("a clone that is not built says so", async () => {
  const bin = join(folder, "clone", "bin");
  await mkdir(bin, { recursive: true });
  for (const name of ["chongming.cjs", "start.cjs"]) await copyFile(fileURLToPath(new URL(`../../bin/${name}`, import.meta.url)), join(bin, name));
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(bin, "chongming.cjs"), "tasks"], { encoding: "utf8" });
  expect({ status, stdout, stderr }).toEqual({ status: 2, stdout: "", stderr: "chongming is not built here: run npm run build\n" });
});
