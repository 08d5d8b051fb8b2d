import { CarrierAbandoned, ConfigurationError, Deadlock, InvalidTransition } from "../core/errors.ts";
import type { TaskError } from "../core/errors.ts";
import type { By, GivenOutcome, LifecycleEvent } from "../core/lifecycle-events.ts";
import { DEFAULTS } from "../core/policies/timeout.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import type { TaskStatus } from "../core/status.ts";
import { isTerminal } from "../core/transitions.ts";
import { allowedVerbs, canVerb, verbCell, verbsWithoutAttempt } from "../core/verbs.ts";
import type { Verb, VerbAnswer } from "../core/verbs.ts";
import type { Cell } from "./cell.ts";
import type { Along, Lifecycle } from "./lifecycle.ts";
import { taskScope } from "./task-scope.ts";

/** What a verb does beside the step: `effect` resolves when it has taken hold and is stored. */
export interface VerbOptions {
  readonly by: By;
  readonly graceMs?: number;
  readonly pauseTimeoutMs?: number;
  readonly force?: boolean;
}

/**
 * The verbs on a task that this controller holds: asks the table, applies the event, acts on the attempt.
 * "Already there" is no error: idempotence is this part's affair. Source §3.1.
 */
export class Control {
  readonly #lifecycle: Lifecycle;

  constructor(lifecycle: Lifecycle) {
    this.#lifecycle = lifecycle;
  }

  /** May the verb be used now? Without side effects. */
  can(snapshot: TaskSnapshot, verb: Verb, supportsPause: boolean): VerbAnswer {
    if (verb === "pause" && !supportsPause && verbCell(snapshot, verb).effect === "moves" && snapshot.status !== "queued" && snapshot.status !== "retry_wait") {
      return { allowed: false, reason: INLINE_PAUSE };
    }
    if ((verb === "retry" || verb === "reset") && snapshot.abandonedBy !== null && verbCell(snapshot, verb).effect === "moves") {
      return { allowed: false, reason: new CarrierAbandoned(snapshot.taskId, verb).message };
    }
    if (verb === "start" && snapshot.status === "blocked" && snapshot.pipelineRunId !== null) {
      return { allowed: true, reason: "already blocked: it begins when its upstreams have ended as it needs" };
    }
    return canVerb(snapshot, verb);
  }

  /** `start`: looks at the dependencies of a task that was reset. */
  async start(cell: Cell, { by }: VerbOptions): Promise<TaskSnapshot> {
    if (this.#moves(cell, "start")) {
      if (cell.place === null) this.#apply(cell, { type: "start", depsOpen: false, ...by });
      else cell.place.start(cell, by);
    }
    return await storedNow(cell);
  }

  /** `stop` and `cancel`: resolves when the task is terminal. */
  async halt(cell: Cell, verb: "stop" | "cancel", options: VerbOptions): Promise<TaskSnapshot> {
    refuseSelf(cell, verb);
    this.haltNow(cell, verb, options);
    return await until(cell, (snapshot) => isTerminal(snapshot.status));
  }

  /** Asks for the stop and acts on the carrier at once; the answer is the caller's to wait for. */
  haltNow(cell: Cell, verb: "stop" | "cancel", { by, graceMs = DEFAULTS.stopGraceMs }: VerbOptions): void {
    const moves = this.#moves(cell, verb);
    if (moves) this.#apply(cell, { type: verb, ...by });
    // Asked again, a shorter grace tightens the deadline.
    if (cell.snapshot.status === "stopping") cell.attempt?.stop(graceMs, stopMessage(cell.snapshot, by));
  }

