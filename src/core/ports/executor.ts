import type { LogLevel } from "../events.ts";
import type { Failure } from "../failure.ts";
import type { ProgressReport } from "../progress.ts";
import type { TaskContext } from "./task-context.ts";

/** Where a task's code runs. Source §13. */
export type ExecutorKind = "inline" | "async" | "thread" | "process";

/** What a carrier can do: positive facts, asked before a verb is promised. */
export interface ExecutorSupports {
  /** The task can be held at a checkpoint. */
  readonly pause: boolean;
  /** A body that does not listen can be ended for certain. */
  readonly kill: boolean;
  /** Closures and arguments by reference. */
  readonly closures: boolean;
  /** Synchronous code in a loop blocks nobody else, and `checkpointSync` reaches it. */
  readonly syncCheckpoint: boolean;
  /** The carrier itself says that it is alive; else the supervisor looks. */
  readonly beats: boolean;
}

/** The body of a task as the executor calls it: the context first. */
export type TaskBody = (context: TaskContext, ...args: readonly unknown[]) => unknown;

/** What the carrier and its body tell their supervisor. Each call is quick and never throws. */
export interface CarrierReports {
  /** User code is about to run. A launch that fails never says so: it settles. */
  launched(pid: number | null): void;
  /** A checkpoint holds the body. */
  pauseReached(): void;
  /** The body has met a stop: a checkpoint threw, or its signal was aborted. */
  stopSeen(): void;
  /** Moved by the task itself: it is not idle. */
  active(): void;
  /** The carrier is alive; says nothing about the task. */
  beat(): void;
  progress(report: ProgressReport): void;
  log(level: LogLevel, message: string, fields: Readonly<Record<string, unknown>>): void;
  emit(kind: string, payload: unknown): void;
  /** What the next attempt is to go on from. */
  save(state: unknown): void;
  /** A rejection or exception of the body's that nobody awaited, during the attempt or after it. */
  stray(error: unknown): void;
}

/** One attempt to be carried. */
export interface LaunchRequest {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  readonly name: string;
  readonly attempt: number;
  readonly fencingToken: number;
  readonly run: TaskBody;
  /** The URL of the module that exports the task; `null`: it can only run in this process. */
  readonly module: string | null;
  readonly args: readonly unknown[];
  /** When this attempt must have ended, epoch milliseconds; read anew each time, since pauses move it. */
  readonly deadlineAt: () => number | null;
  /**
   * How long the launch may take; `null`: nobody counts. Where `launched` takes a way, the body begins only once that has been
   * said and no stop was asked: a task that is told to have been too late has then not run.
   */
  readonly startMs: number | null;
  /** So long without a sign of life and the task counts as idle; `null`: nobody counts, and none need be reported. */
  readonly idleMs: number | null;
  /** What an earlier attempt saved; `undefined`: nothing. */
  readonly saved: unknown;
  /** The folder of this attempt's artifacts; made when it is first used. */
  readonly artifacts: string;
  /** The value of an upstream node, by name. */
  readonly upstream: (node: string) => Promise<unknown>;
  readonly reports: CarrierReports;
}

/** How an attempt ended. `noticed`: the body may have seen that it was to stop. Source §13.6. */
export type Settlement =
  | { readonly type: "returned"; readonly value: unknown; readonly noticed: boolean }
  | { readonly type: "threw"; readonly error: unknown; readonly noticed: boolean }
  /** The carrier was ended by force at the end of the grace. */
  | { readonly type: "killed"; readonly exitCode: number | null; readonly signal: string | null }
  /** The carrier ended by itself without a verdict. */
  | { readonly type: "died"; readonly failure: Failure }
  /** The grace is used up and the body cannot be killed: it still runs. */
  | { readonly type: "abandoned" };

/** Why a body is asked to end. */
export interface StopRequest {
  readonly graceMs: number;
  /** What the checkpoint's error says. */
  readonly message: string;
}

/** The carrier of one attempt. It owns the token, the heartbeat and the carrier itself. Source §13.4. */
export interface ExecutionHandle {
  /** Does the body still run? True for an abandoned one, too. */
  readonly running: boolean;
  readonly pid: number | null;
  /** Resolves once with the attempt's end; sticky: what comes later changes nothing. Never rejects. */
  readonly settled: Promise<Settlement>;
  /** Resolves when an abandoned body has ended after all, with what it would have been. Never rejects. */
  readonly late: Promise<Settlement>;
  /** The next checkpoint is to hold the body. */
  pause(): void;
  /** Takes the pause back, or lets the body go on. */
  resume(): void;
  /** Asks, waits for the grace, then does what the carrier can. Asked again, the earlier deadline holds. */
  stop(request: StopRequest): void;
}

/** A task that an executor is to carry, as its definition says. */
export interface CarriedTask {
  readonly name: string;
  readonly module: string | null;
}

/** A kind of carrier. Source §5.4, §13. */
export interface Executor {
  readonly kind: string;
  readonly supports: ExecutorSupports;
  /**
   * Called once on opening with the tasks registered for it: refuses what it could never run
   * (`ConfigurationError`), and may warm itself up.
   */
  prepare?(tasks: readonly CarriedTask[]): Promise<void>;
  launch(request: LaunchRequest): ExecutionHandle;
  close(): Promise<void>;
}
