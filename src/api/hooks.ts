import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import { checkOptions } from "../core/options.ts";
import { HOOK_NAMES } from "../core/ports/hooks.ts";
import type { TaskHooks } from "../core/ports/hooks.ts";

/**
 * Reads hooks; `null` where there are none.
 * @throws ConfigurationError for a name that is none, and for what cannot be called
 */
export function readHooks(value: unknown, label: string): TaskHooks<never> | null {
  const given = checkOptions(value, HOOK_NAMES, label);
  const hooks: Record<string, unknown> = {};
  for (const name of HOOK_NAMES) {
    const hook: unknown = given[name];
    if (hook === undefined) continue;
    if (typeof hook !== "function") throw new ConfigurationError(`${label}: ${name} must be a function; found ${describeValue(hook)}.`);
    hooks[name] = hook;
  }
  return Object.keys(hooks).length === 0 ? null : Object.freeze(hooks);
}
