import { reportError } from "./error-report.ts";
import { EXIT_CODES, exitCodeOfError } from "./exit-codes.ts";
import { processHost } from "./host.ts";
import type { Host } from "./host.ts";

/**
 * The command line: parses, calls, renders. Nothing it needs for a command is loaded before the command is known.
 * @param argv what stands after the program's name
 * @param host the process it runs in; another one in tests
 * @returns the exit code
 */
export async function main(argv: readonly string[], host: Host = processHost()): Promise<number> {
  const options = { json: asksForJson(argv), verbose: argv.includes("-v") || argv.includes("--verbose") };
  const unwatch = host.onCrash((error) => {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    host.stderr.write(`chongming: an exception escaped, outside of every task: ${text}\n`);
    host.leaveNow(EXIT_CODES.internal);
  });
  // A reader that has gone is no reason to crash; what is to come of it is the command's affair.
  for (const stream of [host.stdout, host.stderr]) stream.on("error", () => {});
  const exitCode = await codeOf(argv, host, options);
  unwatch();
  host.leaveSoon(exitCode);
  return exitCode;
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
