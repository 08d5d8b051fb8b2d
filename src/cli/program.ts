import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { ConfigurationError } from "../core/errors.ts";
import type { GraphFlags } from "./commands/graph.ts";
import type { RunFlags } from "./commands/run.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import type { Host } from "./host.ts";
import { readSettings } from "./settings.ts";
import type { GlobalFlags, Settings } from "./settings.ts";

/**
 * Parses the arguments and does what they ask. What a command needs is loaded when it is called.
 * @returns the exit code
 * @throws ConfigurationError for a call that makes no sense, and whatever the command throws
 */
export async function runProgram(argv: readonly string[], host: Host): Promise<number> {
  let exitCode: number = EXIT_CODES.ok;
  const program = createProgram(host, async (work) => {
    exitCode = await work;
  });
  try {
    await program.parseAsync(argv, { from: "user" });
    return exitCode;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) return EXIT_CODES.ok;
    // Called without a command: its help has been shown, on stderr.
    if (error.code === "commander.help") return EXIT_CODES.usage;
    throw new ConfigurationError(error.message.replace(/^error: /, "").replace(/\n\((Did you mean .*)\)$/s, " $1"));
  }
}

function createProgram(host: Host, end: (work: Promise<number>) => Promise<void>): Command {
  const program = new Command("chongming")
    .description("Run and look at tasks and pipelines.")
    .version(version(), "-V, --version", "show the version")
    .helpOption("-h, --help", "show this help")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void host.stdout.write(text),
      writeErr: (text) => void host.stderr.write(text),
      outputError: () => {},
      getOutHelpWidth: () => host.stdout.columns ?? 100,
      getErrHelpWidth: () => host.stderr.columns ?? 100,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    })
    .configureHelp({ showGlobalOptions: true })
    .option("--tasks <module>", "load tasks and pipelines from this module (repeatable; env CHONGMING_TASKS; or chongming.config.json)", collect)
    .option("--store <url>", 'where tasks are kept: "memory:" (env CHONGMING_STORE)')
    .option("-o, --output <format>", "table, wide, json, jsonl or ids")
    .option("--json", "same as -o json")
    .option("--no-color", "no colours (so does NO_COLOR; FORCE_COLOR asks for them)")
    .option("-q, --quiet", "the end only")
    .option("-v, --verbose", "each step, debug lines, whole stacks")
    .addHelpText("after", EXAMPLES);
  addRun(program, host, end);
  addTasks(program, host, end);
  addGraph(program, host, end);
  return program;
}

type End = Parameters<typeof createProgram>[1];

function addRun(program: Command, host: Host, end: End): void {
  program
    .command("run")
    .description("run a task or pipeline here, in the foreground")
    .argument("<name>", "its registered name; after -- also one that looks like an option")
    .option("--args <json>", "the arguments, as a JSON array")
    .option("--arg <key=value>", "a field of one object, the first argument (repeatable; JSON where it parses, else text)", collect)
    .option("--priority <n>", "higher first")
    .option("--max-parallel <n>", "how many tasks may run at once")
    .option("--grace <duration>", "how long a stop may take, such as 30s (default 10s)")
    .addHelpText("after", RUN_EXAMPLES)
    .action(async (name: string, flags: RunFlags, command: Command) => {
      const { run } = await import("./commands/run.ts");
      await end(run(settingsOf(command, host), name, flags));
    });
}

function addTasks(program: Command, host: Host, end: End): void {
  program
    .command("tasks")
    .description("list the tasks and pipelines that the modules register")
    .action(async (_flags: unknown, command: Command) => {
      const { tasks } = await import("./commands/tasks.ts");
      await end(tasks(settingsOf(command, host)));
    });
}

function addGraph(program: Command, host: Host, end: End): void {
  program
    .command("graph")
    .description("draw the graph of a pipeline")
    .argument("<name>", "its registered name")
    .option("--format <format>", "text, mermaid or dot (default text)")
    .option("--args <json>", "the arguments, as a JSON array")
    .option("--arg <key=value>", "a field of one object, the first argument (repeatable)", collect)
    .action(async (name: string, flags: GraphFlags, command: Command) => {
      const { graph } = await import("./commands/graph.ts");
      await end(graph(settingsOf(command, host), name, flags));
    });
}

function settingsOf(command: Command, host: Host): Settings {
  return readSettings(command.optsWithGlobals<GlobalFlags>(), host);
}

function collect(value: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), value];
}

function version(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest ? String(manifest.version) : "unknown";
}

const EXAMPLES = `
Examples:
  chongming tasks --tasks ./tasks.ts
  chongming run nightly-etl --tasks ./tasks.ts --args '["2026-12-01"]'
  chongming run nightly-etl --json > events.ndjson
  chongming graph nightly-etl --format mermaid

Exit codes: 0 succeeded, 1 failed, 2 wrong call, 3 no such name, 6 stopped or cancelled, 7 lost, 70 a bug, 130 interrupted twice.`;

const RUN_EXAMPLES = `
Examples:
  chongming run import --arg day=2026-12-01 --arg 'limits={"rows": 100}'
  chongming run import --args '["2026-12-01", 3]' --max-parallel 4
  chongming run --grace 30s nightly-etl
  chongming run -- --odd-name

Ctrl-C once stops it within the grace, twice forces it.`;
