import type { Controller } from "../api/controller.ts";
import type { StopOptions } from "../api/options.ts";
import type { RunHandle } from "../api/run-handle.ts";
import { countStatuses, firstFailure } from "../api/run-summary.ts";
import type { TaskHandle } from "../api/task-handle.ts";
import { ConfigurationError, TaskError } from "../core/errors.ts";
import type { TaskEvent } from "../core/events.ts";
import { isRunTerminal } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { failureOf } from "../core/thrown.ts";
import { isTerminal } from "../core/transitions.ts";
import type { Target } from "./catalogue.ts";
import { exitCodeOfRun, exitCodeOfTask } from "./exit-codes.ts";
import type { EndSummary } from "./output/summary.ts";

/** What `run` drives: a run of a pipeline, or a task on its own. */
export interface Job {
  stop(options: StopOptions): Promise<unknown>;
  /** Its tasks as stored, in pages. */
  snapshots(): AsyncIterable<readonly TaskSnapshot[]>;
  /** One of its tasks as stored. */
  snapshot(taskId: string): Promise<TaskSnapshot>;
  /** Resolves with how it has ended, from what is stored. */
  ended(): Promise<EndSummary>;
  /** Is this the last event of it? */
  isLast(event: TaskEvent): boolean;
}

/** What is to be run, and how. */
export interface JobOrder {
  readonly target: Target;
  readonly args: readonly unknown[];
  readonly priority: number | undefined;
}

/**
 * Starts it.
 * @throws ConfigurationError also for what a pipeline's own build throws: the arguments are to blame more often than not
 */
export async function startJob(controller: Controller, { target, args, priority }: JobOrder): Promise<Job> {
  const options = priority === undefined ? {} : { priority };
  if (target.kind === "task") return taskJob(await controller.submit(target.task.name, args, options));
  try {
    return runJob(controller, await controller.startRun(target.pipeline.name, args, options));
  } catch (error) {
    if (error instanceof TaskError) throw error;
    throw buildFailed(target.pipeline.name, args, error);
  }
}

/** The error of a pipeline whose own code threw while it was built. */
export function buildFailed(pipeline: string, args: readonly unknown[], error: unknown): ConfigurationError {
  const { name, message } = failureOf(error);
  const hint = args.length === 0 ? " It was given no arguments: see --args and --arg." : "";
  return new ConfigurationError(`pipeline ${JSON.stringify(pipeline)} could not be built: ${name}: ${message}.${hint}`, { cause: error });
}

function taskJob(handle: TaskHandle<unknown>): Job {
  return {
    stop: async (options) => await handle.stop(options),
    snapshot: async () => await handle.snapshot(),
    async *snapshots() {
      yield [await handle.snapshot()];
    },
    async ended() {
      const snapshot = await handle.wait({ timeout: "none" });
      const { taskId, name, status, createdAt, endedAt, attempt, maxAttempts, outcome, outcomeMissing } = snapshot;
      return {
        kind: "task",
        id: taskId,
        name,
        status,
        total: 1,
        counts: countStatuses([snapshot]),
        maps: [],
        startedAt: createdAt,
        endedAt: endedAt ?? createdAt,
        attempt,
        maxAttempts,
        firstFailure: firstFailure([{ snapshot, below: () => [] }]),
        outcome,
        outcomeMissing,
        exitCode: exitCodeOfTask(status),
      };
    },
    isLast: (event) => event.type === "TaskStatusChanged" && event.taskId === handle.id && isTerminal(event.to),
  };
}

function runJob(controller: Controller, handle: RunHandle): Job {
  return {
    stop: async (options) => await handle.stop(options),
    snapshot: async (taskId) => await controller.get(taskId),
    async *snapshots() {
      for (let cursor: string | null = null, more = true; more; more = cursor !== null) {
        const page: Awaited<ReturnType<Controller["list"]>> = await controller.list({
          pipelineRunId: handle.id,
          limit: 1_000,
          ...(cursor === null ? {} : { cursor }),
        });
        cursor = page.cursor;
        yield page.items;
      }
    },
    async ended() {
      const { createdAt, startedAt, endedAt } = await handle.wait({ timeout: "none" });
      const { runId, name, status, total, counts, maps, firstFailure: chain } = handle.summary();
      return {
        kind: "run",
        id: runId,
        name,
        status,
        total,
        counts,
        maps,
        startedAt: startedAt ?? createdAt,
        endedAt: endedAt ?? createdAt,
        attempt: null,
        maxAttempts: null,
        firstFailure: chain,
        outcome: undefined,
        outcomeMissing: null,
        exitCode: exitCodeOfRun(status, counts),
      };
    },
    isLast: (event) => event.type === "PipelineRunStatusChanged" && event.pipelineRunId === handle.id && isRunTerminal(event.to),
  };
}
