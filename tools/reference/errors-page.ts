import { EXIT_CODES } from "../../src/cli/exit-codes.ts";
import { ERRORS } from "../../src/core/errors.ts";
import { code, page, table } from "./markdown.ts";

/** `docs/reference/errors.md`: every error that reaches a user. */
export function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([errorCode, { name, exitCode, retryable, meaning }]) => [
    code(errorCode),
    code(name),
    GIVEN.has(exitCode) ? String(exitCode) : `${exitCode} (reserved)`,
    retryable ? "yes" : "no",
    meaning,
  ]);
  return page(
    "# Errors",
    "Every error that this library throws is a `TaskError`. It has a stable `code`, a message that says what was found and what would be right, and a `cause` where another error lies behind it. Match `code`, not the class or the text.",
    EXAMPLE,
    table(["code", "class", "exit code", "may work later", "what it means and what to do"], rows),
    "*Exit code*: what the command line ends with when this error ends it; *reserved*: no command of this version ends so. *May work later*: the same call can succeed later although you change nothing.",
    "`INVALID_ARGUMENTS` and `UNKNOWN_NAME` are kinds of configuration error: their classes extend `ConfigurationError`.",
    "See also: [the life of a task](lifecycle.md), [events, triggers and failure kinds](events.md), [records and queries](records.md).",
  );
}

/** What the commands of this version end with. */
const GIVEN: ReadonlySet<number> = new Set(Object.values(EXIT_CODES));

const EXAMPLE = `\`\`\`ts
import { TaskError } from "chongming-task";

try {
  await handle.retry();
} catch (error) {
  if (error instanceof TaskError && error.code === "CARRIER_ABANDONED") await handle.retry({ force: true });
  else throw error;
}
\`\`\``;
