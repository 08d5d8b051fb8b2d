import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, InvalidArguments } from "../core/errors.ts";
import type { ArgumentIssue } from "../core/errors.ts";
import { isList } from "../core/options.ts";
import { failureOf } from "../core/thrown.ts";
import { hasMethods } from "./check-ports.ts";
import { ownArgs } from "./own-args.ts";
import type { SchemaResult, StandardSchema } from "./standard-schema.ts";

/**
 * Refuses what is no schema; `undefined` is none.
 * @throws ConfigurationError
 */
export function checkSchema(schema: unknown, name: string): void {
  if (schema === undefined) return;
  const isObject = (typeof schema === "object" || typeof schema === "function") && schema !== null;
  if (isObject && hasMethods(Reflect.get(schema, "~standard"), ["validate"])) return;
  throw new ConfigurationError(`${name} must be a Standard Schema (zod, valibot, arktype, …); found ${describeValue(schema)}.`);
}

/**
 * The arguments as the `input` schema parses them; as they are where there is no schema.
 * @throws InvalidArguments where the schema refuses them
 */
export async function checkInput(name: string, input: StandardSchema | undefined, args: readonly unknown[]): Promise<readonly unknown[]> {
  if (input === undefined) return args;
  const result = await validate(name, input, args);
  if (result.issues !== undefined) throw new InvalidArguments(name, result.issues.map(toIssue));
  // What the schema made may share parts with what it keeps itself.
  if (isList(result.value)) return ownArgs(result.value, name);
  throw new ConfigurationError(`the input schema of "${name}" must describe the tuple of arguments and give an array back.`);
}

async function validate(name: string, input: StandardSchema, args: readonly unknown[]): Promise<SchemaResult<unknown>> {
  try {
    return await input["~standard"].validate(args);
  } catch (error) {
    throw new InvalidArguments(name, [{ path: "args", message: `the schema threw: ${failureOf(error).message}` }], { cause: error });
  }
}

type SchemaIssue = NonNullable<SchemaResult<unknown>["issues"]>[number];

function toIssue(issue: SchemaIssue): ArgumentIssue {
  const keys = (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part));
  const path = keys.reduce<string>((text, key) => (typeof key === "string" && !/^\d+$/.test(key) ? `${text}.${key}` : `${text}[${String(key)}]`), "args");
  return { path, message: issue.message };
}
