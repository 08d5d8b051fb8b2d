import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, OutcomeMissing } from "../core/errors.ts";
import type { CancelTrigger } from "../core/aggregation.ts";
import { createFailure } from "../core/failure.ts";
import { at } from "../core/graph-at.ts";
import { advance, beginRun } from "../core/graph-advance.ts";
import type { Action, EndAction } from "../core/graph-advance.ts";
import { nodeIndex } from "../core/graph.ts";
import { reopenNode, returnNode, takeNode } from "../core/graph-revive.ts";
import { closeRun, createRunState, isClosing, standingOf } from "../core/graph-run-state.ts";
import type { RunState } from "../core/graph-run-state.ts";
import { effectiveOutcome, isOutcome, judgeJoin } from "../core/join.ts";
import type { By, CloserTrigger } from "../core/lifecycle-events.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { RunPauseReport, RunSnapshot } from "../core/run.ts";
import { isRunTerminal, NOT_HELD } from "../core/run.ts";
import { canRunVerb } from "../core/run-verbs.ts";
import type { RunVerb } from "../core/run-verbs.ts";
import { failureOf } from "../core/thrown.ts";
import { isTerminal } from "../core/transitions.ts";
import { unreachable } from "../core/unreachable.ts";
import type { VerbAnswer } from "../core/verbs.ts";
import type { Cell, NodePlace } from "./cell.ts";
import type { Control, VerbOptions } from "./control.ts";
import { endedRun } from "./ended-run.ts";
import type { Journal } from "./journal.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { MapGroup } from "./map-group.ts";
import { checkedArgs, checkedCondition, nodeName } from "./node-functions.ts";
import { RunPause } from "./run-pause.ts";
import type { RunPlan } from "./run-plan.ts";
import { RunRecord } from "./run-record.ts";
import { RunRetry } from "./run-retry.ts";
import type { RetryRequest } from "./run-retry.ts";
import type { Scheduler } from "./scheduler.ts";
import type { StoreReads } from "./store-reads.ts";
import { unmetJoin } from "./unmet-join.ts";
import { upstreamWaits } from "./upstream-waits.ts";

/** What a driver works with. */
export interface DriverParts {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly lifecycle: Lifecycle;
  readonly control: Control;
  readonly store: StoreReads;
  readonly scheduler: Scheduler;
  readonly owner: string;
  /** It has ended and is to be driven again. */
  readonly takeUp: (driver: PipelineDriver) => void;
  /** The run has ended and that is stored. */
  readonly forget: (driver: PipelineDriver) => void;
}

/** What becomes of a node whose join is met. `args`: worked out just now. */
type Decision =
  | { readonly type: "run"; readonly args: readonly unknown[] | undefined }
  | { readonly type: "skip" }
  | { readonly type: "fail"; readonly error: unknown };

/**
 * Drives one run: feeds the pure graph rules with the ends of its nodes and carries out what they answer.
 * Never recursive: a chain of 20,000 false conditions is a queue. Source §3.3, §5.2.
 */
export class PipelineDriver {
  readonly plan: RunPlan;
  readonly #parts: DriverParts;
  readonly #state: RunState;
  readonly #cells: Cell[] = [];
  readonly #byId = new Map<string, Cell>();
  /** By node; a map has one from the start. */
  readonly #maps = new Map<number, MapGroup>();
  readonly #record: RunRecord;
  readonly #pause: RunPause;
  readonly #retry: RunRetry;
  readonly #ends: { readonly node: number; readonly cell: Cell }[] = [];
  /** Why the policy has cancelled the rest; `null`: it has not. */
  #cause: string | null = null;
  readonly #changedSinceEnd = new Set<number>();
  #working = false;