  /** `pause`: true once it is paused, false when no checkpoint was reached in time and it runs on. */
  async pause(cell: Cell, { by, pauseTimeoutMs = DEFAULTS.pauseTimeoutMs }: VerbOptions): Promise<boolean> {
    refuseSelf(cell, "pause");
    // What a person asks to be paused is theirs, be it paused already.
    cell.pausedByRun = false;
    if (this.#moves(cell, "pause")) {
      if (cell.attempt !== null && !cell.attempt.supportsPause) throw refusal(cell, "pause", INLINE_PAUSE);
      this.#apply(cell, { type: "pause", ...by });
      if (cell.snapshot.status === "pausing") cell.attempt?.pause(pauseTimeoutMs);
    } else {
      cell.attempt?.pauseAfterAll(pauseTimeoutMs);
    }
    const since = cell.snapshot.statusVersion;
    const after = await until(cell, (snapshot) => snapshot.statusVersion >= since && snapshot.status !== "pausing");
    return after.status === "paused";
  }

  /** `resume`: in place, or back to the queue. */
  async resume(cell: Cell, { by }: VerbOptions): Promise<TaskSnapshot> {
    if (this.#moves(cell, "resume")) {
      if (cell.attempt === null) this.#apply(cell, { type: "resume", ...by });
      else cell.attempt.resume(by);
    }
    return await until(cell, (snapshot) => snapshot.statusVersion >= cell.snapshot.statusVersion && snapshot.status !== "pausing");
  }

  /** `retry`: out of a terminal status, or now instead of after the backoff. */
  async retry(cell: Cell, { by, force = false }: VerbOptions): Promise<TaskSnapshot> {
    refuseSelf(cell, "retry");
    if (this.#moves(cell, "retry")) {
      const reopened = isTerminal(cell.snapshot.status) ? cell.place?.reopen(cell, "retry") : undefined;
      this.#again(cell, { type: "retry", force, ...by });
      reopened?.();
    }
    return await storedNow(cell);
  }

  /** `skip`: before the start, or of a failed task, with or without a value for those below. */
  async skip(cell: Cell, { by }: VerbOptions, outcome: GivenOutcome | undefined): Promise<TaskSnapshot> {
    if (this.#moves(cell, "skip")) this.#apply(cell, { type: "skip", ...(outcome === undefined ? {} : { outcome }), ...by });
    return await storedNow(cell);
  }

  /** `reset`: a new epoch. */
  async reset(cell: Cell, { by, force = false }: VerbOptions): Promise<TaskSnapshot> {
    refuseSelf(cell, "reset");
    if (this.#moves(cell, "reset")) {
      const reopened = cell.place?.reopen(cell, "reset");
      this.#again(cell, { type: "reset", force, ...by });
      cell.save(undefined);
      this.#lifecycle.note(cell, {});
      reopened?.();
    }
    return await storedNow(cell);
  }

  /** The escape hatch. A live body is told to end, and what it still says is only for the record. Source §3.1. */
  async force(cell: Cell, to: TaskStatus, { by, force = false, outcome }: VerbOptions & { readonly outcome: GivenOutcome | undefined }): Promise<TaskSnapshot> {
    const { attempt } = cell;
    const reopened = to === "pending" || to === "queued" ? cell.place?.reopen(cell, "force") : undefined;
    const event: LifecycleEvent = { type: "force", to, force, ...(outcome === undefined ? {} : { outcome }), ...by };
    this.#again(cell, event, attempt !== null && !isTerminal(to));
    cell.error = undefined;
    reopened?.();
    attempt?.detach(DEFAULTS.stopGraceMs, `task ${cell.taskId} was forced to ${to} by ${by.actor ?? "system"}`);
    return await storedNow(cell);
  }

  #moves(cell: Cell, verb: Verb): boolean {
    const answer = verbCell(cell.snapshot, verb);
    if (answer.effect === "refused") throw refusal(cell, verb, answer.hint);
    return answer.effect === "moves";
  }

