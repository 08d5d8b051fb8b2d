import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, InvalidTransition, OutcomeMissing } from "../core/errors.ts";
import type { CancelTrigger } from "../core/aggregation.ts";
import type { PipelineRunStatusChanged } from "../core/events.ts";
import { createFailure } from "../core/failure.ts";
import type { Failure } from "../core/failure.ts";
import { at } from "../core/graph-at.ts";
import { advance, beginRun } from "../core/graph-advance.ts";
import type { Action, EndAction } from "../core/graph-advance.ts";
import { nodeIndex } from "../core/graph.ts";
import { reopenNode, returnNode, takeNode } from "../core/graph-revive.ts";
import { closeRun, createRunState, isClosing } from "../core/graph-run-state.ts";
import type { RunState } from "../core/graph-run-state.ts";
import { effectiveOutcome, isOutcome, judgeJoin } from "../core/join.ts";
import type { By, CloserTrigger } from "../core/lifecycle-events.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { RunSnapshot } from "../core/run.ts";
import { isRunTerminal } from "../core/run.ts";
import type { RunStatus } from "../core/status.ts";
import { failureOf } from "../core/thrown.ts";
import { isTerminal } from "../core/transitions.ts";
import { unreachable } from "../core/unreachable.ts";
import type { Cell, NodePlace } from "./cell.ts";
import type { Control } from "./control.ts";
import type { Journal } from "./journal.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { MapGroup } from "./map-group.ts";
import { checkedArgs, checkedCondition, nodeName } from "./node-functions.ts";
import type { RunPlan } from "./run-plan.ts";
import { upstreamWaits } from "./upstream-waits.ts";

/** What a driver works with. */
export interface DriverParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly lifecycle: Lifecycle;
  readonly control: Control;
  readonly owner: string;
  /** The run has ended and that is stored. */
  readonly forget: (driver: PipelineDriver) => void;
}

/** What becomes of a node whose join is met. `args`: worked out just now. */
type Decision =
  | { readonly type: "run"; readonly args: readonly unknown[] | undefined }
  | { readonly type: "skip" }
  | { readonly type: "fail"; readonly error: unknown };

/** Told of each snapshot of the run once it is stored. */
interface RunWatcher {
  stored(run: RunSnapshot): void;
  failed(problem: Error): void;
}

/**
 * Drives one run: feeds the pure graph rules with the ends of its nodes and carries out what they answer.
 * Never recursive: a chain of 20,000 false conditions is a queue. Source §3.3, §5.2.
 */
export class PipelineDriver {
  readonly plan: RunPlan;
  /** As decided. */
  run: RunSnapshot;
  /** As stored. */
  storedRun: RunSnapshot;
  readonly #parts: DriverParts;
  readonly #state: RunState;
  readonly #cells: Cell[] = [];
  readonly #byId = new Map<string, Cell>();
  /** By node; a map has one from the start. */
  readonly #maps = new Map<number, MapGroup>();
  readonly #watchers = new Set<RunWatcher>();
  readonly #ends: { readonly node: number; readonly cell: Cell }[] = [];
  #working = false;
  #dismissed: Error | null = null;

  constructor(parts: DriverParts, plan: RunPlan, run: RunSnapshot) {
    this.#parts = parts;
    this.plan = plan;
    this.run = run;
    this.storedRun = run;
    this.#state = createRunState(plan.graph, { aggregation: plan.aggregation });
  }

  get cells(): readonly Cell[] {
    return this.#cells;
  }

  /** Those of its nodes that are maps, by number. */
  get maps(): ReadonlyMap<number, MapGroup> {
    return this.#maps;
  }

