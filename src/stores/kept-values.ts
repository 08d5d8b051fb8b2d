import { ConfigurationError } from "../core/errors.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { decodeValue, encodeValue } from "./codec.ts";

/** Longest text of one value, in bytes of JSON, unless told otherwise. */
export const DEFAULT_MAX_VALUE_BYTES = 1024 * 1024;

/** A snapshot's values as text, and why one of them is not there. */
export interface KeptOutcome {
  readonly outcome: string | undefined;
  readonly partialOutcome: string | undefined;
  readonly missing: string | null;
}

/**
 * The arguments as text.
 * @throws ConfigurationError that names the path of what cannot be stored, or the size and the limit
 */
export function encodeArgs(args: readonly unknown[] | undefined, maxBytes: number): string | undefined {
  if (args === undefined) return undefined;
  return args.length === 0 ? "[]" : encodeValue(args, { root: "args", maxBytes });
}

/** The arguments that the text holds, made anew each time. */
export function decodeArgs(text: string | undefined): readonly unknown[] | undefined {
  if (text === undefined) return undefined;
  const args = decodeValue(text);
  return Array.isArray(args) ? args : undefined;
}

/** The values of a snapshot as text. Never throws: a task has ended as it has, whatever it returned. */
export function keepOutcome(snapshot: TaskSnapshot, maxBytes: number): KeptOutcome {
  const outcome = tryEncode(snapshot.outcome, "outcome", maxBytes);
  const partialOutcome = tryEncode(snapshot.partialOutcome, "partialOutcome", maxBytes);
  return { outcome: outcome.text, partialOutcome: partialOutcome.text, missing: outcome.missing ?? partialOutcome.missing };
}

/** Arguments worked out for a node. Never throws: they flow on in memory, stored or not. */
export function keepArgs(args: readonly unknown[], maxBytes: number): Tried {
  return args.length === 0 ? { text: "[]", missing: null } : tryEncode(args, "args", maxBytes);
}

/** What an attempt saved for the next one. Never throws: the attempt goes on, whatever it saved. */
export function keepSaved(state: unknown, maxBytes: number): Tried {
  return tryEncode(state, "saved", maxBytes);
}

/** A value as text, or why it is not. */
export interface Tried {
  readonly text: string | undefined;
  readonly missing: string | null;
}

const NOTHING: Tried = { text: undefined, missing: null };

function tryEncode(value: unknown, root: string, maxBytes: number): Tried {
  if (value === undefined) return NOTHING;
  try {
    return { text: encodeValue(value, { root, maxBytes }), missing: null };
  } catch (error) {
    return { text: undefined, missing: error instanceof ConfigurationError ? error.message : `${root} cannot be stored: ${String(error)}` };
  }
}
