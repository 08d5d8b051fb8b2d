import type { ErrorRecord } from "../../core/error-record.ts";
import type { LogLevel } from "../../core/events.ts";
import type { ProgressReport } from "../../core/progress.ts";

/** One attempt as it is sent to a carrier: data only, the code is found there by module and name. */
export interface Job {
  readonly taskId: string;
  readonly pipelineRunId: string | null;
  readonly name: string;
  readonly attempt: number;
  readonly fencingToken: number;
  /** The URL of the module that exports the task. */
  readonly module: string;
  readonly args: readonly unknown[];
  /** Epoch milliseconds. */
  readonly deadlineAt: number | null;
  /** The launch is timed: the body begins when it is told to, not before. */
  readonly asksToBegin: boolean;
  /** Signs of life are to be passed on, but not more often than this; `null`: nobody wants them. */
  readonly activeGapMs: number | null;
  /** What an earlier attempt saved. */
  readonly saved?: unknown;
  /** The folder of this attempt's artifacts; made when it is first used. */
  readonly artifacts: string;
}

/** A task that a carrier is to be able to run. */
export interface TaskAddress {
  readonly module: string;
  readonly name: string;
}

/** The answer to a question the body asked. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly error: ErrorRecord };

/** What the supervisor tells a carrier. */
export type ToCarrier =
  | { readonly type: "load"; readonly tasks: readonly TaskAddress[] }
  | { readonly type: "run"; readonly job: Job }
  /** The answer to `ready`: the launch was in time. */
  | { readonly type: "begin" }
  | { readonly type: "stop"; readonly message: string }
  /** `nth` of the attempt's pauses: the answer names it, since an answer to one that was taken back may be on its way. */
  | { readonly type: "pause"; readonly nth: number }
  | { readonly type: "resume" }
  | { readonly type: "deadline"; readonly at: number | null }
  | { readonly type: "answer"; readonly call: number; readonly answer: Answer }
  /** No more work comes: end by yourself. */
  | { readonly type: "retire" };

/** How a body ended. */
export type JobEnd =
  | { readonly type: "returned"; readonly value?: unknown; readonly noticed: boolean }
  | { readonly type: "threw"; readonly error: ErrorRecord; readonly noticed: boolean };

/** What a carrier tells its supervisor. */
export type FromCarrier =
  | { readonly type: "loaded"; readonly error: ErrorRecord | null }
  /** The body is loaded and may begin; then nobody hears `launched`. */
  | { readonly type: "ready" }
  | { readonly type: "launched" }
  | { readonly type: "pauseReached"; readonly nth: number }
  | { readonly type: "stopSeen" }
  | { readonly type: "active" }
  | { readonly type: "beat" }
  | { readonly type: "progress"; readonly report: ProgressReport }
  | { readonly type: "log"; readonly level: LogLevel; readonly message: string; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly type: "emit"; readonly kind: string; readonly payload: unknown }
  | { readonly type: "output"; readonly stream: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "save"; readonly state: unknown }
  /** The attempt's own code is about to end the carrier. */
  | { readonly type: "ending" }
  | { readonly type: "ask"; readonly call: number; readonly node: string }
  | { readonly type: "stray"; readonly taskId: string; readonly attempt: number; readonly error: ErrorRecord }
  | JobEnd;

/** Tells of an error that nobody awaited, of an attempt that its carrier has left behind. */
export type StrayListener = (taskId: string, attempt: number, error: unknown) => void;

/** How a carrier has gone. */
export interface CarrierExit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** What is known of the reason beyond code and signal: `ran out of memory`. */
  readonly reason: string | null;
}
