import { isList } from "../core/options.ts";
import type { TaskOverrides } from "./task.ts";

/**
 * What a submit puts in place of the task's own options, as plain data: it outlives the process, so a later retry runs
 * under it, too. Functions and classes in a retry policy are code and cannot be stored: matchers that are no text, and a
 * backoff of the user's own, are left out then. `null`: nothing.
 */
export function storableOverrides({ retry, timeout, tags }: TaskOverrides): TaskOverrides | null {
  if (retry === undefined && timeout === undefined && tags === undefined) return null;
  return {
    ...(retry === undefined ? {} : { retry: storableRetry(retry) }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(tags === undefined ? {} : { tags }),
  };
}

function storableRetry(retry: unknown): unknown {
  if (typeof retry !== "object" || retry === null) return retry;
  const entries = Object.entries(retry).map(
    ([key, value]: readonly [string, unknown]) => [key, isList(value) ? value.filter((matcher) => typeof matcher === "string") : value] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => !isCode(value)));
}

function isCode(value: unknown): boolean {
  return typeof value === "function" || (typeof value === "object" && value !== null && Object.values(value).some((part) => typeof part === "function"));
}
