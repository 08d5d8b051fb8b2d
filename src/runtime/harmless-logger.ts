import type { Logger } from "../core/ports/logger.ts";

/** The logger as the runtime uses it: what it throws is dropped, since nobody who logs may be stopped by it. */
export function harmlessLogger(logger: Logger): Logger {
  const line =
    (level: keyof Logger): Logger[keyof Logger] =>
    (message, fields) => {
      try {
        logger[level](message, fields);
      } catch {
        // There is nobody left to tell.
      }
    };
  return Object.freeze({ debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") });
}
