import type { ExecutionHandle, LaunchRequest, Settlement, TaskBody } from "../../../src/core/ports/executor.ts";

/** A request to launch this body, with everything it reports written down. */
export function launchRequest(run: TaskBody, given: Partial<LaunchRequest> = {}): LaunchRequest & { readonly told: string[] } {
  const told: string[] = [];
  return {
    taskId: "t1",
    pipelineRunId: null,
    name: "subject",
    attempt: 1,
    fencingToken: 0,
    run,
    args: [],
    deadlineAt: () => null,
    startMs: null,
    idleMs: null,
    module: null,
    saved: undefined,
    artifacts: "",
    upstream: async (node) => await Promise.reject(new Error(`no upstream ${node}`)),
    reports: {
      launched: (pid) => void told.push(`launched ${pid}`),
      pauseReached: () => void told.push("paused"),
      active: () => void told.push("active"),
      progress: ({ done }) => void told.push(`progress ${done}`),
      log: (level, message) => void told.push(`${level} ${message}`),
      emit: (kind) => void told.push(`emit ${kind}`),
      stopSeen: () => void told.push("stop seen"),
      beat: () => void told.push("beat"),
      save: () => void told.push("save"),
      stray: () => void told.push("stray"),
    },
    told,
    ...given,
  };
}

/** How a handle stands once everything that needs no time has settled. */
export async function settlementOf(handle: ExecutionHandle): Promise<Settlement | "open"> {
  let settlement: Settlement | "open" = "open";
  void handle.settled.then((value) => (settlement = value));
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  return settlement;
}
