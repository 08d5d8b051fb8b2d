import { userInfo } from "node:os";
import type { Writable } from "node:stream";
import { leaveNow, leaveSoon } from "./leave.ts";
import { Stage } from "./stage.ts";
import { watchExit } from "./watch-exit.ts";

/** Where text goes: a terminal says so, and how large it is. */
export type OutputStream = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number };

/** All that the command line needs of the process it runs in, so that a test can stand in for it. */
export interface Host {
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Who asks, for the audit: the operating system's user. */
  readonly user: string;
  /** How long a module may take to load, in milliseconds. */
  readonly loadLimitMs: number;
  /** How far it has come. */
  readonly stage: Stage;
  /** Calls back for each SIGINT, SIGTERM and SIGHUP, which then no longer end the process by themselves. */
  onSignal(listener: (signal: string) => void): () => void;
  /** Calls back for what nobody caught, in place of the process's own crash; what a task let escape is that task's. */
  onCrash(listener: (error: unknown) => void): () => void;
  /** The work is done: what user code left open does not keep the process, and is given a moment only where it `lingers`. */
  leaveSoon(exitCode: number, options: { readonly lingers: boolean }): void;
  /** Ends the process as soon as what was written is out, and in any case very soon. */
  leaveNow(exitCode: number): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** This process. */
export function processHost(): Host {
  const { stdout, stderr, env } = process;
  const listeners = new Set<(signal: string) => void>();
  const hold = holdSignals(listeners);
  const stage = new Stage();
  // The first word counts: what is finished while the process is made to leave does not change it.
  let leavesWith: number | null = null;
  let isInHaste = false;
  watchExit(
    () => leavesWith ?? stage.exitCode,
    () => isInHaste || stdout.destroyed || stdout.writableLength === 0,
  );
  return {
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    get user() {
      return userName();
    },
    loadLimitMs: 30_000,
    stage,
    onSignal(listener) {
      listeners.add(listener);
      hold();
      return () => void listeners.delete(listener);
    },
    onCrash(listener) {
      // The last to come is called first: a view gives the terminal back before anything is printed.
      const outsideTasks = (error: unknown): void => {
        if (!stage.isTasks) listener(error);
      };
      process.prependListener("uncaughtException", outsideTasks);
      return () => void process.off("uncaughtException", outsideTasks);
    },
    leaveSoon: (exitCode, { lingers }) => leaveSoon([stdout, stderr], (leavesWith ??= exitCode), lingers),
    leaveNow(exitCode) {
      isInHaste = true;
      leaveNow([stdout, stderr], (leavesWith ??= exitCode));
    },
  };
}

/**
 * From the first call on the signals are ours to the very end of the process. One may still be pending when the
 * last listener goes; what else listens (`signal-exit`, which restores the cursor) would then take it for a deadly
 * one, and a verdict would become 130.
 */
function holdSignals(listeners: ReadonlySet<(signal: string) => void>): () => void {
  let isHeld = false;
  const take = (signal: string): void => {
    for (const listener of listeners) listener(signal);
  };
  return () => {
    if (isHeld) return;
    isHeld = true;
    for (const signal of SIGNALS) process.on(signal, take);
  };
}

/** A user without an entry in the password file has a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid:${process.getuid?.() ?? "unknown"}`;
  }
}
