import { readdirSync, readFileSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { eventually } from "./eventually.ts";

const MARK = "CHONGMING_TEST_MARK";

/** From now on everything that this process starts carries the mark in its environment, and so does what that starts. */
export function markDescendants(): string {
  const mark = randomBytes(8).toString("hex");
  process.env[MARK] = mark;
  return mark;
}

/** The processes that were started under the mark and are there. Zombies have no environment any more. */
export function marked(mark: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readFileQuietly(`/proc/${pid}/environ`).split("\0").includes(`${MARK}=${mark}`))
    .map(Number);
}

/** Fails unless every marked process is gone within `ms`. */
export async function expectNoneLeft(mark: string, ms = 1_000): Promise<void> {
  await eventually(`no process with the mark (there are ${marked(mark).map(commandOf).join("; ")})`, () => marked(mark).length === 0, ms);
}

/** Is the process there, and no zombie? */
export function isThere(pid: number): boolean {
  const state = /^State:\s+(\S)/m.exec(readFileQuietly(`/proc/${pid}/status`))?.[1];
  return state !== undefined && state !== "Z" && state !== "X";
}

function commandOf(pid: number): string {
  return `${pid} ${readFileQuietly(`/proc/${pid}/cmdline`).replaceAll("\0", " ")}`;
}

function readFileQuietly(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Gone meanwhile, or not ours to read.
    return "";
  }
}
