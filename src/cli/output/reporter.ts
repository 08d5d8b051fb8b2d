import type { TaskEvent } from "../../core/events.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import type { EndSummary } from "./summary.ts";

/** Shows a run or a task while it goes on, and how it ended. */
export interface Reporter {
  event(event: TaskEvent): void;
  /** What only the stored task says. */
  describe(snapshot: TaskSnapshot): void;
  /** A line from beside the tasks: a hint, the library's own log, what a body printed. */
  note(text: string): void;
  /** A key was pressed that the terminal shows by itself, as `^C`: what comes next begins on a line of its own. */
  interrupted(): void;
  /** The last words. */
  end(summary: EndSummary): void;
  /** Gives the terminal back as it was found. Safe twice. */
  restore(): void;
}

/** Several as one. */
export function allOf(reporters: readonly Reporter[]): Reporter {
  return {
    event: (event) => reporters.forEach((reporter) => reporter.event(event)),
    describe: (snapshot) => reporters.forEach((reporter) => reporter.describe(snapshot)),
    note: (text) => reporters.forEach((reporter) => reporter.note(text)),
    interrupted: () => reporters.forEach((reporter) => reporter.interrupted()),
    end: (summary) => reporters.forEach((reporter) => reporter.end(summary)),
    restore: () => reporters.forEach((reporter) => reporter.restore()),
  };
}
