import { userInfo } from "node:os";
import type { Writable } from "node:stream";
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
      for (const signal of SIGNALS) process.on(signal, listener);
      return () => {
        for (const signal of SIGNALS) process.off(signal, listener);
      };
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

/** A user without an entry in the password file has a number only. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid:${process.getuid?.() ?? "unknown"}`;
  }
}
