import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { chongming, fixture, records, start } from "./chongming.ts";

const ends = ["--tasks", fixture("ends.ts")];
const noisy = ["--tasks", fixture("noisy.ts")];

describe("the exit code is that of the stored outcome", () => {
  test.each([
    ["ok", 0, "1 succeeded"],
    ["bad", 1, "1 failed"],
    ["second", 0, "1 succeeded"],
    ["all-ok", 0, "2 succeeded"],
    ["broken", 1, "1 failed, 1 cancelled"],
    ["settled", 1, "1 succeeded, 1 failed"],
    ["retried", 0, "1 succeeded"],
    ["skipped", 0, "1 skipped"],
    ["enough", 0, "1 succeeded, 1 failed"],
    ["empty", 0, "no tasks"],
  ])("%s: %i, and the last line states the counts", async (name, exitCode, counts) => {
    const { stdout, ...ended } = await chongming(["run", name, ...ends]);
    expect(ended).toEqual({ exitCode, stderr: "" });
    expect(stdout.trimEnd().split("\n").at(-1)).toMatch(new RegExp(`^(?:run|task) ${name} \\(\\w{8}\\) \\w+ in .+: ${counts}$`));
  });

  test("an unknown name is 3, and the nearest are shown", async () => {
    expect(await chongming(["run", "al-ok", ...ends])).toEqual({
      exitCode: 3,
      stdout: "",
      stderr: 'chongming: no task or pipeline named "al-ok" is registered. Did you mean "all-ok"?\n',
    });
  });

  test("an exception that escapes from every task is 70", async () => {
    const { exitCode, stderr } = await chongming(["run", "escapes", ...noisy]);
    expect(exitCode).toBe(70);
    expect(stderr).toMatch(/an exception escaped, outside of every task: Error: nobody caught me\n +at /);
  });

  test("an exception that a task let escape is told once, as its own, and ends nothing", async () => {
    const { exitCode, stdout, stderr } = await chongming(["run", "throws-aside", ...noisy]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.match(/thrown aside/g)).toHaveLength(1);
    expect(stdout).toMatch(/result: "whole"\n/);
  });
});

describe("signals", () => {
  test.each([
    ["waits", "SIGINT"],
    ["waiting", "SIGTERM"],
    ["waits", "SIGHUP"],
  ] as const)("%s under %s ends by its own verdict", async (name, signal) => {
    const { child, said, ended } = start(["run", name, ...ends]);
    await said("here I wait");
    child.kill(signal);
    const { exitCode, stdout, stderr } = await ended;
    expect(stderr).toBe("stopping within 10 s… press Ctrl-C again to force\n");
    expect(stdout).toContain(`interrupted by ${signal}`);
    expect(exitCode).toBe(6);
  });

  test.each(["deaf", "losing"])("%s does not end within the grace: lost, and gone whatever it holds", async (name) => {
    const { child, said, ended } = start(["run", name, "--grace", "200ms", ...ends]);
    await said("here I listen");
    const askedAt = performance.now();
    child.kill("SIGINT");
    const { exitCode, stdout } = await ended;
    expect(exitCode).toBe(7);
    expect(stdout).toMatch(/: 1 lost\n$/);
    expect(performance.now() - askedAt).toBeLessThan(5_000);
  });

  test("the second insists: 130, without waiting for the grace", async () => {
    const { child, said, ended } = start(["run", "deaf", "--grace", "1h", ...ends]);
    await said("here I listen");
    child.kill("SIGINT");
    await said("stopping within 1 h");
    // Sooner it would pass for an echo of the first.
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill("SIGINT");
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(130);
    expect(stderr).toContain("forced");
  });
});

describe("output", () => {
  test("JSON is whole, however slow its reader", async () => {
    const { child, ended } = start(["run", "wide", "--json", ...noisy]);
    child.stdout?.pause();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    child.stdout?.resume();
    const { exitCode, stdout } = await ended;
    const events = records(stdout);
    expect(stdout.length).toBeGreaterThan(300_000);
    expect(events.filter(({ type, to }) => type === "TaskStatusChanged" && to === "succeeded")).toHaveLength(300);
    expect(events.at(-1)).toMatchObject({ type: "RunSummary", status: "succeeded", total: 300, exitCode: 0 });
    expect(exitCode).toBe(0);
  });

  test("with --json stdout holds data alone, also where a body prints", async () => {
    const { exitCode, stdout, stderr } = await chongming(["run", "prints", "--json", ...noisy]);
    expect(exitCode).toBe(0);
    expect(records(stdout).at(-1)).toMatchObject({ type: "TaskSummary", status: "succeeded", outcome: [["big", "10"]] });
    expect(stderr).toBe("printed to stdout\nprinted to stderr\nwithout an end\n");
  });

  test("a pipe that is closed ends the run quietly, by its own verdict", async () => {
    const { child, said, ended } = start(["run", "talks", ...noisy]);
    await said("line 3");
    child.stdout?.destroy();
    const { exitCode, stderr } = await ended;
    expect({ exitCode, stderr }).toEqual({ exitCode: 6, stderr: "" });
  });

  test("with a reader such as head, the shell sees no noise", async () => {
    const { ended, child } = start(["run", "talks", ...noisy]);
    const head = spawn("head", ["-n", "2"], { stdio: ["pipe", "ignore", "inherit"] });
    head.stdin.on("error", () => child.stdout?.destroy());
    head.stdin.on("close", () => child.stdout?.destroy());
    child.stdout?.pipe(head.stdin);
    await once(head, "exit");
    expect((await ended).stderr).toBe("");
  });
});
