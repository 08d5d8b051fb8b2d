import type { TaskStatusChanged } from "../core/events.ts";
import type { Explanation, Reason, ReasonFact, SlotHolding } from "../core/explanation.ts";
import type { HoldKey } from "../core/holds.ts";
import { NOT_HELD } from "../core/run.ts";
import type { RunSnapshot } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { unreachable } from "../core/unreachable.ts";
import type { SlotOwner, UsedLimit } from "./attempt-slots.ts";
import type { Cell } from "./cell.ts";
import type { Holds } from "./holds.ts";
import type { Lending } from "./lending.ts";
import { reasonText } from "./reason-text.ts";
import type { Scheduler } from "./scheduler.ts";

/** What an explanation is made from. Nothing of it is changed. */
export interface ExplainParts {
  readonly scheduler: Scheduler;
  readonly holds: Holds;
  readonly lending: Lending;
  /** That run, where it is driven here. */
  readonly run: (runId: string) => RunSnapshot | undefined;
  /** That task, where it is in memory: it has not ended, or its abandoned body still runs. */
  readonly task: (taskId: string) => TaskSnapshot | undefined;
  /** Every step of that task, as stored. */
  readonly history: (taskId: string) => Promise<readonly TaskStatusChanged[]>;
  /** Epoch milliseconds. */
  readonly now: number;
}

const START = { kind: "start" } as const satisfies ReasonFact;

/** Of so many holders the names are given. */
const NAMED = 20;

/**
 * Why a task is where it is.
 * @param cell what is held of it in memory; `undefined`: it is not driven here
 */
export async function explain(snapshot: TaskSnapshot, cell: Cell | undefined, parts: ExplainParts): Promise<Explanation> {
  const { taskId, name, node, status } = snapshot;
  const facts = factsOf(snapshot, cell, parts);
  const reasons: Reason[] = [];
  for (const each of facts) {
    const fact = await withPauseReason(each, taskId, parts);
    reasons.push({ ...fact, text: reasonText(fact, parts.now) });
  }
  return { taskId, name, node, status, reasons };
}

/** Why a task was paused is on its record alone. */
async function withPauseReason(fact: ReasonFact, taskId: string, { history }: ExplainParts): Promise<ReasonFact> {
  if (fact.kind !== "paused" && fact.kind !== "pausing" && fact.kind !== "map_hold") return fact;
  const steps = await history(fact.kind === "map_hold" ? fact.taskId : taskId);
  const isPaused = steps.at(-1)?.to === "paused" || steps.at(-1)?.to === "pausing";
  const pause = isPaused ? steps.findLast(({ from, to }) => to === "pausing" || (to === "paused" && from !== "pausing")) : undefined;
  return { ...fact, reason: pause?.reason ?? null };
}

function factsOf(snapshot: TaskSnapshot, cell: Cell | undefined, parts: ExplainParts): readonly ReasonFact[] {
  const { status, pausedBy: by, pausedFrom: from, startedAt: since, attempt, requestedAction: wish, failure } = snapshot;
  switch (status) {
    case "pending":
      return [START, ...heldFacts(snapshot, parts)];
    case "blocked":
      return [...(cell?.place?.inTheWay?.() ?? [START]), ...heldFacts(snapshot, parts)];
    case "queued":
    case "retry_wait":
      return waitFacts(snapshot, cell, parts);
    case "paused":
      return [{ kind: status, by, reason: null, from }];
    case "starting":
      return [{ kind: status, since, attempt }];
    case "running":
      return [{ kind: status, since, attempt }, ...awaitFacts(parts.lending.awaitedBy(snapshot.taskId))];
    case "pausing":
      return [{ kind: status, by, reason: null }];
    case "stopping":
      return [{ kind: status, wish }];
    case "succeeded":
    case "failed":
    case "stopped":
    case "cancelled":
    case "skipped":
    case "lost":
      return [{ kind: "ended", status, failure: failure?.message ?? null, bodyRuns: snapshot.abandonedBy !== null }];
    default:
      return unreachable(status);
  }
}

function awaitFacts(ids: readonly string[]): readonly ReasonFact[] {
  return ids.length === 0 ? [] : [{ kind: "awaits", ids: ids.slice(0, NAMED) }];
}

function waitFacts(snapshot: TaskSnapshot, cell: Cell | undefined, parts: ExplainParts): readonly ReasonFact[] {
  const waiting = parts.scheduler.waitOf(snapshot.taskId);
  if (cell?.waitsForBody === true) return [{ kind: "abandoned_body" }];
  const held = heldFacts(snapshot, parts);
  if (waiting === null) {
    const before = cell?.place?.inTheWay?.() ?? [];
    // An item of a map backs off outside the scheduler, and has no turn meanwhile.
    return snapshot.status === "retry_wait" ? [timeFact(snapshot), ...before.filter(({ kind }) => kind === "map_hold"), ...held] : orTurn([...before, ...held]);
  }
  return waiting.delayed ? [timeFact(snapshot), ...held] : orTurn([...held, ...waiting.limits.map((limit) => limitFact(limit, parts))]);
}

function heldFacts({ name, bucket, tags, pipelineRunId: run }: TaskSnapshot, parts: ExplainParts): readonly ReasonFact[] {
  return parts.scheduler.holdsOf({ name, bucket, tags, run }).flatMap((key) => holdFact(key, parts));
}

function orTurn(facts: readonly ReasonFact[]): readonly ReasonFact[] {
  return facts.length === 0 ? [{ kind: "turn" }] : facts;
}

function timeFact({ status, availableAt, attempt, failure }: TaskSnapshot): ReasonFact {
  const until = availableAt ?? 0;
  return status === "retry_wait" ? { kind: "backoff", until, attempt, failure: failure?.message ?? null } : { kind: "delay", until };
}

function holdFact(key: HoldKey, { holds, run }: ExplainParts): readonly ReasonFact[] {
  if (key.kind === "run") {
    const { pausedBy: by, pauseReason: reason } = run(key.runId) ?? NOT_HELD;
    return [{ kind: "run_hold", runId: key.runId, by, reason }];
  }
  const hold = holds.get(key);
  return hold === undefined ? [] : [{ kind: "hold", hold }];
}

function limitFact({ blocker, limit, held, holders }: UsedLimit, { scheduler, task }: ExplainParts): ReasonFact {
  const used = { limit, held, holders: holders.slice(0, NAMED).map((owner) => holdingOf(owner, task(owner.taskId))) };
  switch (blocker.kind) {
    case "global":
      return { kind: "global_limit", limit, held, queued: scheduler.queuedCount };
    case "tag":
      return { kind: "semaphore", tag: blocker.tag, ...used };
    case "bucket":
      return { kind: "bucket_limit", bucket: blocker.bucket, ...used };
  }
}

function holdingOf({ taskId, abandoned }: SlotOwner, snapshot: TaskSnapshot | undefined): SlotHolding {
  const { name = taskId, node = null, bucketKey = null } = snapshot ?? {};
  return { taskId, name, node, bucketKey, abandoned };
}
