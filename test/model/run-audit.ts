import type { Join, PipelineRunStatusChanged, TaskEvent, TaskStatusChanged } from "../../src/index.ts";
import type { Policy } from "./dag-plan.ts";
import { verdictOver } from "./dag-plan.ts";
import { isOver } from "./rules.ts";

/** A node as the audit knows it. */
export interface AuditedNode {
  readonly name: string;
  readonly deps: readonly string[];
  readonly join: Join;
  readonly onUpstreamFailure: "cancel" | "skip";
  readonly hasCondition: boolean;
  /** A map that fails with the first of its items. */
  readonly failsByItem: boolean;
}

type Saying = "wait" | "ready" | "condition_false" | "dependency_failed";

interface Place {
  readonly node: AuditedNode;
  /** As it counts for those below it. */
  status: string;
  /** It has not been let go, nor ended, since it last waited. */
  isWaiting: boolean;
  /** A person has begun it anew: it waits for them and for no join. */
  isInHands: boolean;
  /** It runs because somebody wants it to, whatever the policy has ended. */
  isWanted: boolean;
  /** Under fail-fast it counts as failed from its first failed item on, before it has ended. */
  isFailing: boolean;
}

/**
 * Reads what was published of one run, in order, and says which step its wiring did not allow, whoever
 * interfered with it. At rest, `owed` says what should have happened and has not.
 */
export class RunAudit {
  readonly wrong: string[] = [];
  readonly #runId: string;
  readonly #policy: Policy;
  readonly #places: ReadonlyMap<string, Place>;
  #status = "pending";
  /** The rest is being ended: nothing is let go. */
  #isClosing = false;
  /** Something was begun again: that is a wish, and what is on record already sets no policy off. */
  #isRevived = false;
  /** A node has failed or was lost since the run began, or was begun again. */
  #hasFailed = false;

  constructor(runId: string, nodes: readonly AuditedNode[], policy: Policy) {
    this.#runId = runId;
    this.#policy = policy;
    this.#places = new Map(nodes.map((node) => [node.name, { node, status: "pending", isWaiting: true, isInHands: false, isWanted: false, isFailing: false }]));
  }

