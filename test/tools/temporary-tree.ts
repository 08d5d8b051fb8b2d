import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The root of this repository. */
export const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

/** A folder of its own with these files (path → text) and copies of those files of the repository; it goes with the test. */
export async function temporaryTree(files: Readonly<Record<string, string>>, copied: readonly string[] = []): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), "chongming-tree-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  for (const path of copied) await cp(join(REPOSITORY, path), join(root, path), { recursive: true });
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}
