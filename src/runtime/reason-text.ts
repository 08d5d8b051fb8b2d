import { formatDuration } from "../core/duration.ts";
import type { ReasonFact, SlotHolding, UpstreamWait, UsedUp } from "../core/explanation.ts";
import { holdTargetText } from "../core/holds.ts";
import type { Hold } from "../core/holds.ts";
import { shortId } from "../core/ids.ts";
import type { Join } from "../core/join.ts";
import type { PausedFrom } from "../core/snapshot.ts";
import { toPrintable } from "../core/printable.ts";
import { unreachable } from "../core/unreachable.ts";

const MAX_TEXT = 4_000;

/** The reason in words, one line, whatever people and errors have said. */
export function reasonText(fact: ReasonFact, now: number): string {
  return toPrintable(wordsOf(fact, now), MAX_TEXT).replaceAll(/\s*[\n\t]\s*/g, " ");
}

function wordsOf(fact: ReasonFact, now: number): string {
  switch (fact.kind) {
    case "start":
      return 'it is not started: it waits for "start"';
    case "upstream":
      return upstreamText(fact.join, fact.open, fact.nodes);
    case "delay":
      return `it is not to start before ${instantText(fact.until, now)}`;
    case "backoff":
      return `attempt ${fact.attempt} failed${fact.failure === null ? "" : ` (${fact.failure})`}, and the next one is due at ${instantText(fact.until, now)}`;
    case "hold":
      return holdText(fact.hold);
    case "run_hold":
      return `its run was paused${byWhom(fact)}; nothing of it is started until the run is resumed`;
    case "global_limit":
      return `all slots are taken, ${fact.held} of ${fact.limit} (maxParallel), and ${fact.queued} ${fact.queued === 1 ? "task waits" : "tasks wait"} for one`;
    case "semaphore":
      return `the semaphore ${JSON.stringify(fact.tag)} is used up, ${usedUpText(fact)}`;
    case "bucket_limit":
      return `bucket ${fact.bucket} is full (perBucket), ${usedUpText(fact, holderWithKey)}`;
    case "map_limit":
      return fact.limit === null ? `the map "${fact.map}" lets none of its items go now` : `the map "${fact.map}" lets ${fact.limit} of its items go at once`;
    case "map_hold":
      return `the map "${fact.map}" was paused${byWhom(fact)}; none of its items is started until the map is resumed`;
    case "abandoned_body":
      return "the body that it was forced away from still runs: it is begun when that has ended";
    case "turn":
      return "nothing is in its way: it is begun at once";
    case "paused":
      return `it was paused by ${fact.by ?? "somebody"} ${PAUSED_WHEN[fact.from ?? "running"]}${why(fact.reason)}`;
    case "starting":
      return `attempt ${fact.attempt} is being launched${sinceText(fact.since, now)}`;
    case "running":
      return `attempt ${fact.attempt} runs${sinceText(fact.since, now)}`;
    case "awaits":
      return `it waits for ${fact.ids.join(", ")}, and has lent its slot meanwhile`;
    case "pausing":
      return `it runs, and was asked to pause by ${fact.by ?? "somebody"}: it does so at its next checkpoint${why(fact.reason)}`;
    case "stopping":
      return `it was asked to ${fact.wish ?? "stop"}, and has not ended yet`;
    case "ended":
      return `it has ended ${fact.status}${fact.failure === null ? "" : `: ${fact.failure}`}${fact.bodyRuns ? "; its abandoned body may still run" : ""}`;
    default:
      return unreachable(fact);
  }
}

const PAUSED_WHEN = {
  queued: "before it was begun",
  retry_wait: "between two attempts",
  starting: "in the middle of its work",
  running: "in the middle of its work",
} as const satisfies Record<PausedFrom, string>;

function upstreamText(join: Join, open: number, nodes: readonly UpstreamWait[]): string {
  const named = nodes.map(({ node, status }) => `"${node}" (${status})`).join(", ");
  if (open === 0) return `what is upstream has ended otherwise than it needs (${join}): ${named === "" ? "retry or skip it, or start this" : named}`;
  const more = open > nodes.length ? ` and ${open - nodes.length} more` : "";
  return `it waits for ${open} ${open === 1 ? "node" : "nodes"} upstream (${join}): ${named}${more}`;
}

function holdText(hold: Hold): string {
  return `${holdTargetText(hold)} is held by ${hold.actor}${why(hold.reason)}`;
}

function byWhom({ by, reason }: { readonly by: string | null; readonly reason: string | null }): string {
  return `${by === null ? "" : ` by ${by}`}${why(reason)}`;
}

function why(reason: string | null): string {
  return reason === null ? "" : `: ${reason}`;
}

function usedUpText({ limit, held, holders }: UsedUp, textOf: (holder: SlotHolding) => string = holderText): string {
  return `${held} of ${limit}: ${holders.map((holder) => textOf(holder)).join(", ")}${held > holders.length ? ", …" : ""}`;
}

function holderText({ taskId, name, node, abandoned }: SlotHolding, key = ""): string {
  return `${node ?? name} (${shortId(taskId)}${key}${abandoned ? ", its abandoned body" : ""})`;
}

function holderWithKey(holder: SlotHolding): string {
  const { bucketKey, taskId } = holder;
  return holderText(holder, bucketKey === null || bucketKey === taskId ? "" : `, key ${JSON.stringify(bucketKey)}`);
}

function sinceText(since: number | null, now: number): string {
  return since === null ? "" : `, for ${formatDuration(Math.max(0, now - since))}`;
}

function instantText(instant: number, now: number): string {
  const left = instant - now;
  return `${new Date(instant).toISOString()} (${left > 0 ? `in ${formatDuration(left)}` : "now"})`;
}
