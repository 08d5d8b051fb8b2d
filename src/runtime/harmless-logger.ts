import type { Logger } from "../core/ports/logger.ts";

import { taskScope } from "./task-scope.ts";

/**
 * The logger as the runtime uses it: what it throws or rejects with is dropped, since nobody who logs may be stopped by it.
 * It logs for nobody's task: what it leaves behind must not come back as that task's stray, to be logged again.
 */
export function harmlessLogger(logger: Logger): Logger {
  const line =
    (level: keyof Logger): Logger[keyof Logger] =>
    (message, fields) => {
      try {
        const answer: unknown = taskScope.exit(() => logger[level](message, fields));
        if (answer instanceof Promise) answer.catch(() => undefined);
      } catch {
        // There is nobody left to tell.
      }
    };
  return Object.freeze({ debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") });
}
