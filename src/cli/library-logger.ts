import type { Logger } from "../core/ports/logger.ts";
import { toJson } from "./output/json-text.ts";
import { cleanLine } from "./output/clean-text.ts";

/** What the library says beside a task, for people: kept until somebody listens, so that nothing is lost before the view opens. */
export function libraryLogger(): Logger & { readonly listen: (listener: (text: string) => void) => void } {
  const early: string[] = [];
  let tell = (text: string): void => void early.push(text);
  const say = (level: string) => (message: string, fields?: Readonly<Record<string, unknown>>) => {
    const more = fields === undefined ? "" : ` ${cleanLine(toJson(fields), 1_000)}`;
    tell(`${level}: ${cleanLine(message)}${more}`);
  };
  return {
    debug() {},
    info() {},
    warn: say("warning"),
    error: say("error"),
    listen(listener) {
      for (const text of early.splice(0)) listener(text);
      tell = listener;
    },
  };
}
