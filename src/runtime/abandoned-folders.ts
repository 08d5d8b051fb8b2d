import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { processExists } from "./executors/platform.ts";

const NAME = /^chongming-([0-9a-f]{12})-(\d+)-[0-9a-z]+$/;

/** A name for a temporary folder by which a later controller can tell that its owner is dead. */
export function ownedName(nodeId: string): string {
  const place = placeOf();
  return place === null ? `chongming-${nodeId}` : `chongming-${place}-${process.pid}-${nodeId}`;
}

/**
 * Removes the folders of that kind whose owner ended without doing so: this user's, on this machine since it was started, in
 * this container. Where a process has that number now the folder stays. Never rejects.
 */
export async function removeAbandoned(parent: string): Promise<void> {
  const place = placeOf();
  if (place === null) return;
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    const [, where, pid] = NAME.exec(name) ?? [];
    if (where !== place || processExists(Number(pid))) continue;
    await removeOwn(join(parent, name)).catch(() => undefined);
  }
}

async function removeOwn(folder: string): Promise<void> {
  const stats = await lstat(folder);
  if (stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid())) await rm(folder, { recursive: true, force: true });
}

/** Where a process number means the same process; `null`: that cannot be told, and a folder could not be known to be abandoned. */
function placeOf(): string | null {
  try {
    const facts = process.platform === "linux" ? [readFileSync("/proc/sys/kernel/random/boot_id", "utf8"), readlinkSync("/proc/self/ns/pid")] : [];
    return createHash("sha256")
      .update([hostname(), ...facts].join("\n"))
      .digest("hex")
      .slice(0, 12);
  } catch {
    return null;
  }
}
