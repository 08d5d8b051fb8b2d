import { ConfigurationError } from "../core/errors.ts";
import { createFailure } from "../core/failure.ts";
import type { Failure } from "../core/failure.ts";
import type { CloserTrigger } from "../core/lifecycle-events.ts";
import { decideRetry } from "../core/policies/retry.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Executor, Settlement } from "../core/ports/executor.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TaskStore, Touch } from "../core/ports/store.ts";
import type { Progress } from "../core/progress.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { failureOf } from "../core/thrown.ts";
import { unreachable } from "../core/unreachable.ts";
import { judgeSettlement, OutcomeOmitted } from "../core/verdict.ts";
import type { FiredTimeout, Verdict } from "../core/verdict.ts";
import type { ArtifactsRoot } from "./artifacts-root.ts";
import { headOf } from "./audit-events.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptParts } from "./attempt.ts";
import type { Cell, LiveAttempt } from "./cell.ts";
import type { LoopWatch } from "./loop-watch.ts";
import type { StallReport } from "./loop-watch-protocol.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Scheduler } from "./scheduler.ts";

/** How often running tasks are said to be alive. */
const BEAT_MS = 5_000;

/** So many tasks that ran on this loop are remembered, beside those that run. */
const REMEMBERED = 1_000;

/** What the supervisor works with. */
export interface SupervisorParts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly store: TaskStore;
  readonly lifecycle: Lifecycle;
  readonly scheduler: Scheduler;
  readonly executors: ReadonlyMap<string, Executor>;
  /** A number in [0, 1): for jitter. */
  readonly random: () => number;
  /** `nodeId:epoch`: who owns what runs here. */
  readonly owner: string;
  /** Where attempts keep their files. */
  readonly artifacts: ArtifactsRoot;
  /** `null`: the event loop is not watched. */
  readonly loopWatch: LoopWatch | null;
}

