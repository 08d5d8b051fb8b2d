import { NO_TIMES } from "../core/attempt.ts";
import type { AttemptTimes } from "../core/attempt.ts";
import { formatDuration } from "../core/duration.ts";
import { ConfigurationError, TaskCancelled } from "../core/errors.ts";
import type { LogLevel, TaskEvent } from "../core/events.ts";
import type { By } from "../core/lifecycle-events.ts";
import { DEFAULTS } from "../core/policies/timeout.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { CarrierReports, ExecutionHandle, Executor, LaunchRequest, Settlement } from "../core/ports/executor.ts";
import type { Progress, ProgressReport } from "../core/progress.ts";
import { failureOf } from "../core/thrown.ts";
import type { FiredTimeout } from "../core/verdict.ts";
import { headOf } from "./audit-events.ts";
import type { Cell, LiveAttempt } from "./cell.ts";
import { Deadlines } from "./deadlines.ts";
import type { TimeoutScope } from "./deadlines.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { ProgressThrottle } from "./progress-throttle.ts";

/** What an attempt works with; the same for all attempts of a controller. */
export interface AttemptParts {
  readonly clock: Clock;
  readonly lifecycle: Lifecycle;
  readonly touch: (cell: Cell, progress: Progress) => void;
  readonly beat: (cell: Cell) => void;
  /** The folder of the attempt that the task is in. */
  readonly artifactsOf: (cell: Cell) => string;
  /** The attempt has its verdict to get. */
  readonly settled: (attempt: Attempt, settlement: Settlement) => void;
  /** It was taken out of its task's hands and may still run. */
  readonly detached: (attempt: Attempt) => void;
  /** An abandoned body has ended after all. */
  readonly lateSettled: (attempt: Attempt, settlement: Settlement) => void;
  readonly stray: (attempt: Attempt, error: unknown) => void;
  readonly nextEventNumber: () => number;
}

/** One attempt from its dispatch to its settlement: the carrier, the timers, and what is wished of it. */
export class Attempt implements CarrierReports, LiveAttempt {
  readonly cell: Cell;
  readonly number: number;
  /** When it was asked to stop or pause, and when the body met that. */
  readonly times: { -readonly [Key in keyof AttemptTimes]: AttemptTimes[Key] } = { ...NO_TIMES };
  /** The timeout that has asked the body to end. */
  timeout: FiredTimeout | null = null;
  /** When its body was given up on or taken from its task. */
  orphanedAt: number | null = null;
  readonly #parts: AttemptParts;
  readonly #executor: Executor;
  #handle: ExecutionHandle | null = null;
  #deadlines: Deadlines | null = null;
  #progress: ProgressThrottle | null = null;
  #pauseTimer: Timer | null = null;
  #launched = false;
  #over = false;
  /** What is to happen to a pause as soon as the launch has reported. */
  #atLaunch: { readonly type: "resume" | "pauseTimedOut"; readonly by: By } | null = null;
  #stopWish: { readonly graceMs: number; readonly message: string } | null = null;

  constructor(parts: AttemptParts, cell: Cell, executor: Executor) {
    this.#parts = parts;
    this.cell = cell;
    this.#executor = executor;
    this.number = cell.snapshot.attempt;
    const { timeout } = cell.definition;
    if (timeout.startMs !== null || timeout.attemptMs !== null || timeout.idleMs !== null) {
      this.#deadlines = new Deadlines(parts.clock, timeout, (scope) => this.#timedOut(scope));
    }
  }

  get executor(): string {
    return this.#executor.kind;
  }

  /** Is the body on its carrier, and the carrier there? */
  get alive(): boolean {
    return this.#handle?.running ?? false;
  }

  /** Does its code run on this thread's event loop? */
  get local(): boolean {
    return !this.#executor.supports.syncCheckpoint;
  }

  /** Does its carrier say by itself that it is alive? */
  get beatsItself(): boolean {
    return this.#executor.supports.beats;
  }

  get supportsPause(): boolean {
    return this.#executor.supports.pause;
  }

