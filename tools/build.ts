import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { runCommand } from "./run-command.ts";

// From nothing each time: `tsc` leaves behind what a removed source file once became.
const root = fileURLToPath(new URL("..", import.meta.url));
await rm(new URL("../dist", import.meta.url), { recursive: true, force: true });
const { exitCode } = await runCommand("tsc -b tsconfig.build.json", { cwd: root, output: "show" });
process.exitCode = exitCode;
