import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { referencePages } from "./reference/pages.ts";

// `node tools/generate-reference.ts [--check] [ROOT]`: writes the pages, or only says which are stale (exit code 1).
const { values, positionals } = parseArgs({ options: { check: { type: "boolean", default: false } }, allowPositionals: true });
const root = positionals[0] ?? fileURLToPath(new URL("..", import.meta.url));

async function isStale(path: string, text: string): Promise<boolean> {
  try {
    return (await readFile(path, "utf8")) !== text;
  } catch {
    return true;
  }
}

let stale = 0;
for (const [name, text] of referencePages()) {
  const path = join(root, name);
  if (!(await isStale(path, text))) continue;
  stale += 1;
  if (values.check) {
    console.error(`${name} is stale: run "npm run docs"`);
  } else {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
    console.log(`wrote ${name}`);
  }
}
console.log(`reference: ${referencePages().size} pages, ${stale} ${values.check ? "stale" : "written"}`);
if (values.check && stale > 0) process.exitCode = 1;
