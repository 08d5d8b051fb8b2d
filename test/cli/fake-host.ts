import { Writable } from "node:stream";
import type { Host, OutputStream } from "../../src/cli/host.ts";
import { Stage } from "../../src/cli/stage.ts";

/** A stream that keeps what is written; with a size it passes for a terminal. */
export function fakeStream(size?: { columns: number; rows: number }): OutputStream & { readonly text: () => string } {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString("utf8");
      done();
    },
  });
  return Object.assign(stream, { text: () => text, ...(size === undefined ? {} : { isTTY: true, ...size }) });
}

/** A process that is none: what it was told is kept. */
export interface FakeHost extends Host {
  readonly stdout: ReturnType<typeof fakeStream>;
  readonly stderr: ReturnType<typeof fakeStream>;
  /** The codes it was told to leave with, in a hurry. */
  readonly left: readonly number[];
  /** Sends a signal. */
  signal(name: string): void;
}

/** Stands in for the process in tests that need none of their own. */
export function fakeHost(options: Partial<Pick<Host, "env" | "cwd" | "loadLimitMs">> & { readonly size?: { columns: number; rows: number } } = {}): FakeHost {
  const left: number[] = [];
  const listeners = new Set<(signal: string) => void>();
  return {
    stdout: fakeStream(options.size),
    stderr: fakeStream(),
    env: options.env ?? {},
    cwd: options.cwd ?? import.meta.dirname,
    user: "tester",
    loadLimitMs: options.loadLimitMs ?? 10_000,
    stage: new Stage(),
    left,
    onSignal(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onCrash: () => () => {},
    leaveSoon() {},
    leaveNow: (exitCode) => void left.push(exitCode),
    signal(name) {
      for (const listener of listeners) listener(name);
    },
  };
}
