import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError, Deadlock } from "../core/errors.ts";
import type { TaskEvent } from "../core/events.ts";
import { nodeIndex } from "../core/graph.ts";
import { at } from "../core/graph-at.ts";
import type { RunPauseReport, RunSnapshot } from "../core/run.ts";
import { isRunTerminal } from "../core/run.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { checkOneOf, checkOptions } from "../core/options.ts";
import { RUN_VERBS } from "../core/run-verbs.ts";
import type { RunVerb } from "../core/run-verbs.ts";
import type { VerbAnswer } from "../core/verbs.ts";
import type { Cell } from "../runtime/cell.ts";
import type { Engine } from "../runtime/engine.ts";
import { follow } from "../runtime/event-feed.ts";
import type { MapGroup } from "../runtime/map-group.ts";
import type { PipelineDriver } from "../runtime/pipeline-driver.ts";
import { taskScope } from "../runtime/task-scope.ts";
import { readAsking, readEventOptions, readRunRetry, readVerbOptions, readWaitOptions } from "./options.ts";
import type { Asking, EventOptions, PauseOptions, RunRetryOptions, StopOptions, WaitOptions } from "./options.ts";
import { countStatuses, firstFailure } from "./run-summary.ts";
import type { ItemCounts, RunGraphNode, RunItem, RunSummary } from "./run-summary.ts";

/** One run of a pipeline: its verbs, its end, its summary. Source §3.3. */
export class RunHandle {
  readonly id: string;
  /** The pipeline's name. */
  readonly name: string;
  readonly #engine: Engine;
  readonly #driver: PipelineDriver;

  /** Made by `startRun` and `controller.run`. */
  constructor(engine: Engine, driver: PipelineDriver) {
    this.id = driver.run.runId;
    this.name = driver.run.name;
    this.#engine = engine;
    this.#driver = driver;
  }

