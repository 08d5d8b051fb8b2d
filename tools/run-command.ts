import { spawn } from "node:child_process";

export interface CommandResult {
  readonly exitCode: number;
  /** Both streams as they came. */
  readonly output: string;
}

export interface CommandOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  /** `"show"` also prints what comes, at once; `"keep"` (the default) only collects it. */
  readonly output?: "show" | "keep";
}

/** Runs a command line of our own in the shell (so that `PATH` finds what npm installed); it never rejects on a non-zero exit. */
export function runCommand(command: string, options: CommandOptions): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, { cwd: options.cwd, env: options.env ?? process.env, shell: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const [stream, terminal] of [
      [child.stdout, process.stdout],
      [child.stderr, process.stderr],
    ] as const) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (options.output === "show") terminal.write(text);
      });
    }
    child.on("error", reject);
    // A command ended by a signal has no exit code, and has not succeeded.
    child.on("close", (exitCode) => resolve({ exitCode: exitCode ?? 1, output }));
  });
}
