import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TaskStore } from "../../src/core/ports/store.ts";
import { memoryStore } from "../../src/stores/memory/store.ts";
import { sqliteStore } from "../../src/stores/sqlite/store.ts";

/** One kind of store, for the tests that every kind must pass. */
export interface StoreKind {
  readonly name: "memory" | "sqlite";
  /** A new store with nothing in it, not opened yet. */
  make(options?: { readonly maxValueBytes?: number }): TaskStore;
  /** Removes what the stores of this test have left. */
  clear(): void;
}

const folders: string[] = [];

/** A folder that `clear` removes. */
export function storeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "store-"));
  folders.push(folder);
  return folder;
}

export function clearFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

export const STORE_KINDS: readonly StoreKind[] = [
  { name: "memory", make: memoryStore, clear: () => {} },
  { name: "sqlite", make: (options) => sqliteStore(join(storeFolder(), "tasks.db"), options), clear: clearFolders },
];
