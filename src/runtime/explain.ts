import type { Explanation, ReasonFact } from "../core/explanation.ts";
import type { HoldKey } from "../core/holds.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { unreachable } from "../core/unreachable.ts";
import type { UsedLimit } from "./attempt-slots.ts";
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
  /** Who has paused that run. */
  readonly pausedBy: (runId: string) => string | null;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Of so many holders the names are given. */
const NAMED = 20;

/**
 * Why a task is where it is.
 * @param cell what is held of it in memory; `undefined`: it is not driven here
 */
export function explain(snapshot: TaskSnapshot, cell: Cell | undefined, parts: ExplainParts): Explanation {
  const { taskId, name, node, status } = snapshot;
  const reasons = factsOf(snapshot, cell, parts).map((fact) => ({ ...fact, text: reasonText(fact, parts.now) }));
  return { taskId, name, node, status, reasons };
}

function factsOf(snapshot: TaskSnapshot, cell: Cell | undefined, parts: ExplainParts): readonly ReasonFact[] {
  const { status, pausedBy: by, pausedFrom: from, startedAt: since, attempt, requestedAction: wish, failure } = snapshot;
  switch (status) {
    case "pending":
      return [{ kind: "start" }];
    case "blocked":
      return cell?.place?.inTheWay?.() ?? [{ kind: "start" }];
    case "queued":
    case "retry_wait":
      return waitFacts(snapshot, cell, parts);
    case "paused":
      return [{ kind: status, by, from }];
    case "starting":
      return [{ kind: status, since, attempt }];
    case "running":
      return [{ kind: status, since, attempt }, ...awaitFacts(parts.lending.awaitedBy(snapshot.taskId))];
    case "pausing":
      return [{ kind: status, by }];
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
  // An item of a map backs off outside the scheduler.
  if (waiting === null && snapshot.status === "retry_wait") return [timeFact(snapshot)];
  if (waiting === null) return orTurn(cell?.place?.inTheWay?.() ?? []);
  const held = waiting.holds.flatMap((key) => holdFact(key, parts));
  if (waiting.delayed) return [timeFact(snapshot), ...held];
  const facts = [...held, ...waiting.limits.map((limit) => limitFact(limit, parts.scheduler.queuedCount))];
  return orTurn(facts);
}

function orTurn(facts: readonly ReasonFact[]): readonly ReasonFact[] {
  return facts.length === 0 ? [{ kind: "turn" }] : facts;
}

function timeFact({ status, availableAt, attempt, failure }: TaskSnapshot): ReasonFact {
  const until = availableAt ?? 0;
  return status === "retry_wait" ? { kind: "backoff", until, attempt, failure: failure?.message ?? null } : { kind: "delay", until };
}

function holdFact(key: HoldKey, { holds, pausedBy }: ExplainParts): readonly ReasonFact[] {
  if (key.kind === "run") return [{ kind: "run_hold", runId: key.runId, by: pausedBy(key.runId) }];
  const hold = holds.get(key);
  return hold === undefined ? [] : [{ kind: "hold", hold }];
}

function limitFact({ blocker, limit, held, holders }: UsedLimit, queued: number): ReasonFact {
  const used = { limit, held, holders: holders.slice(0, NAMED) };
  switch (blocker.kind) {
    case "global":
      return { kind: "global_limit", limit, held, queued };
    case "tag":
      return { kind: "semaphore", tag: blocker.tag, ...used };
    case "bucket":
      return { kind: "bucket_limit", bucket: blocker.bucket, ...used };
  }
}
