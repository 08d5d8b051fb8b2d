import { userInfo } from "node:os";
import type { Writable } from "node:stream";
import { EXIT_CODES } from "./exit-codes.ts";
import { leaveNow, leaveSoon } from "./leave.ts";

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
  /** Calls back for each SIGINT, SIGTERM and SIGHUP, which then no longer end the process by themselves. */
  onSignal(listener: (signal: string) => void): () => void;
  /** Calls back for what nobody caught, in place of the process's own crash. */
  onCrash(listener: (error: unknown) => void): () => void;
  /** The work is done: what user code left open does not keep the process. */
  leaveSoon(exitCode: number): void;
  /** Ends the process as soon as what was written is out, and in any case very soon. */
  leaveNow(exitCode: number): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** This process. */
export function processHost(): Host {
  const { stdout, stderr, env } = process;
  const listeners = new Set<(signal: string) => void>();
  const hold = holdSignals(listeners, () => leaveNow([stdout, stderr], EXIT_CODES.interrupted));
  return {
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    get user() {
      return userName();
    },
    loadLimitMs: 30_000,
    onSignal(listener) {
      listeners.add(listener);
      hold();
      return () => void listeners.delete(listener);
    },
    onCrash(listener) {
      // The last to come is called first: a view gives the terminal back before anything is printed.
      process.prependListener("uncaughtException", listener);
      return () => void process.off("uncaughtException", listener);
    },
    leaveSoon: (exitCode) => leaveSoon([stdout, stderr], exitCode),
    leaveNow: (exitCode) => leaveNow([stdout, stderr], exitCode),
  };
}

/**
 * From the first call on the signals are ours to the very end of the process. A signal may still be pending when
 * the last listener goes; what else listens (`signal-exit`, which restores the cursor) would then take it for a
 * deadly one, and a verdict would become 130. When nobody listens any more, the first is ignored, the next insists.
 */
function holdSignals(listeners: ReadonlySet<(signal: string) => void>, insist: () => void): () => void {
  let isHeld = false;
  let ignored = 0;
  const take = (signal: string): void => {
    for (const listener of listeners) listener(signal);
    if (listeners.size > 0) return;
    ignored += 1;
    if (ignored > 1) insist();
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
