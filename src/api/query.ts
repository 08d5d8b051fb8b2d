import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkInteger, checkOneOf, checkOptions, isList } from "../core/options.ts";
import type { RunQuery, TaskQuery } from "../core/ports/store.ts";
import { RUN_STATUSES } from "../core/status.ts";
import { readStatus } from "./options.ts";

const KEYS = ["status", "pipelineRunId", "tag", "name", "namePrefix", "idPrefix", "bucket", "owner", "createdSince", "limit", "cursor"] as const;
const TEXTS = ["pipelineRunId", "tag", "name", "namePrefix", "idPrefix", "owner", "cursor"] as const;
const NUMBERS = { bucket: 0, createdSince: Number.MIN_SAFE_INTEGER, limit: 1 } as const;

/** Checks a query; old names of statuses are understood. */
export function readQuery(query: unknown): TaskQuery {
  const given = checkOptions(query, KEYS, "query");
  const read: Record<string, unknown> = {};
  for (const key of TEXTS) if (given[key] !== undefined) read[key] = checkText(given[key], key);
  for (const [key, min] of Object.entries(NUMBERS)) {
    const value = given[key as keyof typeof NUMBERS];
    if (value !== undefined) read[key] = checkInteger(value, `query: ${key}`, min);
  }
  if (given.status !== undefined) read["status"] = checkStatuses(given.status);
  return read;
}

/** Checks a query for runs. */
export function readRunQuery(query: unknown): RunQuery {
  const { status, name, idPrefix, limit, cursor } = checkOptions(query, ["status", "name", "idPrefix", "limit", "cursor"], "query");
  return {
    ...(status === undefined ? {} : { status: listOf(status).map((each) => checkOneOf(each, RUN_STATUSES, "query: status")) }),
    ...(name === undefined ? {} : { name: checkText(name, "name") }),
    ...(idPrefix === undefined ? {} : { idPrefix: checkText(idPrefix, "idPrefix") }),
    ...(limit === undefined ? {} : { limit: checkInteger(limit, "query: limit", 1) }),
    ...(cursor === undefined ? {} : { cursor: checkText(cursor, "cursor") }),
  };
}

function checkText(value: unknown, key: string): string {
  if (typeof value === "string") return value;
  throw new ConfigurationError(`query: ${key} must be text; found ${describeValue(value)}.`);
}

function checkStatuses(value: unknown): TaskQuery["status"] {
  return listOf(value).map((status) => readStatus(status, "query: status"));
}

/** A single one counts as a list of one. */
function listOf(value: unknown): readonly unknown[] {
  return isList(value) ? value : [value];
}
