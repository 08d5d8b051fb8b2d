import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Controller } from "../../src/index.ts";
import { ownedName, removeAbandoned } from "../../src/runtime/abandoned-folders.ts";

let parent: string;

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), "abandoned-"));
});
afterEach(() => rmSync(parent, { recursive: true, force: true }));

/** A number that no process has: the one that had it has been waited for. */
function deadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

/** A folder of ours as a process with that number would have named it. */
function named(pid: number): string {
  return ownedName("0000000000000001").replace(`-${process.pid}-`, `-${pid}-`);
}

function folder(name: string): string {
  const path = join(parent, name);
  mkdirSync(join(path, "task", "0-1"), { recursive: true });
  writeFileSync(join(path, "task", "0-1", "file"), "x");
  return path;
}

test("a folder whose owner is dead is removed; one whose owner lives is not", async () => {
  const [dead, own, parents] = [folder(named(deadPid())), folder(named(process.pid)), folder(named(process.ppid))];
  await removeAbandoned(parent);
  expect([dead, own, parents].map((path) => existsSync(path))).toEqual([false, true, true]);
});

test("a folder whose owner is dead is removed by the next controller that opens", async () => {
  const dead = folder(named(deadPid()));
  vi.stubEnv("TMPDIR", parent);
  const controller = await Controller.open();
  await controller.close();
  vi.unstubAllEnvs();
  expect(existsSync(dead)).toBe(false);
});

test("what is none of ours, or of another machine, container or time, stays", async () => {
  const pid = deadPid();
  const kept = [
    folder(named(pid).replace(/-[0-9a-f]{12}-/, "-000000000000-")),
    folder("chongming-0000000000000001"),
    folder(`other-${named(pid)}`),
    folder(`${named(pid)}-other`),
    folder(`chongming-${pid}`),
  ];
  writeFileSync(join(parent, named(pid)), "a file of that name");
  await removeAbandoned(parent);
  expect(kept.filter((path) => !existsSync(path))).toEqual([]);
  expect(existsSync(join(parent, named(pid)))).toBe(true);
});

test("a link of such a name leads nowhere", async () => {
  const target = folder("target");
  const link = join(parent, named(deadPid()));
  symlinkSync(target, link);
  await removeAbandoned(parent);
  expect([existsSync(join(target, "task", "0-1", "file")), existsSync(link)]).toEqual([true, true]);
});

test("a folder that cannot be listed is no trouble", async () => {
  await expect(removeAbandoned(join(parent, "is not there"))).resolves.toBeUndefined();
});

test("the name is each controller's own, and says whose it is", () => {
  expect(ownedName("a")).toMatch(new RegExp(`^chongming-[0-9a-f]{12}-${process.pid}-a$`));
  expect(ownedName("a")).not.toBe(ownedName("b"));
});