  /** The place of the next node, in the order of the plan: it is given its cell by `add`. */
  place(node: number): NodePlace {
    return {
      ended: (cell) => this.#nodeEnded(node, cell),
      upstream: async (name) => this.#valueOf(this.#upstreamIndex(node, name)),
      reopen: (cell, verb) => this.#reopen(node, cell, verb),
      start: (cell, by) => this.#start(node, cell, by),
      args: () => this.#args(node),
      inTheWay: () => upstreamWaits(this.plan.graph, this.#cells, node),
    };
  }

  /** The cell of one of its nodes, or of an item of a map, by the task's id. */
  cell(taskId: string): Cell | undefined {
    return this.#byId.get(taskId);
  }

  add(cell: Cell): void {
    const node = this.#cells.push(cell) - 1;
    this.#byId.set(cell.taskId, cell);
    const plan = at(this.plan.nodes, node);
    if (plan.map === undefined) return;
    const failsFast = this.plan.aggregation.kind === "fail_fast";
    const adopt = (item: Cell): unknown => this.#byId.set(item.taskId, item);
    const isFailing = (): void => this.#perform(advance(this.#state, { node, outcome: "failed", isWindingDown: true }).actions);
    const group = new MapGroup(this.#parts, { cell, plan, map: plan.map, runId: this.run.runId, failsFast, isFailing, adopt });
    cell.carrier = group;
    this.#maps.set(node, group);
  }

  /** Lets the roots go. */
  begin(): void {
    this.#perform(beginRun(this.#state).actions);
  }

  /** Resolves with the run as stored once it has ended; rejects when aborted, or when its end cannot be stored. */
  async ended(signal?: AbortSignal): Promise<RunSnapshot> {
    if (isRunTerminal(this.storedRun.status)) return this.storedRun;
    if (this.#dismissed !== null) throw this.#dismissed;
    const { promise, resolve, reject } = Promise.withResolvers<RunSnapshot>();
    const watcher: RunWatcher = {
      stored: (run) => {
        if (isRunTerminal(run.status)) resolve(run);
      },
      failed: reject,
    };
    const onAbort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#watchers.add(watcher);
    try {
      return await promise;
    } finally {
      this.#watchers.delete(watcher);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** `stop` and `cancel` of the whole run: every node that has not ended is told. */
  halt(verb: "stop" | "cancel", options: { readonly by: By; readonly graceMs?: number }): void {
    if (isRunTerminal(this.run.status)) {
      const same = this.run.status === (verb === "stop" ? "stopped" : "cancelled");
      if (same) return;
      throw new InvalidTransition({ taskId: this.run.runId, current: this.run.status, requested: verb, allowed: [] });
    }
    const open = closeRun(this.#state);
    if (this.run.status !== "stopping") this.#step("stopping", { requestedAction: verb }, { trigger: `user:${verb}`, ...options.by });
    this.#haltNodes(open, verb, options);
  }

  /** It is driven here no longer, though it has not ended: whoever waits hears why. */
  dismiss(problem: Error): void {
    this.#dismissed = problem;
    for (const watcher of this.#watchers) watcher.failed(problem);
  }

  #haltNodes(nodes: readonly number[], verb: "stop" | "cancel", options: { readonly by: By; readonly graceMs?: number }): void {
    for (const node of nodes) {
      const cell = at(this.#cells, node);
      if (!isTerminal(cell.snapshot.status)) this.#parts.control.haltNow(cell, verb, options);
    }
  }

  #nodeEnded(node: number, cell: Cell): void {
    this.#maps.get(node)?.nodeEnded();
    this.#ends.push({ node, cell });
    this.#work();
  }

  #perform(actions: readonly Action[]): void {
    const wasWorking = this.#working;
    this.#working = true;
    for (const action of actions) this.#carryOut(action);
    this.#working = wasWorking;
    this.#work();
  }

  #work(): void {
    if (this.#working) return;
    this.#working = true;
    for (let end = this.#ends.shift(); end !== undefined; end = this.#ends.shift()) {
      const { status, skippedBy } = end.cell.snapshot;
      if (!isOutcome(status)) continue;
      for (const action of advance(this.#state, { node: end.node, outcome: effectiveOutcome(status, skippedBy !== null) }).actions) this.#carryOut(action);
    }
    this.#working = false;
  }

  #carryOut(action: Action): void {
    switch (action.type) {
      case "ready":
        this.#release(action.node);
        return;
      case "end":
        this.#end(action);
        return;
      case "cancelRest":
        this.#haltNodes(action.nodes, "cancel", { by: { trigger: action.trigger, actor: "system", reason: action.reason } });
        return;
      case "verdict":
        this.#step(action.status, { requestedAction: null, endedAt: this.#parts.clock.now() }, { trigger: "pipeline:verdict" });
        return;
      default:
        unreachable(action);
    }
  }

  /** The node's join is met: its condition and its arguments are worked out once, and stored with the step. */
  #release(node: number): void {
    const cell = at(this.#cells, node);
    const decision = this.#decide(node);
    // A function of the user's may have stopped the whole run.
    if (isTerminal(cell.snapshot.status)) return;
    const { lifecycle } = this.#parts;
    switch (decision.type) {
      case "run":
        cell.args = decision.args ?? cell.args;
        this.#maps.get(node)?.renew();
        lifecycle.must(cell, { type: "enqueue" }, decision.args === undefined ? {} : { args: decision.args });
        return;
      case "skip":
        lifecycle.must(cell, { type: "conditionFalse", failure: createFailure({ kind: "condition_false", message: "its condition (when) was false" }) });
        return;
      case "fail":
        this.#failUnstarted(cell, decision.error);
        return;
      default:
        unreachable(decision);
    }
  }

  /** A person starts a node that is in their hands: as if its turn had come, but without its condition. */
  #start(node: number, cell: Cell, by: By): void {
    const { lifecycle } = this.#parts;
    if (judgeJoin(at(this.plan.graph.nodes, node).join, at(this.#state.nodes, node)) !== "ready") {
      if (cell.snapshot.status === "pending") lifecycle.must(cell, { type: "start", depsOpen: true, ...by });
      this.#perform(returnNode(this.#state, node).actions);
      // The rest of the run is being ended, and this would wait for what never comes.
      if (isClosing(this.#state)) this.#haltBehind(node);
      return;
    }
    let args: readonly unknown[] | undefined;
    try {
      args = this.#args(node);
    } catch (error) {
      this.#failUnstarted(cell, error);
      return;
    }
    cell.args = args ?? cell.args;
    this.#maps.get(node)?.renew();
    lifecycle.must(cell, { type: "start", depsOpen: false, ...by }, args === undefined ? {} : { args });
  }

  /** Ends a node as the rest of its run was ended. */
  #haltBehind(node: number): void {
    const { requestedAction, aggregation } = this.run;
    const verb = requestedAction === "stop" ? "stop" : "cancel";
    const policy: CancelTrigger = aggregation.kind === "quorum" ? "pipeline:quorum-unreachable" : "pipeline:fail-fast";
    const trigger = requestedAction === null ? policy : `user:${verb}`;
    this.#haltNodes([node], verb, { by: { trigger, actor: "system", reason: "its run is being ended, and what it depends on is not met" } });
  }

  /** It fails by itself, takes no slot and is not retried. */
  #failUnstarted(cell: Cell, error: unknown): void {
    const { lifecycle, owner } = this.#parts;
    const trigger: CloserTrigger = "pipeline:function-threw";
    const refused = lifecycle.applyAll(cell, [
      { type: "enqueue", trigger },
      { type: "dispatch", owner, executor: null, trigger },
      { type: "failed", failure: { ...failureOf(error), retryable: false }, retryAt: null, trigger },
    ]);
    if (refused !== null) throw refused;
  }

  #decide(node: number): Decision {
    const { when } = at(this.plan.nodes, node);
    try {
      if (when !== null && !checkedCondition(when(this.#up(node)))) return { type: "skip" };
      return { type: "run", args: this.#args(node) };
    } catch (error) {
      return { type: "fail", error };
    }
  }

  #args(node: number): readonly unknown[] | undefined {
    const { args } = at(this.plan.nodes, node);
    return typeof args === "function" ? checkedArgs(args(this.#up(node))) : undefined;
  }

  #up(node: number): (upstream: unknown) => unknown {
    return (upstream) => this.#valueOf(this.#upstreamIndex(node, nodeName(upstream)));
  }

  #end(action: EndAction): void {
    const cell = at(this.#cells, action.node);
    if (isTerminal(cell.snapshot.status)) return;
    const failure = this.#endFailure(action);
    const type = action.kind === "condition_false" ? "conditionFalse" : "dependencyFailed";
    this.#parts.lifecycle.must(cell, type === "conditionFalse" ? { type, failure } : { type, to: action.to, failure });
  }

  #endFailure({ kind, upstream }: EndAction): Failure {
    const names = upstream.map((node) => {
      const { snapshot } = at(this.#cells, node);
      return `${snapshot.node ?? snapshot.name} (${snapshot.status}, ${snapshot.taskId})`;
    });
    const verb = kind === "condition_false" ? "was skipped" : "did not succeed";
    return createFailure({ kind, message: `what it depends on ${verb}: ${names.join(", ")}`, name: kind === "dependency_failed" ? "DependencyFailed" : kind });
  }

  #upstreamIndex(node: number, name: string): number {
    const index = nodeIndex(this.plan.graph, name);
    if (at(this.plan.graph.upstream, node).includes(index)) return index;
    throw new ConfigurationError(`node "${at(this.plan.nodes, node).name}" reads ${describeValue(name)}, which is not one of its deps. Add it there.`);
  }

  #valueOf(node: number): unknown {
    const { snapshot } = at(this.#cells, node);
    const name = at(this.plan.nodes, node).name;
    if (snapshot.outcomeMissing !== null && snapshot.outcome === undefined) {
      throw new OutcomeMissing(`node "${name}" has no outcome to read: ${snapshot.outcomeMissing}.`);
    }
    return snapshot.status === "succeeded" || snapshot.skippedBy !== null ? snapshot.outcome : undefined;
  }

  #reopen(node: number, cell: Cell, verb: string): () => void {
    if (isRunTerminal(this.run.status)) {
      throw new InvalidTransition({
        taskId: cell.taskId,
        current: cell.snapshot.status,
        requested: verb,
        allowed: [],
        hint: "the run it belongs to has ended",
      });
    }
    return () => {
      reopenNode(this.#state, node);
      takeNode(this.#state, node);
    };
  }

  #step(to: RunStatus, patch: Partial<RunSnapshot>, by: By): void {
    const before = this.run;
    const at = this.#parts.clock.now();
    this.run = { ...before, ...patch, status: to, version: before.version + 1 };
    const run = this.run;
    this.#parts.journal.changeRun({ snapshot: run, expectVersion: before.version, events: [runEvent(before, run, { at, by })] }, (problem) =>
      this.#stored(run, problem),
    );
  }

  #stored(run: RunSnapshot, problem: Error | null): void {
    if (problem === null) this.storedRun = run;
    for (const watcher of this.#watchers) {
      if (problem === null) watcher.stored(run);
      else watcher.failed(problem);
    }
    if (isRunTerminal(run.status)) this.#parts.forget(this);
  }
}

/** The event of a run's step. */
export function runEvent(before: RunSnapshot, after: RunSnapshot, { at, by }: { readonly at: number; readonly by: By }): PipelineRunStatusChanged {
  return {
    type: "PipelineRunStatusChanged",
    eventId: `${after.runId}:${after.version}`,
    at,
    taskId: null,
    pipelineRunId: after.runId,
    name: after.name,
    from: before.status,
    to: after.status,
    trigger: by.trigger ?? "pipeline:step",
    actor: by.actor ?? "system",
    reason: by.reason ?? null,
    version: after.version,
  };
}
