import { describeValue } from "./describe-value.ts";
import { ConfigurationError } from "./errors.ts";

/** A length of time: milliseconds as a number, or text with its unit (`"500ms"`, `"1.5s"`, `"5 m"`, `"2h"`, `"1d"`). */
export type Duration = number | `${number}${"ms" | "s" | "m" | "h" | "d"}`;

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const UNIT_MS: ReadonlyMap<string, number> = new Map([
  ["ms", 1],
  ["s", SECOND_MS],
  ["m", MINUTE_MS],
  ["h", HOUR_MS],
  ["d", DAY_MS],
]);

/**
 * Reads a duration.
 * @param value a number ≥ 0 or text such as `"30s"`; decimals only, no sign, no exponent; spaces before the unit (`"30 s"`) do not matter
 * @param name how the option is called in messages, e.g. `timeout.attempt`
 * @returns milliseconds, ≥ 0 and at most `Number.MAX_SAFE_INTEGER`; a fraction is kept
 * @throws ConfigurationError for anything else
 */
export function parseDuration(value: unknown, name: string): number {
  const ms = typeof value === "string" ? parseText(value) : typeof value === "number" ? value : undefined;
  if (ms === undefined || !(ms >= 0)) {
    throw new ConfigurationError(
      `${name} must be a duration: a number of milliseconds ≥ 0, or text such as "500ms", "30s", "5m", "2h" or "1d"; found ${describeValue(value)}.${hintFor(value)}`,
    );
  }
  if (ms > Number.MAX_SAFE_INTEGER) {
    throw new ConfigurationError(`${name} is too long: at most ${Number.MAX_SAFE_INTEGER} ms; found ${describeValue(value)}.`);
  }
  return ms === 0 ? 0 : ms; // -0 becomes 0
}

/**
 * Reads a duration that may not be zero, where zero would mean "at once, always".
 * @throws ConfigurationError
 */
export function parsePositiveDuration(value: unknown, name: string): number {
  const ms = parseDuration(value, name);
  if (ms > 0) return ms;
  throw new ConfigurationError(`${name} must be longer than zero; found ${describeValue(value)}. Leave it out to have none.`);
}

function parseText(text: string): number | undefined {
  const [, amountText, unit] = /^(\d+(?:\.\d+)?) *(ms|s|m|h|d)$/.exec(text) ?? [];
  const unitMs = UNIT_MS.get(unit ?? "");
  if (amountText === undefined || unitMs === undefined) return undefined;
  const amount = Number(amountText);
  const ms = amount * unitMs;
  // 1.1 × 3,600,000 is 3,960,000.0000000005: fifteen digits are what the text can have meant.
  return Number.isInteger(amount) ? ms : Number(ms.toPrecision(15));
}

function hintFor(value: unknown): string {
  if (typeof value !== "string") return "";
  return /^\d{1,15}(\.\d{1,15})?$/.test(value) ? ` Its unit is missing: "${value}ms" or "${value}s"?` : "";
}

/**
 * A length of time for people: `0 ms`, `350 ms`, `1.2 s`, `3 m 05 s`, `2 h 10 m`, `3 d 04 h`. Rounded to what
 * is shown; a second part of zero is left out. Not meant to be read back.
 * @param ms milliseconds
 */
export function formatDuration(ms: number): string {
  if (Number.isNaN(ms)) return "?";
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms === 0) return "0 ms";
  if (ms < 1) return "< 1 ms";
  // The bounds are where rounding would reach the next unit: 59.96 s is "1 m", never "60 s".
  if (ms < SECOND_MS - 0.5) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS - 50) return `${Math.round(ms / 100) / 10} s`;
  if (ms < HOUR_MS - SECOND_MS / 2) return formatPair(Math.round(ms / SECOND_MS), 60, "m", "s");
  if (ms < DAY_MS - MINUTE_MS / 2) return formatPair(Math.round(ms / MINUTE_MS), 60, "h", "m");
  return formatPair(Math.round(ms / HOUR_MS), 24, "d", "h");
}

function formatPair(total: number, perLarge: number, large: string, small: string): string {
  if (!Number.isFinite(total)) return "∞";
  const rest = total % perLarge;
  const whole = `${(total - rest) / perLarge} ${large}`;
  return rest === 0 ? whole : `${whole} ${String(rest).padStart(2, "0")} ${small}`;
}
