import { spawn, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { screen } from "./screen.ts";
import type { Screen } from "./screen.ts";

const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Of the system, not of a package. */
const SCRIPT = "script";

/** Is there the `script` of util-linux, which gives a program a terminal? */
export const hasPty = /util-linux/.test(spawnSync(SCRIPT, ["--version"], { encoding: "utf8" }).stdout ?? "");

/** `chongming` on a real terminal. */
export interface OnTerminal {
  readonly screen: Screen;
  readonly exitCode: Promise<number | null>;
  /** Presses keys; `\u0003` is Ctrl-C. */
  press(keys: string): void;
}

/** Starts `chongming` on a terminal of 80 columns and 24 rows. */
export function startOnTerminal(argv: readonly string[]): OnTerminal {
  const quoted = [process.execPath, MAIN, ...argv].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(" ");
  const { NO_COLOR: _no, FORCE_COLOR: _force, ...env } = process.env;
  const child = spawn(SCRIPT, ["-qefc", `stty cols 80 rows 24; exec ${quoted}`, "/dev/null"], {
    env: { ...env, TERM: "xterm-256color", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const at = screen(80, 24);
  child.stdout.setEncoding("utf8").on("data", (text: string) => void at.stream.write(text));
  const exitCode = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { screen: at, exitCode, press: (keys) => void child.stdin.write(keys) };
}
