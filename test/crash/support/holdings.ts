import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { Controller } from "../../../src/index.ts";

const SETTLED_AFTER_MS = 20;

/** What a process holds that a library could have left in it. */
export interface Holdings {
  /** What each stands for, without the numbers. */
  readonly descriptors: readonly string[];
  /** Threads of the process, workers included. */
  readonly threads: number;
  /** Timers, pipes, ports: what keeps the event loop turning. */
  readonly resources: readonly string[];
  readonly listeners: Readonly<Record<string, number>>;
  readonly temporaryFolders: readonly string[];
}

/** Node makes its standard streams and the threads of the file system when they are first needed: that is no leak. */
export async function settleIn(): Promise<void> {
  // One pair of listeners for strays stays for the life of the process: what a task left behind may go wrong after any close.
  await (await Controller.open()).close();
  for (const stream of [process.stdout, process.stderr]) Reflect.get(stream, "writable");
  await Promise.all(Array.from({ length: 8 }, async () => await readFile("/proc/self/status")));
  await sleep(SETTLED_AFTER_MS);
}

/** What was closed is let go of in the turns that follow: what is held then, or after a second. */
export async function holdingsAfter(before: Holdings): Promise<Holdings> {
  for (const until = performance.now() + 1_000; performance.now() < until; await sleep(SETTLED_AFTER_MS)) {
    if (isDeepStrictEqual(holdings(), before)) break;
  }
  return holdings();
}

export function holdings(): Holdings {
  return {
    descriptors: readdirSync("/proc/self/fd").map(targetOf).toSorted(),
    threads: Number(/^Threads:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]),
    resources: process.getActiveResourcesInfo().toSorted(),
    listeners: Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
    temporaryFolders: readdirSync(tmpdir()).filter((name) => name.startsWith("chongming-")),
  };
}

function targetOf(fd: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`).replace(/\d+/g, "");
  } catch {
    // The one that the listing itself was read through.
    return "the listing";
  }
}