  /** The run as stored. */
  async snapshot(): Promise<RunSnapshot> {
    return (await this.#engine.store.runs.get(this.id)) ?? this.#driver.storedRun;
  }

  /**
   * Waits for its end; the run never notices.
   * @throws WaitTimeout when time is up, Deadlock inside a node of this very run
   */
  async wait(options: Omit<WaitOptions, "for">): Promise<RunSnapshot> {
    checkOptions(options, ["timeout", "signal"], "wait");
    const { timeoutMs, signal } = readWaitOptions(options);
    this.#refuseOwnNode("wait");
    return await this.#engine.awaiting.run(this.#driver, { timeoutMs, signal });
  }

  /** Stops every node that has not ended; resolves when the run has ended. */
  async stop(options?: StopOptions): Promise<RunSnapshot> {
    const asking = readAsking(options, "stop");
    this.#refuseOwnNode("stop");
    this.#driver.halt("stop", asking);
    return await this.#driver.ended();
  }

  /** Cancels every node that has not ended; resolves when the run has ended. */
  async cancel(reason?: string, options: Omit<StopOptions, keyof Pick<Asking, "reason">> = {}): Promise<RunSnapshot> {
    const asking = readAsking(reason === undefined ? options : { ...options, reason }, "cancel");
    this.#refuseOwnNode("cancel");
    this.#driver.halt("cancel", asking);
    return await this.#driver.ended();
  }

  /**
   * Holds back every node that has not begun and pauses those that run; resolves when each has answered. A node that could not
   * be paused in time is listed: it runs on, and the run is `paused` when it has ended.
   */
  async pause(options?: PauseOptions): Promise<RunPauseReport> {
    const asking = readVerbOptions(options, "pause");
    this.#refuseOwnNode("pause");
    return await this.#driver.pause(asking);
  }

  /** Lets go what was held back, and wakes what the pause of the run had paused; what a person paused by itself stays so. */
  async resume(options?: Asking): Promise<RunSnapshot> {
    return await this.#driver.resume(readVerbOptions(options, "resume"));
  }

  /**
   * Runs again the nodes that failed, were lost, cancelled or stopped and what lies below them, or everything from one node
   * on, or one item of a map and everything below the map.
   * What has succeeded elsewhere keeps its outcome. The run is under way again then, and `wait` waits for its new end.
   * @throws InvalidTransition where nothing can be run again, or what lies below has not ended; CarrierAbandoned unless `force`;
   * ConfigurationError for a node that it does not have
   */
  async retry(options?: RunRetryOptions): Promise<RunSnapshot> {
    return await this.#driver.retry(readRunRetry(options));
  }

  /** May the verb be used on the run now? Answers without side effects. */
  async can(verb: RunVerb): Promise<VerbAnswer> {
    return await this.#driver.can(checkOneOf(verb, RUN_VERBS, "can: verb"));
  }

  /** What happens to it and its nodes, from its start on; ends with the run. */
  events(options?: EventOptions): AsyncGenerator<TaskEvent, void, undefined> {
    const { types, signal } = readEventOptions(options);
    return follow(this.#engine, { of: { pipelineRunId: this.id }, types, signal, ends: endsRun });
  }

  /** Counts per status, and the first failure with what it brought down. */
  summary(): RunSummary {
    const { plan, storedRun, cells, maps, changedSinceEnd } = this.#driver;
    const snapshots = cells.map(storedOf);
    const nodes = snapshots.map((snapshot, node) => ({ snapshot, below: () => this.#below(node, snapshots) }));
    return {
      runId: this.id,
      name: plan.pipeline,
      status: storedRun.status,
      total: snapshots.length,
      counts: countStatuses(snapshots),
      maps: [...maps].map(([node, group]) => {
        const { taskId, status } = at(snapshots, node);
        return { node: at(plan.nodes, node).name, taskId, status, ...countItems(group) };
      }),
      firstFailure: firstFailure(nodes),
      changedSinceEnd: [...changedSinceEnd].map((node) => at(plan.nodes, node).name),
    };
  }

  /** Nodes, edges and statuses, for drawing; a map is one node, with the counts of its items. */
  graph(): readonly RunGraphNode[] {
    const { plan, cells, maps } = this.#driver;
    return plan.nodes.map((node, index) => {
      const { taskId, status } = storedOf(at(cells, index));
      const { deps, kind } = at(plan.graph.nodes, index);
      const group = maps.get(index);
      return { name: node.name, kind, task: node.definition.name, taskId, status, deps, items: group === undefined ? null : countItems(group) };
    });
  }

  /**
   * The items of a map, in their order; none before it has expanded. Each is a task: its verbs are the controller's.
   * @throws ConfigurationError for a node that does not exist, or is no map
   */
  items(map: string): readonly RunItem[] {
    const group = this.#driver.maps.get(nodeIndex(this.#driver.plan.graph, map));
    if (group === undefined) throw new ConfigurationError(`node ${describeValue(map)} is no map: it has no items.`);
    return group.cells.map(storedOf).map(({ node, name, taskId, status }) => ({ name: node ?? name, taskId, status }));
  }

  /** The run ends after its last node: a node that waits for that end waits for itself. */
  #refuseOwnNode(verb: string): void {
    const scope = taskScope.getStore();
    if (scope?.pipelineRunId !== this.id) return;
    throw new Deadlock(`task ${scope.taskId} asked for "${verb}" of run ${this.id}, which it belongs to, and would wait for ever. Let somebody else ask.`);
  }

  #below(node: number, snapshots: readonly TaskSnapshot[]): readonly TaskSnapshot[] {
    const reached = new Set<number>([node]);
    // A set that grows while it is walked is its own queue.
    for (const each of reached) for (const below of at(this.#driver.plan.graph.downstream, each)) reached.add(below);
    reached.delete(node);
    return [...reached].map((each) => at(snapshots, each));
  }
}

function storedOf(cell: Cell): TaskSnapshot {
  return cell.stored ?? cell.snapshot;
}

function countItems(group: MapGroup): ItemCounts {
  const snapshots = group.cells.map(storedOf);
  return { total: snapshots.length, counts: countStatuses(snapshots) };
}

function endsRun(event: TaskEvent): boolean | undefined {
  return event.type === "PipelineRunStatusChanged" ? isRunTerminal(event.to) : undefined;
}
