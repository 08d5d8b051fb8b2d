import type { AdminOverride, AttemptFailed, AttemptStarted, StoredEvent, TaskCreated, TaskWarning, WarningCode } from "../core/events.ts";
import type { Failure } from "../core/failure.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { Applied } from "../core/state-machine.ts";

interface Head {
  readonly at: number;
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  readonly name: string;
  readonly node: string | null;
}

/** What every event of a task says of it. */
export function headOf(snapshot: TaskSnapshot, at: number): Head {
  return { at, taskId: snapshot.taskId, pipelineRunId: snapshot.pipelineRunId, name: snapshot.name, node: snapshot.node };
}

/** The event of a task's making. */
export function createdEvent(snapshot: TaskSnapshot): TaskCreated {
  return { type: "TaskCreated", eventId: `${snapshot.taskId}:0`, ...headOf(snapshot, snapshot.createdAt) };
}

/** Everything the audit says of an accepted event: its steps, and the attempt they opened or closed. */
export function eventsOf(applied: Applied, at: number): readonly StoredEvent[] {
  const { snapshot, transitions, attempt } = applied;
  const last = transitions.at(-1);
  if (last !== undefined && last.kind === "override") return [...transitions, overrideEvent(applied, at), ...attemptEvents(applied, at)];
  return attempt === null || (attempt.endedAt !== null && snapshot.failure === null) ? transitions : [...transitions, ...attemptEvents(applied, at)];
}

function attemptEvents({ snapshot, transitions, attempt }: Applied, at: number): readonly (AttemptStarted | AttemptFailed)[] {
  if (attempt === null) return [];
  const id = `${snapshot.taskId}:${snapshot.statusVersion}`;
  // One that goes on has only told its pid, which came with its launch.
  if (attempt.endedAt === null && transitions.at(-1)?.to !== "starting") return [];
  if (attempt.endedAt === null) return [{ type: "AttemptStarted", eventId: `${id}:started`, ...headOf(snapshot, at), attempt }];
  const { failure, status } = snapshot;
  if (failure === null || (status !== "failed" && status !== "retry_wait" && status !== "lost")) return [];
  return [{ type: "AttemptFailed", eventId: `${id}:failed`, ...headOf(snapshot, at), attempt, failure, retryAt: snapshot.availableAt }];
}

function overrideEvent({ snapshot, transitions }: Applied, at: number): AdminOverride {
  const step = transitions[0];
  return {
    type: "AdminOverride",
    eventId: `${snapshot.taskId}:${snapshot.statusVersion}:override`,
    ...headOf(snapshot, at),
    from: step?.from ?? snapshot.status,
    to: snapshot.status,
    actor: step?.actor ?? "system",
    reason: step?.reason ?? "",
  };
}

/** A warning of a task; `nth` tells two of one version apart. */
export function warningEvent(
  snapshot: TaskSnapshot,
  at: number,
  warning: { readonly code: WarningCode; readonly message: string; readonly failure?: Failure; readonly nth: number },
): TaskWarning {
  return {
    type: "TaskWarning",
    eventId: `${snapshot.taskId}:${snapshot.statusVersion}:${warning.code}:${warning.nth}`,
    ...headOf(snapshot, at),
    code: warning.code,
    message: warning.message,
    failure: warning.failure ?? null,
  };
}
