import { spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { afterEach, describe, expect, test, vi } from "vitest";
import { endOrphanedGroup, HAS_GROUPS, processExists, signalGroup } from "../../../src/runtime/executors/platform.ts";

const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
  vi.restoreAllMocks();
});

/** A leader of a group of its own that starts a grandchild, prints its pid, and waits. */
async function family(): Promise<{ readonly child: ChildProcess; readonly pid: number; readonly grandchild: number }> {
  const script =
    'const { spawn } = require("node:child_process"); const g = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "ignore" }); console.log(g.pid); setInterval(() => {}, 1000);';
  const child = spawn(process.execPath, ["-e", script], { detached: true, stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [printed]: unknown[] = await once(child.stdout, "data");
  return { child, pid: child.pid ?? 0, grandchild: Number(String(printed)) };
}

/** A process that has gone and was waited for. */
function deadPid(): number {
  return spawnSync(process.execPath, ["-e", ""]).pid;
}

async function gone(pid: number): Promise<void> {
  await vi.waitFor(() => expect(isRunning(pid)).toBe(false), { timeout: 10_000, interval: 20 });
}

/** There, and no zombie that nobody has waited for: in a container there may be nobody to do it. */
function isRunning(pid: number): boolean {
  if (!processExists(pid)) return false;
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.trim().startsWith("Z");
}

describe("whether a process is there", () => {
  test("this one is", () => {
    expect(processExists(process.pid)).toBe(true);
  });

  test("one that has gone is not", () => {
    expect(processExists(deadPid())).toBe(false);
  });

  test("one that may not be signalled is: it belongs to somebody else", () => {
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("not permitted"), { code: "EPERM" });
    });
    expect(processExists(4_711)).toBe(true);
  });
});

describe.runIf(HAS_GROUPS)("a group", () => {
  test("is ended with its descendants", async () => {
    const { child, pid, grandchild } = await family();
    const exited = once(child, "exit");
    signalGroup(pid, "SIGKILL");
    expect(await exited).toEqual([null, "SIGKILL"]);
    await gone(grandchild);
  });

  test("whose leader is gone is ended", async () => {
    const { child, pid, grandchild } = await family();
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
    expect(isRunning(grandchild)).toBe(true);
    endOrphanedGroup(pid);
    await gone(grandchild);
  });

  test("whose leader's number is in use is left alone: it may be somebody else's by now", async () => {
    const { pid, grandchild } = await family();
    const kill = vi.spyOn(process, "kill");
    endOrphanedGroup(pid);
    expect(kill.mock.calls).toEqual([[pid, 0]]);
    expect([isRunning(pid), isRunning(grandchild)]).toEqual([true, true]);
    kill.mockRestore();
    signalGroup(pid, "SIGKILL");
    await gone(grandchild);
  });

  test("that is gone already, or not ours, is no error", () => {
    expect(() => signalGroup(deadPid(), "SIGTERM")).not.toThrow();
    for (const code of ["ESRCH", "EPERM"]) {
      vi.spyOn(process, "kill").mockImplementation(() => {
        throw Object.assign(new Error(code), { code });
      });
      expect(() => signalGroup(4_711, "SIGTERM")).not.toThrow();
    }
  });

  test("cannot be signalled by mistake: anything else is a fault of ours", () => {
    vi.spyOn(process, "kill").mockImplementation(() => {
      throw Object.assign(new Error("no such signal"), { code: "EINVAL" });
    });
    expect(() => signalGroup(4_711, "SIGTERM")).toThrow("no such signal");
  });
});
