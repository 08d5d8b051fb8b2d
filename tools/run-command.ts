import { spawn } from "node:child_process";

export interface CommandResult {
  readonly exitCode: number;
  /** Both streams as they came; empty where they went straight to the terminal. */
  readonly output: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** `"show"` hands the terminal through, `"keep"` (the default) collects what is printed. */
  readonly output?: "show" | "keep";
}

/** Runs a command line of our own in the shell (so that `PATH` finds what npm installed); it never rejects on a non-zero exit. */
export function runCommand(command: string, options: CommandOptions): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const stdio = options.output === "show" ? "inherit" : (["ignore", "pipe", "pipe"] as const);
    const child = spawn(command, { cwd: options.cwd, env: options.env ?? process.env, shell: true, stdio: typeof stdio === "string" ? stdio : [...stdio] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    child.on("error", reject);
    // A command ended by a signal has no exit code, and has not succeeded.
    child.on("close", (exitCode) => resolve({ exitCode: exitCode ?? 1, output }));
  });
}
