import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";

const PORTS = {
  store: ["open", "close"],
  clock: ["now", "monotonic", "setTimer", "turn"],
  logger: ["debug", "info", "warn", "error"],
} as const;

/**
 * Refuses what cannot be the store, clock, logger or source of chance it is given for; `undefined` is left to
 * the default.
 * @throws ConfigurationError that names the option
 */
export function checkPorts(given: Readonly<Partial<Record<keyof typeof PORTS | "random", unknown>>>): void {
  for (const [name, methods] of Object.entries(PORTS)) {
    const port = given[name as keyof typeof PORTS];
    if (port === undefined || hasMethods(port, methods)) continue;
    throw new ConfigurationError(`${name} must have the methods ${methods.join(", ")}; found ${describeValue(port)}.`);
  }
  const { random } = given;
  if (random !== undefined && typeof random !== "function") throw new ConfigurationError(`random must be a function; found ${describeValue(random)}.`);
}

/** Has the value all of these methods, its own or inherited? */
export function hasMethods(value: unknown, methods: readonly string[]): boolean {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return methods.every((method) => typeof Reflect.get(value, method) === "function");
}