  read(event: TaskEvent): void {
    if (event.pipelineRunId !== this.#runId) return;
    if (event.type === "PipelineRunStatusChanged") this.#runStep(event);
    if (event.type === "TaskStatusChanged") this.#step(event);
  }

  /** Everything has come to rest: which of it should not have? */
  owed(): readonly string[] {
    const open = [...this.#places.values()].filter(({ status }) => !isEnd(status));
    if (open.length === 0 && !isEnd(this.#status)) return [`the run is ${this.#status}, and all of its nodes have ended`];
    if (this.#isClosing) return [];
    const owed = open.filter((place) => place.isWaiting && !place.isInHands && this.#saysOf(place) !== "wait");
    return [...owed.map(({ node, status }) => `${node.name} is still ${status}`), ...this.#policyOwed()];
  }

  #policyOwed(): readonly string[] {
    const statuses = this.#statuses();
    if (this.#hasFailed && this.#policy.kind === "failFast" && statuses.some((status) => !isEnd(status))) return ["a node has failed, and the run goes on"];
    return this.#policy.kind === "quorum" && !this.#isRevived && this.#outOfReach(statuses) && statuses.some((status) => !isEnd(status))
      ? ["the quorum is out of reach"]
      : [];
  }

  #step(step: TaskStatusChanged): void {
    if (step.node?.includes("[") === true) return this.#itemStep(step);
    const place = this.#places.get(step.node ?? "");
    if (place === undefined) return void this.wrong.push(`there is no node ${step.node}`);
    const why = this.#whyWrong(place, step);
    if (why !== null) this.wrong.push(`${place.node.name} became ${step.to} (${step.trigger}): ${why}`);
    place.status = step.trigger === "user:skip" ? "succeeded" : step.to;
    if (step.trigger === "user:reset") place.isInHands = true;
    if (step.trigger === "user:start") place.isInHands = false;
    if (step.kind === "revive" && step.to !== "skipped") this.#isRevived = true;
    if (["user:start", "user:retry", "pipeline:map"].includes(step.trigger)) place.isWanted = true;
    // Begun anew, or ended: from then on its own status counts, which a person may still change.
    if (["pending", "queued"].includes(step.to) || isEnd(step.to)) place.isFailing = false;
    place.isWaiting = step.to === "pending" || step.to === "blocked";
    if (step.to === "failed" || step.to === "lost") this.#hasFailed = true;
    if (step.trigger === "pipeline:fail-fast" || step.trigger === "pipeline:quorum-unreachable") this.#isClosing = true;
  }

  /** An item of a map is no node of the graph, but fails its map. */
  #itemStep({ node, to }: TaskStatusChanged): void {
    const place = this.#places.get(node?.split("[")[0] ?? "");
    if (this.#policy.kind !== "failFast" || place?.node.failsByItem !== true || (to !== "failed" && to !== "lost") || isEnd(place.status)) return;
    place.isFailing = true;
    this.#hasFailed = true;
  }

  #whyWrong(place: Place, step: TaskStatusChanged): string | null {
    const says = this.#saysOf(place);
    switch (step.trigger) {
      case "scheduler:ready":
      case "user:start":
        return this.#whyNotLetGo(place, says, step);
      case "pipeline:function-threw":
        if (step.to !== "queued") return null;
        return this.#whyNotLetGo(place, says, step);
      case "scheduler:dispatch":
        return this.#hasFailed && this.#policy.kind === "failFast" && !place.isWanted ? "a node has failed before" : null;
      case "pipeline:condition-false":
        if (!place.isWaiting) return "it had been let go";
        return says === "condition_false" || (says === "ready" && place.node.hasCondition) ? null : `its join says ${says}`;
      case "pipeline:dependency-failed":
        if (says !== "dependency_failed") return `its join says ${says}`;
        return step.to === (place.node.onUpstreamFailure === "cancel" ? "cancelled" : "skipped") ? null : "that is not its rule";
      case "pipeline:fail-fast":
        if (this.#policy.kind !== "failFast") return "that is not the policy";
        return this.#isClosing || this.#hasFailed ? null : "nothing has failed";
      case "pipeline:quorum-unreachable":
        if (this.#policy.kind !== "quorum") return "that is not the policy";
        return this.#isClosing || this.#outOfReach(this.#statuses()) ? null : "the quorum can be reached";
      default:
        return null;
    }
  }

  #whyNotLetGo(place: Place, says: Saying, { to }: TaskStatusChanged): string | null {
    if (to === "blocked") return says === "ready" ? "its join says ready" : null;
    if (!place.isWaiting) return "it had been let go";
    if (says !== "ready") return `its join says ${says}`;
    return this.#isClosing && !place.isInHands ? "the run is being ended" : null;
  }

  #runStep({ from, to }: PipelineRunStatusChanged): void {
    if (from !== this.#status) this.wrong.push(`the run went from ${from}, it was ${this.#status}`);
    this.#status = to;
    if (to === "stopping") this.#isClosing = true;
    if (isEnd(from)) this.#hasFailed = this.#isClosing = false;
    if (!isEnd(to)) return;
    const statuses = this.#statuses();
    if (statuses.some((status) => !isEnd(status))) this.wrong.push(`the run ended ${to}, its nodes ${statuses.join(", ")}`);
    const verdict = verdictOver(statuses, this.#policy);
    if (verdict !== to) this.wrong.push(`the run ended ${to} instead of ${verdict}`);
  }

  #statuses(): readonly string[] {
    return [...this.#places.values()].map(({ status }) => status);
  }

  #countsAs(name: string): string {
    const place = this.#places.get(name);
    return place?.isFailing === true ? "failed" : (place?.status ?? "");
  }

  #outOfReach(statuses: readonly string[]): boolean {
    const able = statuses.filter((status) => status === "succeeded" || !isEnd(status)).length;
    return this.#policy.kind === "quorum" && able < this.#policy.count;
  }

  #saysOf({ node: { deps, join } }: Place): Saying {
    const ups = deps.map((dep) => this.#countsAs(dep));
    const open = ups.some((status) => !isEnd(status));
    const bad = ups.some((status) => ["failed", "lost", "cancelled", "stopped"].includes(status));
    if (join === "all_done" || deps.length === 0) return open ? "wait" : "ready";
    if (join === "any_succeeded") {
      if (ups.includes("succeeded")) return "ready";
      if (open) return "wait";
      return bad ? "dependency_failed" : "condition_false";
    }
    if (bad) return "dependency_failed";
    if (open) return "wait";
    return join === "all_succeeded" && ups.includes("skipped") ? "condition_false" : "ready";
  }
}

function isEnd(status: string): boolean {
  return isOver(status as Parameters<typeof isOver>[0]);
}
