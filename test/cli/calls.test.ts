import { mkdtemp, mkdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { fixture, records } from "./chongming.ts";
import { fakeHost } from "./fake-host.ts";
import type { FakeHost } from "./fake-host.ts";

const ends = ["--tasks", fixture("ends.ts")];

interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function call(argv: readonly string[], host: FakeHost = fakeHost()): Promise<Answer> {
  const exitCode = await main(argv, host);
  return { exitCode, stdout: host.stdout.text(), stderr: host.stderr.text() };
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "chongming-cli-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await mkdir(join(path, ".."), { recursive: true });
  await writeFile(path, text);
  return path;
}

describe("a call that makes no sense is exit code 2 and one line", () => {
  test.each([
    [["bogus"], "unknown command 'bogus'"],
    [["runn", "x"], "unknown command 'runn' Did you mean run?"],
    [["run"], "missing required argument 'name'"],
    [["run", "ok", "--argz", "1"], "unknown option '--argz' Did you mean one of --arg, --args?"],
    [["run", "ok", "--args", "{}", ...ends], "--args must be a JSON array, the tuple of arguments; found {}. Try '[…]' around it."],
    [["run", "ok", "--args", "nope", ...ends], `--args must be a JSON array such as '["2026-12-01", 3]'; found "nope".`],
    [["run", "ok", "--arg", "=1", ...ends], '--arg must be key=value; found "=1".'],
    [["run", "ok", "--arg", "a=1", "--arg", "a=2", ...ends], `--arg gives "a" twice. Give a list as JSON: --arg 'a=[1, 2]'.`],
    [["run", "ok", "--arg", "a=1", "--args", "[]", ...ends], "--args and --arg exclude each other. Give the whole tuple with --args."],
    [["run", "ok", "--priority", "high", ...ends], '--priority must be an integer; found "high".'],
    [["run", "ok", "--max-parallel", "0", ...ends], '--max-parallel must be an integer of at least 1; found "0".'],
    [["run", "ok", "-o", "ids", ...ends], 'run has no output in the form "ids". It knows table, wide, json, jsonl.'],
    [["tasks", "--store", "sqlite:x.db", ...ends], '--store knows "memory:" only in this version: nothing outlives the process yet; found "sqlite:x.db".'],
    [["graph", "ok", ...ends], '"ok" is a task: only a pipeline has a graph.'],
    [["tasks", "--tasks", "no-such.ts"], "no such file"],
  ])("%j", async (argv, message) => {
    const { exitCode, stdout, stderr } = await call(argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^chongming: .*\n$/);
    expect(stderr).toContain(message);
  });

  test("without a command the help goes to stderr", async () => {
    const { exitCode, stdout, stderr } = await call([]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toContain("Usage: chongming");
  });

  test("a pipeline whose build throws is one, with the place in the user's code", async () => {
    const { exitCode, stderr } = await call(["run", "throwing", ...ends]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /^chongming: pipeline "throwing" could not be built: TypeError: .* It was given no arguments: see --args and --arg\.\n +at .*ends\.ts/,
    );
  });

  test("with --json it is one object", async () => {
    const { exitCode, stdout, stderr } = await call(["run", "al-ok", "--json", ...ends]);
    expect({ exitCode, stdout }).toEqual({ exitCode: 3, stdout: "" });
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "UNKNOWN_NAME", requested: "al-ok", nearest: ["all-ok"] } });
    expect(JSON.parse((await call(["run", "--bogus", "-o", "json"])).stderr)).toMatchObject({ error: { code: "CONFIGURATION" } });
  });
});

describe("help and version", () => {
  test.each([[["--help"]], [["run", "--help"]], [["help", "run"]]])("%j is on stdout, with examples", async (argv) => {
    const { exitCode, stdout, stderr } = await call(argv);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toContain("Examples:");
  });

  test("the version is that of the package", async () => {
    expect(await call(["--version"])).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\S*\n$/) });
  });
});

describe("where the tasks come from", () => {
  test("--tasks goes before CHONGMING_TASKS, which may list several", async () => {
    const env = { CHONGMING_TASKS: [fixture("ends.ts"), fixture("noisy.ts")].join(delimiter) };
    expect((await call(["tasks", "-o", "ids"], fakeHost({ env }))).stdout).toContain("prints\n");
    expect((await call(["tasks", "-o", "ids", ...ends], fakeHost({ env }))).stdout).not.toContain("prints\n");
    expect((await call(["tasks"], fakeHost({ env }))).stdout).toMatch(/^prints +async +1 +none *$/m);
    expect((await call(["tasks"], fakeHost({ env }))).stdout).not.toContain("default");
  });

  test("the config file is looked for upwards, and its paths start from it", async () => {
    await file("project/chongming.config.json", JSON.stringify({ tasks: [fixture("ends.ts")] }));
    await file("project/deep/er/nothing.txt", "");
    expect((await call(["run", "ok"], fakeHost({ cwd: join(folder, "project/deep/er") }))).exitCode).toBe(0);
  });

  test.each([
    ["{", "is no JSON"],
    ['{ "task": [] }', 'has no option "task". Did you mean "tasks"?'],
    ['{ "tasks": "x.ts" }', '"tasks" must be a list of paths'],
  ])("a config file with %s is refused", async (text, message) => {
    await file("wrong/chongming.config.json", text);
    const { exitCode, stderr } = await call(["tasks"], fakeHost({ cwd: join(folder, "wrong") }));
    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
  });

  test("where nothing names a module, it says how to", async () => {
    expect((await call(["tasks"], fakeHost({ cwd: folder }))).stderr).toContain(
      'Give --tasks MODULE, set CHONGMING_TASKS, or write chongming.config.json with { "tasks"',
    );
  });
});

