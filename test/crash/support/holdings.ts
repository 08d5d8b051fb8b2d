import { readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";

/** What a process holds that a library could have left in it. */
export interface Holdings {
  readonly descriptors: number;
  /** Threads of the process, workers included. */
  readonly threads: number;
  /** Timers, pipes, ports: what keeps the event loop turning. */
  readonly resources: readonly string[];
  readonly listeners: Readonly<Record<string, number>>;
  readonly temporaryFolders: readonly string[];
}

export function holdings(): Holdings {
  return {
    descriptors: readdirSync("/proc/self/fd").length,
    threads: Number(/^Threads:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]),
    resources: process.getActiveResourcesInfo().toSorted(),
    listeners: Object.fromEntries(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
    temporaryFolders: readdirSync(tmpdir()).filter((name) => name.startsWith("chongming-")),
  };
}
