import { eventRecord, summaryRecord } from "./event-record.ts";
import { toJson } from "./json-text.ts";
import type { Output } from "./output.ts";
import type { Reporter } from "./reporter.ts";

/** NDJSON: an object an event, the summary last. What a task's body prints goes to stderr, so that stdout holds data alone. */
export function createJsonReporter(stdout: Output, stderr: Output, quiet: boolean): Reporter {
  // Through the stream, not past it: a live view on stderr leads it around itself.
  const diversion = stdout.divert((line) => void stderr.stream.write(`${line}\n`));
  return {
    event(event) {
      stdout.line(toJson(eventRecord(event)));
    },
    describe() {},
    note(text) {
      if (!quiet) stderr.line(text);
    },
    interrupted() {
      if (!quiet && stderr.isTerminal) stderr.line("");
    },
    end(summary) {
      diversion.flush();
      stdout.line(toJson(summaryRecord(summary)));
    },
    // A body that was given up on may still print: the summary stays the last object.
    restore() {},
  };
}
