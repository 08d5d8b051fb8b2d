import { CarrierAbandoned, InvalidTransition } from "./errors.ts";
import type { TaskError } from "./errors.ts";
import type { TaskStatusChanged, TransitionKind } from "./events.ts";
import { TRIGGERS } from "./lifecycle-events.ts";
import type { LifecycleEvent } from "./lifecycle-events.ts";
import type { TaskSnapshot } from "./snapshot.ts";
import type { TaskStatus } from "./status.ts";
import { PAUSED_IN_PLACE_EDGES, PAUSED_NOT_STARTED_EDGES, TRANSITIONS, canTransition } from "./transitions.ts";
import { VERBS, allowedVerbs, isPausedInPlace, verbCell } from "./verbs.ts";

/** What a step changes beside the status, its version and the run-out wish. */
export type Patch = Partial<Omit<TaskSnapshot, "status" | "statusVersion" | "taskId" | "createdAt">>;

/** One event's way through the table: the snapshot so far and the steps taken. Lives for one `apply`. */
export class Move {
  snapshot: TaskSnapshot;
  readonly transitions: TaskStatusChanged[] = [];
  readonly now: number;
  readonly event: LifecycleEvent;

  constructor(snapshot: TaskSnapshot, event: LifecycleEvent, now: number) {
    this.snapshot = snapshot;
    this.event = event;
    this.now = now;
  }

  get actor(): string {
    return this.event.actor ?? "system";
  }

  /** A step along an edge of the table; refused where there is none, or where the guard of `paused` says no. */
  to(status: TaskStatus, patch: Patch, trigger?: string): TaskError | null {
    const from = this.snapshot;
    if (!canTransition(from.status, status)) return this.refuse();
    if (from.status === "paused") {
      const edges = isPausedInPlace(from) ? PAUSED_IN_PLACE_EDGES : PAUSED_NOT_STARTED_EDGES;
      if (!edges.has(status)) return this.refuse();
    }
    this.#step("transition", status, patch, trigger);
    return null;
  }

  /** A step that stands apart from the table. The caller has checked that it is legal. */
  apart(kind: Exclude<TransitionKind, "transition">, status: TaskStatus, patch: Patch): null {
    this.#step(kind, status, patch, undefined);
    return null;
  }

  /** Notes a fact without a step: the version stays. */
  note(patch: Patch): null {
    this.snapshot = { ...this.snapshot, ...patch };
    return null;
  }

  /** Nothing may begin another attempt while an abandoned body still runs. */
  refuseWhileAbandoned(force: boolean): TaskError | null {
    if (this.snapshot.abandonedBy === null || force) return null;
    return new CarrierAbandoned(this.snapshot.taskId, this.event.type);
  }

  /** The refusal for the event in the present status: verbs list verbs and have the table's hint, all else lists statuses. */
  refuse(hint?: string): InvalidTransition {
    const { taskId, status } = this.snapshot;
    const verb = VERBS.find((name) => name === this.event.type);
    const allowed = verb === undefined ? TRANSITIONS[status] : allowedVerbs(this.snapshot);
    const detail = { taskId, current: status, requested: this.event.type, allowed };
    const cell = verb === undefined ? null : verbCell(this.snapshot, verb);
    const said = hint ?? (cell?.effect === "refused" ? cell.hint : undefined);
    return new InvalidTransition(said === undefined ? detail : { ...detail, hint: said });
  }

  #step(kind: TransitionKind, status: TaskStatus, patch: Patch, trigger: string | undefined): void {
    const from = this.snapshot;
    const event = this.event;
    const statusVersion = from.statusVersion + 1;
    const after: TaskSnapshot = { ...from, ...patch, status, statusVersion };
    this.snapshot = after;
    this.transitions.push({
      type: "TaskStatusChanged",
      eventId: `${from.taskId}:${statusVersion}`,
      at: this.now,
      taskId: from.taskId,
      pipelineRunId: from.pipelineRunId,
      name: from.name,
      node: from.node,
      kind,
      from: from.status,
      to: status,
      trigger: trigger ?? event.trigger ?? TRIGGERS[event.type],
      actor: this.actor,
      reason: event.reason ?? null,
      statusVersion,
      attempt: after.attempt,
      epoch: after.epoch,
      commandId: event.commandId ?? null,
    });
  }
}

/** What every way into a terminal status sets. */
export function ended(now: number): Patch {
  return { endedAt: now, requestedAction: null, pausedFrom: null, pausedBy: null, availableAt: null, owner: null, pid: null };
}

/** What every way back to the start clears. */
export function cleared(): Patch {
  return {
    requestedAction: null,
    pausedFrom: null,
    pausedBy: null,
    skippedBy: null,
    overridden: false,
    needsDecision: false,
    availableAt: null,
    queuedAt: null,
    startedAt: null,
    endedAt: null,
    lastHeartbeatAt: null,
    progress: null,
    failure: null,
    outcome: undefined,
    partialOutcome: undefined,
    outcomeMissing: null,
    executor: null,
    pid: null,
    owner: null,
  };
}
