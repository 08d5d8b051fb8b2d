import type { Clock, Timer } from "../core/ports/clock.ts";
import type { ResolvedTimeoutPolicy } from "../core/policies/timeout.ts";

/** Which timeout. */
export type TimeoutScope = "start" | "attempt" | "idle";

/**
 * The three timeouts of one attempt on one timer, all on the monotonic clock. While paused the attempt and
 * idle clocks stand still. Idle is moved by the task itself, never by a helper's beat. Source §5.5.
 */
export class Deadlines {
  readonly #clock: Clock;
  readonly #policy: ResolvedTimeoutPolicy;
  readonly #fire: (scope: TimeoutScope) => void;
  #startedAt: number;
  #phase: "starting" | "running" | "paused" | "ended" = "starting";
  #runningAt = 0;
  #pausedAt = 0;
  #pausedMs = 0;
  #activeAt = 0;
  #timer: Timer | null = null;

  constructor(clock: Clock, policy: ResolvedTimeoutPolicy, fire: (scope: TimeoutScope) => void) {
    this.#clock = clock;
    this.#policy = policy;
    this.#fire = fire;
    this.#startedAt = clock.monotonic();
    this.#arm();
  }

  /** The body is about to run. */
  running(): void {
    this.#phase = "running";
    this.#runningAt = this.#activeAt = this.#clock.monotonic();
    this.#arm();
  }

  active(): void {
    this.#activeAt = this.#clock.monotonic();
  }

  paused(): void {
    if (this.#phase !== "running") return;
    this.#phase = "paused";
    this.#pausedAt = this.#clock.monotonic();
    this.#arm();
  }

  resumed(): void {
    if (this.#phase !== "paused") return;
    this.#phase = "running";
    const now = this.#clock.monotonic();
    this.#pausedMs += now - this.#pausedAt;
    this.#activeAt = now;
    this.#arm();
  }

  end(): void {
    this.#phase = "ended";
    this.#timer?.cancel();
    this.#timer = null;
  }

  /** How long the attempt may still run, in milliseconds; `null`: for ever. */
  remainingMs(): number | null {
    const { attemptMs } = this.#policy;
    if (attemptMs === null || this.#phase === "starting") return attemptMs;
    return attemptMs - this.#ranMs(this.#clock.monotonic());
  }

  #ranMs(now: number): number {
    const stillMs = this.#phase === "paused" ? now - this.#pausedAt : 0;
    return now - this.#runningAt - this.#pausedMs - stillMs;
  }

  #arm(): void {
    this.#timer?.cancel();
    this.#timer = null;
    const next = this.#next(this.#clock.monotonic());
    if (next === null) return;
    this.#timer = this.#clock.setTimer(Math.max(0, next.inMs), () => this.#check());
  }

  #check(): void {
    this.#timer = null;
    const next = this.#next(this.#clock.monotonic());
    if (next === null) return;
    if (next.inMs > 0) return this.#arm();
    this.end();
    this.#fire(next.scope);
  }

  #next(now: number): { readonly scope: TimeoutScope; readonly inMs: number } | null {
    const { startMs, attemptMs, idleMs } = this.#policy;
    if (this.#phase === "starting") return startMs === null ? null : { scope: "start", inMs: startMs - (now - this.#startedAt) };
    if (this.#phase !== "running") return null;
    const attempt = attemptMs === null ? null : { scope: "attempt" as const, inMs: attemptMs - this.#ranMs(now) };
    const idle = idleMs === null ? null : { scope: "idle" as const, inMs: idleMs - (now - this.#activeAt) };
    if (attempt === null || idle === null) return attempt ?? idle;
    return idle.inMs < attempt.inMs ? idle : attempt;
  }
}
