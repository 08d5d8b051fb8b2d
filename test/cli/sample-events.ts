import { NO_TIMES } from "../../src/core/attempt.ts";
import type { TaskEvent } from "../../src/core/events.ts";
import type { TaskStatus } from "../../src/core/status.ts";

/** What every event of that node says. */
export function base(name: string): { taskId: string; eventId: string; pipelineRunId: string; node: string; name: string; at: number } {
  return { taskId: `id-${name}`, eventId: "", pipelineRunId: "run", node: name, name, at: Date.now() };
}

/** A step of that node. */
export function step(name: string, from: TaskStatus, to: TaskStatus): TaskEvent {
  return {
    ...base(name),
    type: "TaskStatusChanged",
    kind: "transition",
    from,
    to,
    trigger: "t",
    actor: "a",
    reason: null,
    statusVersion: 1,
    attempt: 1,
    epoch: 0,
    commandId: null,
  };
}

/** An attempt of that node began. */
export function began(name: string, executor: string | null = null): TaskEvent {
  const attempt = {
    taskId: "",
    epoch: 0,
    attempt: 1,
    executor,
    pid: null,
    owner: null,
    startedAt: Date.now(),
    endedAt: null,
    durationMs: null,
    endedAs: null,
    failure: null,
    ...NO_TIMES,
    forced: false,
  };
  return { ...base(name), type: "AttemptStarted", attempt };
}

/** That node has come so far. */
export function progress(name: string, done: number, total: number, unit = "rows"): TaskEvent {
  return { ...base(name), type: "ProgressUpdated", progress: { done, total, unit, message: null, updatedAt: Date.now() } };
}
