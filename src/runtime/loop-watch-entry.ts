import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import type { Debugger } from "node:inspector";
import { setImmediate as turn } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import { stallLine } from "../core/stall-line.ts";
import { ACTIVE, BEAT, SCOPE_KEY } from "./loop-watch-protocol.ts";
import type { StallReport, WatcherData } from "./loop-watch-protocol.ts";

// The helper thread that watches the main thread's event loop. See loop-watch.ts.
const FRAMES = 8;

const { shared, afterMs, announce } = workerData as WatcherData;
// An inspector session alone does not keep a thread alive.
setInterval(() => undefined, 1 << 30);
await watch();

async function watch(): Promise<never> {
  for (;;) {
    const seen = Atomics.load(shared, BEAT);
    const limitMs = Atomics.load(shared, ACTIVE) === 1 ? afterMs : Number.POSITIVE_INFINITY;
    if (Atomics.wait(shared, BEAT, seen, limitMs) !== "timed-out") {
      await turn();
      continue;
    }
    const report = await look();
    // Nobody's code on the stack is no stall: the loop turns again, or the machine had no CPU for that thread.
    if (report.frames.length > 0) {
      if (announce) writeSync(2, `${stallLine({ ...report, blockedMs: afterMs, place: report.frames[0] })}\n`);
      parentPort?.postMessage(report);
    }
    // Said once for one stall.
    Atomics.wait(shared, BEAT, seen);
  }
}

/** Stops the main thread for a moment, between two of its instructions. In native code it stops when that returns. */
async function look(): Promise<StallReport> {
  const session = new Session();
  const scripts = new Map<string, string>();
  session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.scriptId, params.url));
  const paused = new Promise<Debugger.PausedEventDataType>((resolve) => session.once("Debugger.paused", ({ params }) => resolve(params)));
  session.connectToMainThread();
  try {
    session.post("Debugger.enable");
    session.post("Debugger.pause");
    const { callFrames } = await paused;
    const scope = await scopeOf(session);
    session.post("Debugger.resume");
    return {
      ...scope,
      frames: callFrames
        .map((frame) => frameText(frame, scripts))
        .filter((text) => !text.includes("(node:"))
        .slice(0, FRAMES),
    };
  } finally {
    session.disconnect();
  }
}

/** Asked of the thread and not of a frame: inside Node's own code, and wherever names are hidden, a frame knows no globals. */
async function scopeOf(session: Session): Promise<Pick<StallReport, "taskId" | "name">> {
  const expression = `globalThis[Symbol.for(${JSON.stringify(SCOPE_KEY)})]?.()`;
  const text = await new Promise<unknown>((resolve) => {
    session.post("Runtime.evaluate", { expression, returnByValue: true, silent: true }, (error, answer) =>
      resolve(error === null ? answer.result.value : undefined),
    );
  });
  const scope: unknown = typeof text === "string" ? JSON.parse(text) : null;
  if (typeof scope !== "object" || scope === null || !("taskId" in scope) || !("name" in scope)) return { taskId: null, name: null };
  return { taskId: String(scope.taskId), name: String(scope.name) };
}

function frameText({ functionName, location }: Debugger.CallFrame, scripts: ReadonlyMap<string, string>): string {
  const url = scripts.get(location.scriptId) ?? "unknown";
  return `${functionName === "" ? "<anonymous>" : functionName} (${url}:${location.lineNumber + 1})`;
}
