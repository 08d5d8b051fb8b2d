import { ConfigurationError } from "../core/errors.ts";
import { checkOneOf } from "../core/options.ts";
import type { Host, OutputStream } from "./host.ts";

/** The forms of output, of which each command knows some. */
export const FORMATS = ["table", "wide", "json", "jsonl", "ids"] as const;

/** A form of output. */
export type Format = (typeof FORMATS)[number];

/** The global options as the parser gives them. */
export interface GlobalFlags {
  readonly store?: string;
  readonly tasks?: readonly string[];
  readonly output?: string;
  readonly json?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
  readonly verbose?: boolean;
}

/** What holds for a whole call of the command line. */
export interface Settings {
  readonly host: Host;
  /** The modules named on the command line. */
  readonly modules: readonly string[];
  readonly format: Format;
  readonly quiet: boolean;
  readonly verbose: boolean;
  /** Is text for this stream coloured? */
  readonly colours: (stream: OutputStream) => boolean;
}

/**
 * Reads the global options.
 * @throws ConfigurationError
 */
export function readSettings(flags: GlobalFlags, host: Host): Settings {
  const store = flags.store ?? host.env["CHONGMING_STORE"];
  // The stores on disk get their URLs here when they come.
  if (store !== undefined && store !== "" && store !== "memory:") {
    throw new ConfigurationError(`--store knows "memory:" only in this version: nothing outlives the process yet; found ${JSON.stringify(store)}.`);
  }
  const named = flags.output === undefined ? undefined : checkOneOf(flags.output, FORMATS, "--output");
  if (flags.json === true && named !== undefined && named !== "json" && named !== "jsonl")
    throw new ConfigurationError(`--json and -o ${named} contradict each other. Give one of them.`);
  if (flags.quiet === true && flags.verbose === true) throw new ConfigurationError("-q and -v contradict each other. Give one of them.");
  return {
    host,
    modules: flags.tasks ?? [],
    format: named ?? (flags.json === true ? "json" : "table"),
    quiet: flags.quiet === true,
    verbose: flags.verbose === true,
    colours: (stream) => flags.color !== false && wantsColour(host.env, stream),
  };
}

/** FORCE_COLOR goes before NO_COLOR, as in Node itself; `0` and `false` are its ways to say no. */
function wantsColour(env: Host["env"], stream: OutputStream): boolean {
  const force = env["FORCE_COLOR"];
  if (force !== undefined) return force !== "0" && force !== "false";
  if (env["NO_COLOR"] !== undefined && env["NO_COLOR"] !== "") return false;
  return stream.isTTY === true && env["TERM"] !== "dumb";
}

/** @throws ConfigurationError where a command does not know the form that is asked for */
export function refuseFormat(format: Format, known: readonly Format[], command: string): void {
  if (!known.includes(format)) throw new ConfigurationError(`${command} has no output in the form "${format}". It knows ${known.join(", ")}.`);
}