  /** Hands the attempt to its carrier. A carrier that cannot even be made is a failed attempt. */
  launch(): void {
    // Asked to end before the launch: an inline body would already run by the time it could be told.
    if (this.#stopWish !== null) {
      this.abort(new TaskCancelled(`${this.#stopWish.message}. It had not been launched: nothing ran`));
      return;
    }
    let handle: ExecutionHandle;
    try {
      handle = this.#executor.launch(this.#request());
    } catch (error) {
      this.#end();
      this.#parts.settled(this, { type: "died", failure: failureOf(error) });
      return;
    }
    this.#handle = handle;
    if (this.cell.snapshot.status === "pausing" && this.#atLaunch === null) handle.pause();
    void handle.settled.then((settlement) => this.#settle(handle, settlement));
  }

  /** Ends it before its launch. */
  abort(error: Error): void {
    this.#end();
    this.#parts.settled(this, { type: "threw", error, noticed: true });
  }

  detach(graceMs: number, message: string): void {
    this.stop(graceMs, message);
    // First: what the body had done and not said yet must not reach the row that is no longer its own.
    this.#over = true;
    this.#end();
    this.#parts.detached(this);
    // Never launched: then its end is now.
    if (this.#handle === null) this.#parts.lateSettled(this, { type: "threw", error: new TaskCancelled(message), noticed: true });
  }

  stop(graceMs: number, message: string): void {
    this.#pauseTimer?.cancel();
    this.#deadlines?.end();
    this.times.stopAskedAt ??= this.#parts.clock.now();
    this.#stopWish = { graceMs, message };
    this.#handle?.stop(this.#stopWish);
  }

  pause(timeoutMs: number): void {
    this.#atLaunch = null;
    this.times.pauseAskedAt = this.#parts.clock.now();
    this.times.pauseSeenAt = null;
    this.#handle?.pause();
    this.#pauseTimer?.cancel();
    this.#pauseTimer = this.#parts.clock.setTimer(timeoutMs, () => this.#pauseTimedOut(timeoutMs));
  }

  pauseAfterAll(timeoutMs: number): void {
    if (this.#atLaunch !== null) this.pause(timeoutMs);
  }

  /** Takes a pause back or lets the body go on; before the launch has reported that has to wait for it. */
  resume(by: By): void {
    this.#pauseTimer?.cancel();
    this.#handle?.resume();
    if (this.cell.snapshot.pausedFrom === "starting") {
      this.#atLaunch = { type: "resume", by };
      return;
    }
    this.#parts.lifecycle.must(this.cell, { type: "resume", ...by });
    this.#deadlines?.resumed();
  }

  launched(pid: number | null): void {
    // Said twice by a carrier that is not ours, the first counts. Said after the start timeout has fired, the timeout does.
    if (this.#over || this.#launched || this.timeout !== null) return;
    this.#launched = true;
    this.#parts.lifecycle.must(this.cell, { type: "launched", pid });
    this.#deadlines?.running();
    const waiting = this.#atLaunch;
    this.#atLaunch = null;
    if (waiting === null || this.cell.snapshot.status !== "pausing") return;
    if (waiting.type === "resume") this.#parts.lifecycle.must(this.cell, { type: "resume", ...waiting.by });
    else this.#rollBack("its launch took longer than the pause may take");
  }

  pauseReached(): void {
    if (this.#over || this.cell.snapshot.status !== "pausing") return;
    this.#pauseTimer?.cancel();
    this.times.pauseSeenAt = this.#parts.clock.now();
    // What it had done by then, not what was last worth saying.
    this.#progress?.flush();
    this.#parts.lifecycle.must(this.cell, { type: "pauseReached" });
    this.#deadlines?.paused();
  }

  stopSeen(): void {
    this.times.stopSeenAt ??= this.#parts.clock.now();
  }

  active(): void {
    this.#deadlines?.active();
  }

  beat(): void {
    if (!this.#over) this.#parts.beat(this.cell);
  }

  save(state: unknown): void {
    // Given up on or forced away: what it still says must not reach the next attempt.
    if (!this.#over) this.cell.save(state);
  }

  progress(report: ProgressReport): void {
    if (this.#over) return;
    this.#progress ??= new ProgressThrottle(this.#parts.clock, (progress) => this.#sendProgress(progress));
    this.#progress.report(report);
    this.#deadlines?.active();
  }

  log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#deadlines?.active();
    this.#publish({ type: "TaskLogLine", ...this.#head("log"), level, message, fields });
  }

  emit(kind: string, payload: unknown): void {
    this.#deadlines?.active();
    this.#publish({ type: "TaskOutput", ...this.#head("output"), kind, payload });
  }

  stray(error: unknown): void {
    this.#parts.stray(this, error);
  }

  #publish(event: TaskEvent): void {
    this.#parts.lifecycle.publish(this.cell, event);
  }

  #request(): LaunchRequest {
    const { snapshot, definition, place, args } = this.cell;
    return {
      taskId: snapshot.taskId,
      pipelineRunId: snapshot.pipelineRunId,
      name: snapshot.name,
      attempt: this.number,
      fencingToken: snapshot.fencingToken,
      run: definition.run,
      args: args ?? [],
      deadlineAt: () => this.#deadlineAt(),
      startMs: definition.timeout.startMs,
      idleMs: definition.timeout.idleMs,
      module: definition.module,
      saved: this.cell.saved,
      artifacts: this.#parts.artifactsOf(this.cell),
      upstream: async (node) => await upstreamOf(place, snapshot.name, node),
      reports: this,
    };
  }

  #deadlineAt(): number | null {
    const remainingMs = this.#deadlines?.remainingMs() ?? null;
    return remainingMs === null ? null : this.#parts.clock.now() + remainingMs;
  }

  #settle(handle: ExecutionHandle, settlement: Settlement): void {
    if (settlement.type === "abandoned") void handle.late.then((late) => this.#parts.lateSettled(this, late));
    if (this.#over) {
      this.#parts.lateSettled(this, settlement);
      return;
    }
    this.#end();
    this.#parts.settled(this, settlement);
  }

  #end(): void {
    this.#progress?.flush();
    this.#over = true;
    this.#pauseTimer?.cancel();
    this.#deadlines?.end();
  }

  #timedOut(scope: TimeoutScope): void {
    const limitMs = this.cell.definition.timeout[`${scope}Ms`] ?? 0;
    const what = { start: "the launch took longer than", attempt: "the attempt ran longer than", idle: "the task showed no sign of life for" }[scope];
    this.timeout = { kind: `timeout_${scope}`, message: `${what} ${formatDuration(limitMs)}` };
    this.#pauseTimer?.cancel();
    this.times.stopAskedAt ??= this.#parts.clock.now();
    this.#stopWish = { graceMs: scope === "start" ? 0 : DEFAULTS.timeoutGraceMs, message: this.timeout.message };
    this.#handle?.stop(this.#stopWish);
  }

  #pauseTimedOut(timeoutMs: number): void {
    if (this.cell.snapshot.status !== "pausing") return;
    this.#handle?.resume();
    if (this.#launched) this.#rollBack(`no checkpoint was reached within ${formatDuration(timeoutMs)}`);
    else this.#atLaunch = { type: "pauseTimedOut", by: {} };
  }

  #rollBack(why: string): void {
    const call = this.local ? "await ctx.checkpoint()" : "await ctx.checkpoint(), or call ctx.checkpointSync() where the code is synchronous,";
    const warning = { code: "pause_rolled_back", message: `the pause was taken back: ${why}. The task runs on; ${call} in its loops.` } as const;
    this.#parts.lifecycle.must(this.cell, { type: "pauseTimedOut", reason: why }, { warning });
  }

  #sendProgress(progress: Progress): void {
    if (this.#over) return;
    this.#parts.touch(this.cell, progress);
    this.#publish({ type: "ProgressUpdated", ...this.#head("progress"), progress });
  }

  #head(word: string): { readonly eventId: string } & ReturnType<typeof headOf> {
    const { snapshot } = this.cell;
    return { eventId: `${snapshot.taskId}:${word}:${this.#parts.nextEventNumber()}`, ...headOf(snapshot, this.#parts.clock.now()) };
  }
}

async function upstreamOf(place: Cell["place"], task: string, node: string): Promise<unknown> {
  if (place !== null) return await place.upstream(node);
  throw new ConfigurationError(`ctx.upstream(${JSON.stringify(node)}): task "${task}" runs on its own, not as a node of a pipeline, so it has no upstreams.`);
}
