import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { OutputStream } from "../../src/cli/host.ts";
import { main } from "../../src/cli/main.ts";
import { chongming, fixture, start } from "./chongming.ts";
import { fakeHost } from "./fake-host.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));
const ends = ["--tasks", fixture("ends.ts")];
const leaving = ["--tasks", fixture("leaving.ts")];
const loading = ["--tasks", fixture("loading.ts")];

async function pass(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Takes nothing. */
function full(code: string): OutputStream {
  return new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(`${code}: told by a test`), { code })) });
}

describe("output that could not be written", () => {
  test.each([
    [["run", "ok", ...ends]],
    [["run", "ok", "--json", ...ends]],
    [["run", "ok", "-q", ...ends]],
    [["tasks", ...ends]],
    [["graph", "all-ok", ...ends]],
    [["--help"]],
  ])("%j is 2, with the reason on stderr", async (argv) => {
    const host = fakeHost();
    expect(await main(argv, { ...host, stdout: full("ENOSPC") })).toBe(2);
    expect(host.stderr.text()).toBe("chongming: the output could not be written: ENOSPC: told by a test\n");
  });

  test("a failure stays one", async () => {
    const host = fakeHost();
    expect(await main(["run", "bad", ...ends], { ...host, stdout: full("ENOSPC") })).toBe(1);
    expect(host.stderr.text()).toContain("could not be written");
  });

  test("a reader that has gone is no failure", async () => {
    const host = fakeHost();
    expect(await main(["tasks", ...ends], { ...host, stdout: full("EPIPE") })).toBe(0);
    expect(host.stderr.text()).toBe("");
  });

  test.runIf(existsSync("/dev/full"))("to a full disk, from a process", () => {
    const disk = openSync("/dev/full", "w");
    const { status, stderr } = spawnSync(process.execPath, [MAIN, "run", "ok", ...ends], { stdio: ["ignore", disk, "pipe"], encoding: "utf8" });
    closeSync(disk);
    expect({ status, stderr }).toEqual({ status: 2, stderr: "chongming: the output could not be written: ENOSPC: no space left on device, write\n" });
  });
});

describe("signals outside of a session", () => {
  test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("%s while the modules load is 6, at once", async (signal) => {
    const { child, said, ended } = start(["run", "never", ...loading]);
    await said("it loads");
    child.kill(signal);
    expect(await ended).toEqual({ exitCode: 6, stdout: "", stderr: `it loads\nchongming: interrupted by ${signal} before anything began\n` });
  });

  test("one that comes when all is told changes no code and loses no output", async () => {
    const { child, ended } = start(["graph", "wide", ...leaving]);
    await new Promise<void>((resolve) => {
      child.stdout?.once("data", () => {
        child.stdout?.pause();
        resolve();
      });
    });
    child.kill("SIGTERM");
    await pass(500);
    child.stdout?.resume();
    const { exitCode, stdout, stderr } = await ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toMatch(/\n.*2999-x+.*\n/);
  });

  test("the next does not wait for the reader, and the code is that of the verdict", async () => {
    const { child, said, ended } = start(["run", "fills", ...leaving]);
    child.stdout?.pause();
    const exited = new Promise((resolve) => child.once("exit", resolve));
    await said("all is told");
    child.kill("SIGTERM");
    await pass(500);
    child.kill("SIGINT");
    // Both may come at once where the machine is busy, and then pass for one.
    const again = setInterval(() => child.kill("SIGINT"), 500);
    void exited.then(() => clearInterval(again));
    expect(await exited).toBe(0);
    child.stdout?.resume();
    expect((await ended).stdout).not.toContain("1 succeeded");
  });
});

describe("code that ends the process or its output", () => {
  const EXITED = "chongming: a task or a module called process.exit (code 0), and this had not ended: its outcome is not known.\n";

  test("a task that calls process.exit makes no success", async () => {
    const { exitCode, stderr } = await chongming(["run", "exits", ...leaving]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 70, stderr: EXITED });
  });

  test("nor does a module", async () => {
    const { exitCode, stderr } = await chongming(["tasks", ...loading], { env: { LOADING: "exit" } });
    expect({ exitCode, stderr }).toEqual({ exitCode: 70, stderr: `it loads\n${EXITED}` });
  });

  test("when all has been told, the code stays that of the verdict", async () => {
    const { exitCode, stdout, stderr } = await chongming(["run", "exits-late", ...leaving]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(/: 1 failed\n$/);
  });

  test.each([[[]], [["--json"]]])("a task that ends stdout makes no success %j", async (more) => {
    const { exitCode, stderr } = await chongming(["run", "shuts", ...more, ...leaving]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 70,
      stderr: "chongming: stdout was ended by a task or a module: the output is not whole. Write to it, and leave it open.\n",
    });
  });

  test("an exception that comes when all has been told is named, and changes no code", async () => {
    const { exitCode, stdout, stderr } = await chongming(["run", "throws-late", ...leaving]);
    expect(stderr).toContain("chongming: an exception escaped, after the end: Error: too late\n");
    expect(stdout).toMatch(/: 1 succeeded\n$/);
    expect(exitCode).toBe(0);
  });
});
