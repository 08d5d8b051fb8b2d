import type { Failure } from "../core/failure.ts";

/** Failures that are frozen to the bottom: each new row of the same task brings the one before it again. */
const FROZEN = new WeakSet<Failure>();

/** A deeply frozen copy; what this gave before is given back as it is. */
export function frozenFailure(failure: Failure): Failure;
export function frozenFailure(failure: Failure | null): Failure | null;
export function frozenFailure(failure: Failure | null): Failure | null {
  if (failure === null || FROZEN.has(failure)) return failure;
  const copy = Object.freeze({ ...failure, causes: Object.freeze(failure.causes.map((cause) => Object.freeze({ ...cause }))) });
  FROZEN.add(copy);
  return copy;
}