describe("modules", () => {
  test("one whose top level waits for ever is given up on", async () => {
    const path = await file("waits.mjs", "await new Promise(() => {});");
    const { exitCode, stderr } = await call(["tasks", "--tasks", path], fakeHost({ loadLimitMs: 100 }));
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`module ${path} did not finish loading within 100 ms`);
  });

  test("two different things of one name are refused, one thing exported twice is fine", async () => {
    const shape = (name: string): string => `{ name: "${name}", options: { name: "${name}" }, run: () => 1 }`;
    const twice = await file("twice.mjs", `export const a = ${shape("x")}; export { a as b }; export default a;`);
    const other = await file("other.cjs", `module.exports = Object.fromEntries([["a", ${shape("x")}]]);`);
    expect((await call(["tasks", "-o", "ids", "--tasks", twice])).stdout).toBe("x\n");
    expect((await call(["tasks", "-o", "ids", "--tasks", other])).stdout).toBe("x\n");
    const { exitCode, stderr } = await call(["tasks", "--tasks", twice, "--tasks", other]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`two tasks are named "x": in ${twice} and in ${other}.`);
  });
});

describe("run", () => {
  test("--args is the tuple, --arg one object whose values are JSON where they parse", async () => {
    expect((await call(["run", "ok", "-q", "--args", "[[1, null]]", ...ends])).stdout).toContain("result: [1,null]\n");
    const { stdout } = await call(["run", "ok", "-q", "--arg", "day=2026-12-01", "--arg", 'limits={"rows":3}', "--arg", "n=4", "--arg", "e=", ...ends]);
    expect(stdout).toContain('result: {"day":"2026-12-01","limits":{"rows":3},"n":4,"e":""}\n');
  });

  test("--json: times are ISO 8601 in UTC, and the summary is last", async () => {
    const { stdout } = await call(["run", "broken", "--json", ...ends]);
    const all = records(stdout);
    expect(all.every(({ type, at, startedAt }) => /^\d{4}-\d\d-\d\dT.*Z$/.test(String(type === "RunSummary" ? startedAt : at)))).toBe(true);
    expect(all.find(({ type }) => type === "AttemptFailed")).toMatchObject({ retryAt: null, attempt: { startedAt: expect.stringMatching(/Z$/) } });
    expect(all.at(-1)).toMatchObject({ type: "RunSummary", status: "failed", exitCode: 1, firstFailure: { node: "bad", affected: ["below"] } });
  });

  test("the first failure chain has kind, message, place, causes and what it brought down", async () => {
    const { stdout } = await call(["run", "broken", "-q", ...ends]);
    expect(stdout).toMatch(
      /^failed: bad \(exception\): TypeError: no good\n +at .*ends\.ts:\d+:\d+\)?\n[^]*  caused by RangeError: too far\n[^]*  brought down: below\nrun broken /,
    );
  });

  test("what a task says cannot forge output: no control sequence, and its name before each line", async () => {
    const host = fakeHost();
    const { stdout } = await call(["run", "forges", "--tasks", fixture("noisy.ts")], host);
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u001b\u202e]/);
    expect(stdout).toMatch(/ forges \| forged\n +\d+ ms {2}forges \| run all-ok succeeded esrever\n/);
  });

  test("colours follow --no-color, FORCE_COLOR and NO_COLOR, in this order", async () => {
    const coloured = async (argv: readonly string[], env: Readonly<Record<string, string>>): Promise<boolean> =>
      (await call(["run", "ok", ...argv, ...ends], fakeHost({ env }))).stdout.includes("\u001b[32m");
    expect(await coloured([], {})).toBe(false);
    expect(await coloured([], { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(true);
    expect(await coloured(["--no-color"], { FORCE_COLOR: "1" })).toBe(false);
    expect(await coloured([], { FORCE_COLOR: "0" })).toBe(false);
  });

  test("a signal in the middle stops it with the user's name in the audit", async () => {
    const host = fakeHost();
    const ended = call(["run", "waits", "-v", ...ends], host);
    await expect.poll(() => host.stdout.text()).toContain("here I wait");
    host.signal("SIGINT");
    expect(await ended).toMatchObject({ exitCode: 6, stdout: expect.stringContaining("by tester): interrupted by SIGINT") });
    expect(host.left).toEqual([]);
  });
});