  constructor(parts: DriverParts, plan: RunPlan, run: RunSnapshot) {
    this.#parts = parts;
    this.plan = plan;
    this.#state = createRunState(plan.graph, { aggregation: plan.aggregation });
    this.#record = new RunRecord({ ...parts, over: () => parts.forget(this) }, run);
    this.#pause = new RunPause({ ...parts, record: this.#record });
    this.#retry = new RunRetry({
      ...parts,
      record: this.#record,
      plan,
      state: this.#state,
      cells: this.#cells,
      maps: this.#maps,
      takeUp: () => parts.takeUp(this),
    });
  }

  /** The run as decided. */
  get run(): RunSnapshot {
    return this.#record.run;
  }

  /** The run as stored. */
  get storedRun(): RunSnapshot {
    return this.#record.storedRun;
  }

  get cells(): readonly Cell[] {
    return this.#cells;
  }

  /** Its nodes and the items of its maps. */
  get taskCount(): number {
    return this.#byId.size;
  }

  /** Those of its nodes that are maps, by number. */
  get maps(): ReadonlyMap<number, MapGroup> {
    return this.#maps;
  }

  /** The nodes that a person has led to another end since the run ended: the verdict stays what it was. */
  get changedSinceEnd(): ReadonlySet<number> {
    return this.#changedSinceEnd;
  }

  /** The place of the next node, in the order of the plan: it is given its cell by `add`. */
  place(node: number): NodePlace {
    return {
      isOver: () => isRunTerminal(this.run.status),
      ended: (cell) => this.#nodeEnded(node, cell),
      upstream: async (name) => this.#valueOf(this.#upstreamIndex(node, name)),
      reopen: (cell, verb) => this.#reopen(node, cell, verb),
      start: (cell, by) => this.#start(node, cell, by),
      args: () => this.#args(node),
      inTheWay: () => upstreamWaits(this.plan.graph, this.#cells, node),
      stepped: (cell) => this.#stepped(cell),
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
    const itemsEnded = (): void => this.#itemsEnded(node, cell);
    const [place, { runId }] = [this.place(node), this.run];
    const group = new MapGroup(this.#parts, { cell, place, plan, map: plan.map, runId, failsFast, isFailing, itemsEnded, adopt });
    cell.carrier = group;
    this.#maps.set(node, group);
  }

  /** Lets the roots go. */
  begin(): void {
    this.#perform(beginRun(this.#state).actions);
  }

  /** Resolves with the run as stored once it has ended; rejects when aborted, or when its end cannot be stored. */
  async ended(signal?: AbortSignal): Promise<RunSnapshot> {
    return await this.#record.ended(signal);
  }

  /** `stop` and `cancel` of the whole run: every node that has not ended is told. */
  halt(verb: "stop" | "cancel", options: { readonly by: By; readonly graceMs?: number }): void {
    // Asked again, a shorter grace tightens the deadline.
    if (!this.#record.moves(verb) && isRunTerminal(this.run.status)) return;
    const open = closeRun(this.#state);
    if (this.run.status !== "stopping") this.#record.step("stopping", { ...NOT_HELD, requestedAction: verb }, { trigger: `user:${verb}`, ...options.by });
    this.#haltNodes(open, verb, options);
    this.#pause.drop();
  }

  /** Holds what has not begun and pauses what runs; resolves when each has answered. */
  async pause(options: VerbOptions): Promise<RunPauseReport> {
    return await this.#pause.pause(options);
  }

  async resume(options: VerbOptions): Promise<RunSnapshot> {
    return await this.#pause.resume(options);
  }

  async can(verb: RunVerb): Promise<VerbAnswer> {
    return verb === "retry" ? await this.#retry.can() : canRunVerb(this.run.status, verb);
  }

  /** Runs again what failed, was lost, cancelled or stopped, or everything from a node on. */
  async retry(request: RetryRequest): Promise<RunSnapshot> {
    await this.#retry.refresh();
    const actions = this.#retry.begin(request);
    this.#cause = null;
    this.#changedSinceEnd.clear();
    this.#perform(actions);
    return await this.#record.written();
  }

  /** It is driven here no longer, though it has not ended: whoever waits hears why. */
  dismiss(problem: Error): void {
    this.#record.dismiss(problem);
    for (const group of this.#maps.values()) group.dismiss();
  }

  #haltNodes(nodes: readonly number[], verb: "stop" | "cancel", options: { readonly by: By; readonly graceMs?: number }): void {
    for (const node of nodes) {
      const cell = at(this.#cells, node);
      if (!isTerminal(cell.snapshot.status)) this.#parts.control.haltNow(cell, verb, options);
    }
  }

  #stepped(cell: Cell): void {
    this.#pause.stepped(cell);
    // What follows from an end is decided first.
    if (!this.#working && !isTerminal(cell.snapshot.status)) this.#pause.settle();
  }

  #nodeEnded(node: number, cell: Cell): void {
    this.#maps.get(node)?.nodeEnded();
    this.#ends.push({ node, cell });
    this.#work();
  }

  /** A map that was forced away holds the verdict back until its items have ended, too. */
  #itemsEnded(node: number, cell: Cell): void {
    if (!isTerminal(cell.snapshot.status)) return;
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
      const { node } = end;
      const outcome = effectiveOutcome(status, skippedBy !== null);
      if (isRunTerminal(this.run.status) && standingOf(this.#state, node) !== outcome) this.#changedSinceEnd.add(node);
      const isWindingDown = (this.#maps.get(node)?.openItems.size ?? 0) > 0;
      for (const action of advance(this.#state, { node, outcome, isWindingDown }).actions) this.#carryOut(action);
    }
    this.#working = false;
    this.#pause.settle();
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
        this.#cause = action.reason;
        this.#pause.end({ trigger: action.trigger, reason: action.reason });
        this.#haltNodes(action.nodes, "cancel", { by: { trigger: action.trigger, actor: "system", reason: action.reason } });
        return;
      case "verdict":
        this.#record.step(action.status, { ...NOT_HELD, endedAt: this.#parts.clock.now() }, { trigger: "pipeline:verdict", reason: this.#cause });
        this.#pause.drop();
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
    const failure = unmetJoin(action, this.#cells);
    const type = action.kind === "condition_false" ? "conditionFalse" : "dependencyFailed";
    this.#parts.lifecycle.must(cell, type === "conditionFalse" ? { type, failure } : { type, to: action.to, failure });
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
    if (isRunTerminal(this.run.status))
      throw endedRun(cell, verb, `run.retry({ from: ${JSON.stringify(cell.snapshot.node)} }) runs it again, run.retry() all that did not succeed`);
    return () => {
      reopenNode(this.#state, node);
      takeNode(this.#state, node);
    };
  }
}