  #apply(cell: Cell, event: LifecycleEvent, along: Along = {}): void {
    const refused: TaskError | null = this.#lifecycle.apply(cell, event, along);
    if (refused !== null) throw refused;
  }

  /** Applies what leads back to the start: at once, or held back while the body that it was taken from still runs. */
  #again(cell: Cell, event: LifecycleEvent & { readonly type: "retry" | "reset" | "force" }, waitsForBody = false): void {
    const { waitsForBody: waited, args } = cell;
    const isQueued = event.type === "retry" || (event.type === "force" && event.to === "queued");
    // A node that was never let go has no arguments yet.
    const worked = isQueued && args === undefined ? workedOut(cell, event.type) : undefined;
    // Before the step: the queue must know that a body is still in the way.
    cell.waitsForBody = waitsForBody;
    cell.args = worked ?? args;
    try {
      this.#apply(cell, event, worked === undefined ? {} : { args: worked });
    } catch (refused) {
      cell.waitsForBody = waited;
      cell.args = args;
      throw refused;
    }
  }
}

const INLINE_PAUSE = "it runs inline, in its caller's own await, and cannot be paused";

function refusal(cell: Cell, verb: Verb, hint: string | undefined): InvalidTransition {
  const allowed = cell.place?.isOver() === true ? verbsWithoutAttempt(cell.snapshot) : allowedVerbs(cell.snapshot);
  const detail = { taskId: cell.taskId, current: cell.snapshot.status, requested: verb, allowed };
  return new InvalidTransition(hint === undefined ? detail : { ...detail, hint });
}

function workedOut(cell: Cell, verb: string): readonly unknown[] | undefined {
  try {
    return cell.place?.args();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigurationError(`${verb}: the arguments of task ${cell.taskId} cannot be worked out as its upstreams stand: ${why}`, { cause: error });
  }
}

function stopMessage(snapshot: TaskSnapshot, by: By): string {
  const word = snapshot.requestedAction === "cancel" ? "cancelled" : "stopped";
  return `task ${snapshot.taskId} was ${word} by ${by.actor ?? "system"}${by.reason === undefined || by.reason === null ? "" : `: ${by.reason}`}`;
}

/** A task cannot wait for its own end. */
export function refuseSelf(cell: Pick<Cell, "taskId"> & { readonly attempt?: unknown; readonly carrier?: Cell["carrier"] }, verb: string): void {
  const scope = taskScope.getStore();
  // A hook is not its task; and what a task left behind may well ask, once the task has ended.
  if (scope === undefined || scope.body === null || cell.attempt === null) return;
  const asking = scope.taskId;
  if (cell.carrier?.carries(asking) === true)
    throw new Deadlock(`task ${asking} asked for "${verb}" of the map that it is an item of and would wait for ever. Let somebody else ask.`);
  if (asking !== cell.taskId) return;
  throw new Deadlock(`task ${cell.taskId} asked for "${verb}" of itself and would wait for ever. Return or throw instead, or let somebody else ask.`);
}

/** Resolves with the first stored snapshot, from now on, that the predicate takes; rejects when aborted. */
export function until(cell: Cell, predicate: (stored: TaskSnapshot) => boolean, signal?: AbortSignal): Promise<TaskSnapshot> {
  if (cell.stored !== null && predicate(cell.stored)) return Promise.resolve(cell.stored);
  const { promise, resolve, reject } = Promise.withResolvers<TaskSnapshot>();
  const end = (): void => {
    unwatch();
    signal?.removeEventListener("abort", onAbort);
  };
  const onAbort = (): void => {
    end();
    reject(signal?.reason);
  };
  const unwatch = cell.watch({
    stored: (snapshot) => {
      if (!predicate(snapshot)) return;
      end();
      resolve(snapshot);
    },
    failed: (problem) => {
      end();
      reject(problem);
    },
  });
  signal?.addEventListener("abort", onAbort, { once: true });
  return promise;
}

async function storedNow(cell: Cell): Promise<TaskSnapshot> {
  const { statusVersion } = cell.snapshot;
  return await until(cell, (stored) => stored.statusVersion >= statusVersion);
}
