import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { alternate } from "./lib/alternate.ts";
import { elapsedMs } from "./lib/elapsed.ts";
import { sized } from "./lib/mode.ts";
import { report, reportSkipped } from "./lib/report.ts";

// What the command line adds to the start of Node itself: the published entry, from dist.
const entry = fileURLToPath(new URL("../bin/chongming.cjs", import.meta.url));
const built = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const METRIC = "chongming --help beyond node -e 0";

const run = promisify(execFile);
// Read at each start of Node, where it is set: it would be most of what is measured.
const { NODE_EXTRA_CA_CERTS: _slowsEachStart, ...env } = process.env;

async function startMs(args: readonly string[]): Promise<number> {
  return await elapsedMs(async () => await run(process.execPath, [...args], { env }));
}

async function measureStart(): Promise<void> {
  const figures = await alternate(
    [
      { name: "bare", measure: async () => await startMs(["-e", "0"]) },
      { name: "help", measure: async () => await startMs([entry, "--help"]) },
      { name: "version", measure: async () => await startMs([entry, "--version"]) },
    ],
    { rounds: sized(15, 1), warmups: 2 },
  );
  const beyond = (samples: readonly number[]): readonly number[] => samples.map((ms, index) => ms - (figures.bare[index] ?? Number.NaN));
  report({ bench: "start-up", metric: "node -e 0", unit: "ms", samples: figures.bare });
  report({ bench: "start-up", metric: "chongming --help", unit: "ms", samples: figures.help });
  report({ bench: "start-up", metric: METRIC, unit: "ms", samples: beyond(figures.help), target: { atMost: 40 } });
  report({ bench: "start-up", metric: "chongming --version beyond node -e 0", unit: "ms", samples: beyond(figures.version) });
}

if (existsSync(built)) await measureStart();
else reportSkipped("start-up", METRIC, "there is no dist/cli/main.js: run `npm run build` first");
