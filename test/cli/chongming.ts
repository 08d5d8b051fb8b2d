import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The command line as it is started from source. */
const MAIN = fileURLToPath(new URL("../../src/cli/main.ts", import.meta.url));

/** Where a fixture's module lies. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
}

/** How a process has ended, and what it said. */
export interface Ended {
  /** `null`: a signal ended it. */
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A process of the command line that runs. */
export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  /** Resolves when it has said that. */
  readonly said: (text: string) => Promise<void>;
}

/** Starts `chongming` in a process of its own. */
export function start(argv: readonly string[], options: { readonly env?: NodeJS.ProcessEnv; readonly cwd?: string } = {}): Running {
  const { FORCE_COLOR: _force, NO_COLOR: _no, CHONGMING_TASKS: _tasks, CHONGMING_STORE: _store, ...env } = process.env;
  const child = spawn(process.execPath, [MAIN, ...argv], { env: { ...env, ...options.env }, cwd: options.cwd, stdio: ["ignore", "pipe", "pipe"] });
  const heard = { stdout: "", stderr: "" };
  const listeners = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      heard[name] += text;
      for (const listener of listeners) listener();
    });
  }
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ exitCode, ...heard }));
  });
  const said = async (text: string): Promise<void> => {
    const isSaid = (): boolean => heard.stdout.includes(text) || heard.stderr.includes(text);
    await new Promise<void>((resolve, reject) => {
      const look = (): void => {
        if (isSaid()) resolve();
      };
      listeners.add(look);
      look();
      void ended.then(() => reject(new Error(`it ended without saying ${JSON.stringify(text)}: ${heard.stdout}${heard.stderr}`)));
    });
  };
  return { child, ended, said };
}

/** Runs `chongming` to its end. */
export async function chongming(argv: readonly string[], options: Parameters<typeof start>[1] = {}): Promise<Ended> {
  return await start(argv, options).ended;
}

/** The objects of NDJSON output. */
export function records(stdout: string): readonly Readonly<Record<string, unknown>>[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
}
