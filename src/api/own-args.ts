import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, InternalError } from "../core/errors.ts";
import { isList } from "../core/options.ts";
import { copyValue } from "../stores/codec.ts";

/**
 * The arguments as the store will keep them, sharing nothing with the caller's: what either side does to its objects
 * afterwards is no affair of the other's.
 * @param name the task's or pipeline's, for the message
 * @throws ConfigurationError for what is no array, and with the path for what cannot be stored. Source §5.6.
 */
export function ownArgs(args: unknown, name: string, root: "args" | "params" | "items" = "args"): readonly unknown[] {
  if (!isList(args))
    throw new ConfigurationError(`"${name}": the arguments must be given as an array, the tuple that the task takes; found ${describeValue(args)}.`);
  if (args.every(isWithoutParts)) return [...args];
  const copy = copyValue(args, { root });
  if (!isList(copy)) throw new InternalError(`a copy of ${root} is no array.`);
  return copy;
}

function isWithoutParts(value: unknown): boolean {
  return (typeof value !== "object" || value === null) && typeof value !== "function" && typeof value !== "symbol";
}
