import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { runCommand } from "./run-command.ts";

// `npm run bench [-- --quick] [-- NAME…]`: each bench in a process of its own; its stdout is JSON lines.
// `--quick` is handed on: a short run that shows only that the bench still works.
const root = fileURLToPath(new URL("..", import.meta.url));
const { values, positionals } = parseArgs({ options: { quick: { type: "boolean", default: false } }, allowPositionals: true });

const { NODE_EXTRA_CA_CERTS: _slowsEachStart, ...env } = process.env;
const names = (await readdir(new URL("../bench/", import.meta.url)).catch(() => [])).filter((name) => name.endsWith(".bench.ts")).sort();
const chosen = positionals.length === 0 ? names : names.filter((name) => positionals.some((part) => name.includes(part)));
if (positionals.length > 0 && chosen.length === 0) {
  console.error(`No bench is named like ${positionals.join(", ")}; there are: ${names.join(", ")}`);
  process.exitCode = 2;
}

for (const name of chosen) {
  const { exitCode, output } = await runCommand(`node "bench/${name}"${values.quick ? " --quick" : ""}`, { cwd: root, env });
  process.stdout.write(output);
  const figures = output.split("\n").filter(isJsonObject);
  if (exitCode === 0 && figures.length > 0) continue;
  console.error(`bench/${name}: exit code ${exitCode}, ${figures.length} JSON lines`);
  process.exitCode = 1;
}

function isJsonObject(line: string): boolean {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null;
  } catch {
    return false;
  }
}