/** Each task from its dispatch to its verdict: begins attempts, reads how they ended, decides on the next. Source §5.2, §5.5. */
export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #attemptParts: AttemptParts;
  readonly #orphans = new Set<Attempt>();
  /** Those that were forced away and are still inside their grace. */
  readonly #leaving = new Set<Attempt>();
  #allLeft: (() => void) | null = null;
  #events = 0;
  #closed = false;
  #beatTimer: Timer | null = null;
  /** Attempts under way whose carriers do not say that they are alive. */
  readonly #quiet = new Map<LiveAttempt, Cell>();
  /** Attempts whose bodies run on this thread's event loop. */
  readonly #onLoop = new Set<LiveAttempt>();
  readonly #seen = new Set<string>();

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
    this.#attemptParts = {
      clock: parts.clock,
      lifecycle: parts.lifecycle,
      touch: (cell, progress) => this.#touch(cell, progress),
      beat: (cell) => this.#beat([cell]),
      artifactsOf: (cell) => parts.artifacts.folder(cell.taskId, cell.snapshot.epoch, cell.snapshot.attempt),
      settled: (attempt, settlement) => this.#settled(attempt, settlement),
      detached: (attempt) => this.#detached(attempt),
      lateSettled: (attempt, settlement) => this.#late(attempt, settlement),
      stray: ({ cell, number }, error) => this.stray(cell.taskId, number, error),
      nextEventNumber: () => (this.#events += 1),
    };
  }

  /** Bodies that were given up on and still run. */
  get orphans(): ReadonlySet<Attempt> {
    return this.#orphans;
  }

  /** The task whose body was given up on and still runs: it is kept, so that there is one memory of it. */
  orphaned(taskId: string): Cell | undefined {
    return this.#orphans.values().find(({ cell }) => cell.taskId === taskId)?.cell;
  }

  /** A task has blocked the event loop, and it turns again. */
  stalled({ taskId, name, frames }: StallReport): void {
    const where = frames.length === 0 ? "" : `, at ${frames.join(" < ")}`;
    if (taskId === null) {
      this.#parts.logger.warn("code outside any task has blocked the event loop", { where });
      return;
    }
    const advice = 'Nothing else could run, be paused or be stopped meanwhile: await ctx.checkpoint() in the loop, or use executor: "thread".';
    // Controllers of one process share the loop: it may be another one's task.
    if (!this.#seen.has(taskId)) return;
    this.#record(taskId, { code: "loop_stalled", message: `"${name ?? ""}" has blocked the event loop${where}. ${advice}` });
  }

  /** Bodies that were forced away have at most so long from now on; resolves when each has ended or was given up on. */
  async dismiss(graceMs: number): Promise<void> {
    if (this.#leaving.size === 0) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#allLeft = resolve;
    for (const attempt of this.#leaving) attempt.stop(graceMs, "the controller closes");
    await promise;
  }

  /** A shorter grace for those that leave. */
  hasten(graceMs: number): void {
    for (const attempt of this.#leaving) attempt.stop(graceMs, "the controller closes");
  }

  /** No more beats, and nothing runs again by itself: the controller closes. */
  close(): void {
    this.#closed = true;
    this.#beatTimer?.cancel();
  }

  /** The scheduler has a slot for the task: the attempt begins once that is stored. */
  dispatch(taskId: string): void {
    const { lifecycle, scheduler, owner, logger } = this.#parts;
    const cell = lifecycle.get(taskId);
    if (cell === undefined) {
      scheduler.release(taskId);
      return;
    }
    const executor = cell.carrier ?? this.#parts.executors.get(cell.definition.executor);
    if (executor === undefined) throw new ConfigurationError(`there is no executor "${cell.definition.executor}".`);
    let attempt: Attempt | null = null;
    // Only this one: forced away meanwhile, another may have taken its place, whose own start is not stored yet.
    const stored = (problem: Error | null): void => (attempt === null ? undefined : this.#launch(attempt, problem));
    const refused = lifecycle.apply(cell, { type: "dispatch", owner, executor: executor.kind }, { stored });
    if (refused !== null) {
      scheduler.release(taskId);
      logger.error("a queued task could not be begun", { taskId, problem: refused.message });
      return;
    }
    attempt = cell.attempt = new Attempt(this.#attemptParts, cell, executor);
  }

  /** The backoff of a task has ended and no slot is free: it waits in the queue like any other. */
  backoffEnded(taskId: string): void {
    const cell = this.#parts.lifecycle.get(taskId);
    if (cell !== undefined) this.#parts.lifecycle.must(cell, { type: "backoffElapsed" });
  }

  #launch(attempt: Attempt, problem: Error | null): void {
    const { cell } = attempt;
    if (cell.attempt !== attempt || !holdsSlot(cell.snapshot)) return;
    if (problem !== null) {
      attempt.abort(problem);
      return;
    }
    if (cell.snapshot.fencingToken > 1 && cell.carrier === null && cell.args !== undefined && cell.args.length > 0) void this.#launchAfresh(cell, attempt);
    else this.#begin(cell, attempt);
  }

  /** What an earlier attempt did to its arguments must not reach the next one: it gets them as they are stored, where they are. */
  async #launchAfresh(cell: Cell, attempt: LiveAttempt): Promise<void> {
    try {
      const payload = await this.#parts.store.tasks.payload(cell.taskId);
      cell.args = payload?.args ?? cell.args;
    } catch (problem) {
      this.#parts.logger.warn("the arguments could not be read again; the attempt gets those in memory", {
        taskId: cell.taskId,
        problem: failureOf(problem).message,
      });
    }
    // It may have been forced away meanwhile. A stop or pause is the attempt's own affair.
    if (cell.attempt === attempt && holdsSlot(cell.snapshot)) this.#begin(cell, attempt);
  }

  #begin(cell: Cell, attempt: LiveAttempt): void {
    this.#watch(cell, attempt);
    attempt.launch();
  }

  #settled(attempt: Attempt, settlement: Settlement): void {
    const { cell } = attempt;
    this.#unwatchBeat(attempt);
    const { status, requestedAction } = cell.snapshot;
    if (settlement.type === "abandoned") {
      this.#orphan(attempt);
      cell.lostInStop = status === "stopping";
    } else {
      this.#unwatchLoop(attempt);
    }
    this.#conclude(cell, judgeSettlement({ status, requestedAction, settlement, timeout: attempt.timeout }), status === "stopping" ? null : attempt.timeout);
    cell.attempt = null;
  }

  #detached(attempt: Attempt): void {
    this.#unwatchBeat(attempt);
    this.#orphan(attempt);
    this.#leaving.add(attempt);
    attempt.cell.attempt = null;
  }

  #orphan(attempt: Attempt): void {
    this.#orphans.add(attempt);
    attempt.orphanedAt = this.#parts.clock.now();
  }

  #conclude(cell: Cell, verdict: Verdict, timeout: FiredTimeout | null): void {
    const { lifecycle } = this.#parts;
    switch (verdict.type) {
      case "succeeded":
        lifecycle.must(cell, { type: "succeeded", ...outcomeOf(verdict.value) });
        return;
      case "ended":
        lifecycle.must(cell, verdict);
        return;
      case "lost":
        lifecycle.must(cell, { ...verdict, ...triggered(timeout) });
        return;
      case "failed":
        this.#failed(cell, verdict, timeout);
        return;
      default:
        unreachable(verdict);
    }
  }

  #failed(cell: Cell, verdict: Extract<Verdict, { readonly type: "failed" }>, timeout: FiredTimeout | null): void {
    const { lifecycle, clock, random } = this.#parts;
    const { attempt, maxAttempts, status } = cell.snapshot;
    cell.error = verdict.error;
    const decision = decideRetry({ policy: cell.definition.retry, attempt, maxAttempts, failure: verdict.failure, error: verdict.error, random });
    const failure = !decision.retry && decision.reason === "invalid-policy" ? decision.failure : verdict.failure;
    const retryAt = decision.retry && status !== "stopping" ? clock.now() + decision.delayMs : null;
    const isSpent = !decision.retry && decision.reason === "exhausted" && maxAttempts > 1;
    const closer: CloserTrigger | null = retryAt !== null ? "retry:backoff" : isSpent ? "retry:exhausted" : null;
    const discarded =
      "discarded" in verdict ? { warning: { code: "late_result_discarded", message: "what it returned after its time was up is discarded" } as const } : {};
    lifecycle.must(cell, { type: "failed", failure, retryAt, ...(closer === null ? triggered(timeout) : { trigger: closer }) }, discarded);
  }

  /** An abandoned body has ended after all: that is recorded, and changes nothing else. Source §13.4. */
  #late(attempt: Attempt, settlement: Settlement): void {
    if (this.#leaving.delete(attempt) && this.#leaving.size === 0) this.#allLeft?.();
    if (settlement.type === "abandoned") return;
    this.#orphans.delete(attempt);
    this.#unwatchLoop(attempt);
    const { cell, number } = attempt;
    this.#parts.scheduler.releaseTags(cell.taskId);
    const how = { returned: "returned; what it returned is discarded", threw: "threw", killed: "was killed", died: "died with its carrier" }[settlement.type];
    const failure = settlement.type === "threw" ? failureOf(settlement.error) : createFailure({ kind: "lost", message: "its late end is only for the record" });
    // After a forced retry there may be another.
    const isLast = !this.#orphans.values().some((other) => other.cell.taskId === cell.taskId);
    const warning = { code: "abandoned_body_ended", message: `the abandoned body of attempt ${number} has ended: it ${how}`, failure } as const;
    if (isLast && this.#retriesLost(cell)) this.#retryLost(cell, warning);
    else this.#record(cell.taskId, warning, isLast ? { abandonedBy: null } : {});
    if (isLast && cell.waitsForBody) this.#queueAfterBody(cell);
  }

  /** It was forced back to the queue while its body still ran. */
  #queueAfterBody(cell: Cell): void {
    cell.waitsForBody = false;
    if (cell.snapshot.status === "queued") this.#parts.lifecycle.queue(cell);
  }

  /** A lost task may run again by itself once no body of it runs, where its policy says so and attempts are left. */
  #retriesLost({ snapshot, definition, lostInStop }: Cell): boolean {
    const { status, attempt, maxAttempts, overridden } = snapshot;
    return !this.#closed && status === "lost" && !overridden && !lostInStop && definition.retry.retryLost && attempt < maxAttempts;
  }

  #retryLost(cell: Cell, warning: Parameters<Lifecycle["warn"]>[1]): void {
    const { lifecycle, logger } = this.#parts;
    lifecycle.hold(cell);
    lifecycle.note(cell, { abandonedBy: null }, { warning });
    try {
      const tellRun = cell.place?.reopen(cell, "retryLost");
      lifecycle.must(cell, { type: "retryLost" });
      tellRun?.();
    } catch (refused) {
      // Its run has ended meanwhile: then it stays lost.
      logger.info("a lost task is not run again", { taskId: cell.taskId, reason: failureOf(refused).message });
    }
  }

  /** An attempt, over or not, has left an error that nobody awaited. */
  stray(taskId: string, attempt: number, error: unknown): void {
    const failure = failureOf(error);
    this.#record(taskId, {
      code: "stray_error",
      message: `attempt ${attempt} left a rejection or exception that nobody awaited: ${failure.message}`,
      failure,
    });
  }

  /** A hook of the task, or of the controller for it, has failed. */
  hookFailed(taskId: string, message: string, failure: Failure): void {
    this.#record(taskId, { code: "hook_failed", message, failure });
  }

  #record(taskId: string, warning: Parameters<Lifecycle["warn"]>[1], patch: Parameters<Lifecycle["warn"]>[2] = {}): void {
    this.#parts.lifecycle.warn(taskId, warning, patch).catch((problem: unknown) => {
      const level = warning.code === "stray_error" ? "error" : "warn";
      this.#parts.logger[level](warning.message, { taskId, notRecorded: failureOf(problem).message });
    });
  }

  /** While its body runs: the loop is watched, and carriers that do not beat by themselves are looked at. */
  #watch(cell: Cell, attempt: LiveAttempt): void {
    if (attempt.local) {
      this.#remember(cell.taskId);
      this.#onLoop.add(attempt);
      this.#parts.loopWatch?.begin();
    }
    if (attempt.beatsItself) return;
    this.#quiet.set(attempt, cell);
    this.#beatTimer ??= this.#parts.clock.setTimer(BEAT_MS, () => this.#beatForAll());
  }

  /** A stall is told when the loop turns again, and the task may have ended by then: the last ones are remembered. */
  #remember(taskId: string): void {
    this.#seen.delete(taskId);
    this.#seen.add(taskId);
    const [oldest] = this.#seen;
    if (this.#seen.size > REMEMBERED && oldest !== undefined) this.#seen.delete(oldest);
  }

  #unwatchBeat(attempt: LiveAttempt): void {
    if (!this.#quiet.delete(attempt) || this.#quiet.size > 0) return;
    this.#beatTimer?.cancel();
    this.#beatTimer = null;
  }

  /** Later than the beat where the body was given up on: it still runs on the loop. */
  #unwatchLoop(attempt: LiveAttempt): void {
    if (this.#onLoop.delete(attempt)) this.#parts.loopWatch?.end();
  }

  #beatForAll(): void {
    this.#beatTimer = this.#parts.clock.setTimer(BEAT_MS, () => this.#beatForAll());
    this.#beat([...this.#quiet].filter(([attempt]) => attempt.alive).map(([, cell]) => cell));
  }

  #beat(cells: readonly Cell[]): void {
    if (cells.length === 0) return;
    const { clock, owner, store, logger, lifecycle } = this.#parts;
    const heartbeatAt = clock.now();
    for (const cell of cells) {
      cell.snapshot = { ...cell.snapshot, lastHeartbeatAt: heartbeatAt };
      lifecycle.publish(cell, { type: "TaskHeartbeat", eventId: `${cell.taskId}:beat:${(this.#events += 1)}`, ...headOf(cell.snapshot, heartbeatAt) });
    }
    const touches = cells.map((cell) => ({ taskId: cell.taskId, owner, attempt: cell.snapshot.attempt, heartbeatAt }));
    touched(store, touches).catch((problem: unknown) => {
      logger.warn("heartbeats could not be stored", { tasks: touches.length, problem: failureOf(problem).message });
    });
  }

  #touch(cell: Cell, progress: Progress): void {
    const { store, owner, logger, lifecycle } = this.#parts;
    // The step under way was decided with the row as it was, and would bring that back.
    if (cell.unstored > 0) {
      lifecycle.note(cell, { progress, lastHeartbeatAt: progress.updatedAt });
      return;
    }
    cell.snapshot = { ...cell.snapshot, progress };
    touched(store, [{ taskId: cell.taskId, owner, attempt: cell.snapshot.attempt, progress, heartbeatAt: progress.updatedAt }]).catch((problem: unknown) => {
      logger.warn("progress could not be stored", { taskId: cell.taskId, problem: failureOf(problem).message });
    });
  }
}

const TIMEOUT_TRIGGERS = { timeout_start: "timeout:start", timeout_attempt: "timeout:attempt", timeout_idle: "timeout:idle" } as const satisfies Record<
  FiredTimeout["kind"],
  CloserTrigger
>;

function outcomeOf(value: unknown): { readonly outcome: unknown; readonly outcomeMissing?: string } {
  return value instanceof OutcomeOmitted ? { outcome: undefined, outcomeMissing: value.why } : { outcome: value };
}

/** A timeout is the cause, whatever the body then did. */
function triggered(timeout: FiredTimeout | null): { readonly trigger?: CloserTrigger } {
  return timeout === null ? {} : { trigger: TIMEOUT_TRIGGERS[timeout.kind] };
}

/** A store that throws at once, and not by its promise, must not throw into the body. */
async function touched(store: TaskStore, touches: readonly Touch[]): Promise<void> {
  await store.tasks.touch(touches);
}
