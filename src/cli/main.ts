import { isRefusedLoading } from "../api/task-loading.ts";
import { reportError } from "./error-report.ts";
import { EXIT_CODES, exitCodeOfError } from "./exit-codes.ts";
import { processHost } from "./host.ts";
import type { Host } from "./host.ts";
import { watchOuterInterrupts } from "./outer-interrupts.ts";
import { watchOutput } from "./watch-output.ts";

/**
 * The command line: parses, calls, renders. Nothing it needs for a command is loaded before the command is known.
 * @param argv what stands after the program's name
 * @param host the process it runs in; another one in tests
 * @returns the exit code
 */
export async function main(argv: readonly string[], host: Host = processHost()): Promise<number> {
  const options = { json: asksForJson(argv), verbose: argv.includes("-v") || argv.includes("--verbose") };
  // All of these watch until the process is gone: code of tasks may still run when everything has been told.
  host.onCrash((error) => crashed(error, host));
  const leave = watchOuterInterrupts(host);
  const written = watchOutput(host);
  const verdict = await codeOf(argv, host, options);
  host.stage.settle(verdict);
  const exitCode = await written(verdict);
  leave(exitCode);
  return exitCode;
}

/** What a task leaves behind when all has ended is told, but changes no verdict and cuts off no output. */
function crashed(error: unknown, host: Host): void {
  if (isRefusedLoading(error)) return;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const { isOver } = host.stage;
  const when = isOver ? "after the end" : "outside of every task";
  host.stderr.write(`chongming: an exception escaped, ${when}: ${text}\n`);
  if (!isOver) host.leaveNow(EXIT_CODES.internal);
}

async function codeOf(argv: readonly string[], host: Host, options: Parameters<typeof reportError>[1]): Promise<number> {
  try {
    const { runProgram } = await import("./program.ts");
    return await runProgram(argv, host);
  } catch (error) {
    host.stderr.write(reportError(error, options));
    return exitCodeOfError(error);
  }
}

/** Also where the call makes no sense, and so was never parsed. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  const own = end === -1 ? argv : argv.slice(0, end);
  return own.some((word, index) => {
    const isOutput = own[index - 1] === "-o" || own[index - 1] === "--output";
    return word === "--json" || /^(?:-o=?|--output=)jsonl?$/.test(word) || (isOutput && /^jsonl?$/.test(word));
  });
}

// Started from source, without the file in `bin`.
if (import.meta.filename === process.argv[1]) process.exitCode = await main(process.argv.slice(2));
