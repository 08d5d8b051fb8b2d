import type { Settings } from "../settings.ts";
import { cleanLine } from "./clean-text.ts";
import { createJsonReporter } from "./json-reporter.ts";
import type { Output } from "./output.ts";
import { createPaint } from "./paint.ts";
import { createPlainReporter } from "./plain-reporter.ts";
import { allOf } from "./reporter.ts";
import type { Reporter } from "./reporter.ts";

/** What a reporter writes to, and for whom. */
export interface ReporterParts {
  readonly settings: Settings;
  readonly stdout: Output;
  readonly stderr: Output;
  /** What runs. */
  readonly name: string;
}

/** Data, a live view, or plain lines: as the options ask and the streams allow. What a live view needs is loaded for a terminal only. */
export async function createReporter({ settings, stdout, stderr, name }: ReporterParts): Promise<Reporter> {
  const { format, quiet, verbose } = settings;
  const isJson = format === "json" || format === "jsonl";
  const live = async (output: Output, others: readonly Output[]): Promise<Reporter> => {
    const { LiveReporter } = await import("./live-reporter.ts");
    return new LiveReporter(output, {
      title: cleanLine(name),
      others,
      sharesStderr: stderr.isTerminal,
      verbose,
      paint: createPaint(settings.colours(output.stream)),
    });
  };
  // A terminal that shows the data is no place for a view as well.
  if (isJson && (quiet || stdout.isTerminal || !stderr.isTerminal)) return createJsonReporter(stdout, stderr, quiet);
  if (isJson) {
    const json = createJsonReporter(stdout, stderr, true);
    return allOf([json, await live(stderr, [])]);
  }
  if (stdout.isTerminal && !quiet && settings.host.env["TERM"] !== "dumb") return await live(stdout, stderr.isTerminal ? [stderr] : []);
  return createPlainReporter(stdout, stderr, { quiet, verbose, paint: createPaint(settings.colours(stdout.stream)) });
}
