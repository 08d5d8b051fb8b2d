/** Every reason a task can have failed for. A timeout is a reason, never a status. Source §2.4. */
export const FAILURE_KINDS = [
  "exception",
  "nonzero_exit",
  "timeout_start",
  "timeout_attempt",
  "timeout_idle",
  "cancelled",
  "lost",
  "dependency_failed",
  "condition_false",
] as const;

/** Why a task failed. Source §2.4. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** One link of an error's chain of causes. */
export interface FailureCause {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
}

/** A failure as a plain record: it survives threads, processes and the store. Source §2.4, §6. */
export interface Failure {
  readonly kind: FailureKind;
  readonly message: string;
  /** The thrown error's class, or what was thrown where it was no error. */
  readonly name: string;
  readonly stack: string | null;
  /** The chain of `cause`, nearest first, at most 10. */
  readonly causes: readonly FailureCause[];
  readonly retryable: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The carrier was ended by force. */
  readonly forced: boolean;
  /** The body was given up on and may still run. */
  readonly abandoned: boolean;
}

/** A failure that did not come from a thrown value: the parts left out have their usual value. */
export function createFailure(parts: Pick<Failure, "kind" | "message"> & Partial<Omit<Failure, "kind" | "message">>): Failure {
  return {
    kind: parts.kind,
    message: parts.message,
    name: parts.name ?? parts.kind,
    stack: parts.stack ?? null,
    causes: parts.causes ?? [],
    retryable: parts.retryable ?? false,
    exitCode: parts.exitCode ?? null,
    signal: parts.signal ?? null,
    forced: parts.forced ?? false,
    abandoned: parts.abandoned ?? false,
  };
}
