import { TaskError } from "../core/errors.ts";
import { failureOf } from "../core/thrown.ts";
import { cleanLine, cleanText } from "./output/clean-text.ts";
import { toJson } from "./output/json-text.ts";
import { stackFrames } from "./output/stack-frames.ts";

/** How an error is told. */
export interface ErrorReportOptions {
  readonly json: boolean;
  /** Stacks too. */
  readonly verbose: boolean;
}

const CAUSE_FRAMES = 3;

/** An error that ended a command, as text for stderr: `chongming: message`, or one JSON object. */
export function reportError(error: unknown, { json, verbose }: ErrorReportOptions): string {
  if (json) return `${toJson({ error: errorRecord(error) })}\n`;
  const { message, stack } = failureOf(error);
  if (!(error instanceof TaskError)) return `chongming: a bug of ours, please report it: ${cleanText(stack ?? message)}\n`;
  const own = verbose ? framesOf(stack, verbose) : [];
  const cause = error.cause === undefined ? [] : framesOf(failureOf(error.cause).stack, verbose);
  return [`chongming: ${cleanLine(message)}`, ...own, ...cause].map((line) => `${line}\n`).join("");
}

function errorRecord(error: unknown): Readonly<Record<string, unknown>> {
  const { name, message, stack, causes } = failureOf(error);
  if (!(error instanceof TaskError)) return { code: "INTERNAL", message, name, stack };
  // Its own fields say more: nearest names, issues, a path.
  const details = Object.entries(error).filter(([key]) => key !== "name" && key !== "cause");
  return { code: error.code, message, name, ...Object.fromEntries(details), causes };
}

/** Where it was thrown, in the user's own code first of all; of a syntax error also the place, which stands before the message. */
function framesOf(stack: string | null, verbose: boolean): readonly string[] {
  if (stack === null) return [];
  const lines = cleanText(stack, 20_000).split("\n");
  const hasPlace = /^(?:file:\/\/|\/|[A-Za-z]:\\).*:\d+$/.test(lines[0] ?? "");
  const place = hasPlace
    ? lines
        .slice(
          0,
          Math.max(
            0,
            lines.findIndex((line) => /^\w*Error\b/.test(line)),
          ),
        )
        .filter((line) => line.trim() !== "")
    : [];
  const frames = verbose ? stackFrames(stack, "all") : stackFrames(stack, "user").slice(0, CAUSE_FRAMES);
  return [...place, ...frames.map((line) => `    ${line}`)];
}
