import { createFailure } from "./failure.ts";
import type { Failure } from "./failure.ts";
import type { Settlement } from "./ports/executor.ts";
import type { RequestedAction, TaskStatus } from "./status.ts";
import { failureOf } from "./thrown.ts";
import { unreachable } from "./unreachable.ts";

/** A timeout that has asked the attempt to end. */
export interface FiredTimeout {
  readonly kind: "timeout_start" | "timeout_attempt" | "timeout_idle";
  readonly message: string;
}

/** What is known when an attempt has settled. */
export interface SettledAttempt {
  readonly status: TaskStatus;
  readonly requestedAction: RequestedAction | null;
  readonly settlement: Settlement;
  readonly timeout: FiredTimeout | null;
}

/** Returned in the place of a value by a body that has succeeded and has none to give. */
export class OutcomeOmitted {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

/** What the settlement means for the task. */
export type Verdict =
  | { readonly type: "succeeded"; readonly value: unknown }
  /** Whether another attempt follows is the retry policy's affair. */
  | { readonly type: "failed"; readonly failure: Failure; readonly error: unknown; readonly discarded?: unknown }
  | { readonly type: "ended"; readonly failure: Failure; readonly partialOutcome: unknown }
  | { readonly type: "lost"; readonly failure: Failure };

/**
 * Reads an attempt's end in the light of what was asked of it. A stop is not a failure; what was told to end
 * by a timeout has timed out, whatever it then did; what was abandoned is lost. Source §5.4, §13.6.
 */
export function judgeSettlement(attempt: SettledAttempt): Verdict {
  if (attempt.status === "stopping") return underStop(attempt);
  return attempt.timeout === null ? byItself(attempt.settlement) : underTimeout(attempt.settlement, attempt.timeout);
}

function underStop({ settlement, requestedAction }: SettledAttempt): Verdict {
  const word = requestedAction === "cancel" ? "cancelled" : "stopped";
  switch (settlement.type) {
    case "returned":
      if (!settlement.noticed) return { type: "succeeded", value: settlement.value };
      return {
        type: "ended",
        failure: cancelled(`${word}; it returned nevertheless, and what it returned is kept as its partial outcome`),
        partialOutcome: settlement.value,
      };
    case "threw":
      return { type: "ended", failure: failureOf(settlement.error, { kind: "cancelled", retryable: false }), partialOutcome: undefined };
    case "killed":
      return { type: "ended", failure: killed("cancelled", settlement, `${word} by force at the end of the grace`), partialOutcome: undefined };
    case "died":
      return { type: "failed", failure: settlement.failure, error: undefined };
    case "abandoned":
      return lost("lost", "it did not end within the grace and cannot be killed: given up on, and it may still run. The outcome is unknown");
    default:
      return unreachable(settlement);
  }
}

function underTimeout(settlement: Settlement, { kind, message }: FiredTimeout): Verdict {
  switch (settlement.type) {
    case "returned":
      return { type: "failed", failure: createFailure({ kind, message, name: "TaskTimeout", retryable: true }), error: undefined, discarded: settlement.value };
    case "threw":
      // Retryable whatever it threw: what a well-behaved body lets through is the very error that asked it to end.
      return { type: "failed", failure: { ...failureOf(settlement.error, { kind }), message, name: "TaskTimeout", retryable: true }, error: undefined };
    case "killed":
      return { type: "failed", failure: { ...killed(kind, settlement, message), retryable: true }, error: undefined };
    case "died":
      return { type: "failed", failure: { ...settlement.failure, kind, message, retryable: true }, error: undefined };
    case "abandoned":
      return lost(kind, `${message}; it did not end within the grace and cannot be killed: given up on, and it may still run`);
    default:
      return unreachable(settlement);
  }
}

function byItself(settlement: Settlement): Verdict {
  switch (settlement.type) {
    case "returned":
      return { type: "succeeded", value: settlement.value };
    case "threw":
      return { type: "failed", failure: failureOf(settlement.error), error: settlement.error };
    case "killed":
      return {
        type: "failed",
        failure: killed("nonzero_exit", settlement, "its carrier was killed from outside; side effects are possible"),
        error: undefined,
      };
    case "died":
      return { type: "failed", failure: settlement.failure, error: undefined };
    case "abandoned":
      return lost("lost", "given up on although nobody had asked it to end");
    default:
      return unreachable(settlement);
  }
}

function cancelled(message: string): Failure {
  return createFailure({ kind: "cancelled", message, name: "TaskCancelled" });
}

function killed(kind: Failure["kind"], carrier: { readonly exitCode: number | null; readonly signal: string | null }, message: string): Failure {
  const name = kind === "cancelled" ? "TaskCancelled" : kind === "nonzero_exit" ? kind : "TaskTimeout";
  return createFailure({ kind, name, message, exitCode: carrier.exitCode, signal: carrier.signal, forced: true });
}

function lost(kind: Failure["kind"], message: string): Verdict {
  return { type: "lost", failure: createFailure({ kind, message, abandoned: true }) };
}
