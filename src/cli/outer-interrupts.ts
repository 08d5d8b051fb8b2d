import { EXIT_CODES } from "./exit-codes.ts";
import type { Host } from "./host.ts";
import { ECHO_MS } from "./interrupts.ts";

/**
 * The signals before a session and after it; within one they are the session's own. Before it the first ends the
 * process. After it the code is known and stays: the first only hastens the leaving, and what is written is still
 * waited for; the next does not wait for the reader either.
 * @returns how to leave with the final code
 */
export function watchOuterInterrupts(host: Host): (exitCode: number) => void {
  const { stage } = host;
  let hastenedAtMs: number | null = null;
  let leavesWith: number | null = null;
  host.onSignal((signal) => {
    if (stage.isStarting) {
      host.stderr.write(`chongming: interrupted by ${signal} before anything began\n`);
      stage.settle(EXIT_CODES.stopped);
      host.leaveNow(EXIT_CODES.stopped);
      return;
    }
    const exitCode = leavesWith ?? stage.exitCode;
    if (exitCode === null) return;
    const nowMs = performance.now();
    if (hastenedAtMs === null) {
      hastenedAtMs = nowMs;
      if (leavesWith !== null) host.leaveSoon(exitCode, { lingers: false });
    } else if (nowMs - hastenedAtMs >= ECHO_MS) host.leaveNow(exitCode);
  });
  return (exitCode) => {
    leavesWith = exitCode;
    host.leaveSoon(exitCode, { lingers: hastenedAtMs === null });
  };
}
