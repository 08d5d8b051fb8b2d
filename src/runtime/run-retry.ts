import { describeValue } from "../core/describe-value.ts";
import { CarrierAbandoned, ConfigurationError, InvalidTransition, TaskError } from "../core/errors.ts";
import { at } from "../core/graph-at.ts";
import type { Action } from "../core/graph-advance.ts";
import { busyBelow, nodesToRevive, reviveNodes, revivableNodes } from "../core/graph-revive.ts";
import type { Revival } from "../core/graph-revive.ts";
import { isClosing, standingOf } from "../core/graph-run-state.ts";
import type { RunState } from "../core/graph-run-state.ts";
import { nodeIndex } from "../core/graph.ts";
import { judgeJoin } from "../core/join.ts";
import type { By, LifecycleEvent } from "../core/lifecycle-events.ts";
import { isRunTerminal } from "../core/run.ts";
import { isTerminal } from "../core/transitions.ts";
import type { VerbAnswer } from "../core/verbs.ts";
import type { Cell } from "./cell.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { MapGroup } from "./map-group.ts";
import { itemRefusal } from "./renew-item.ts";
import type { RunPlan } from "./run-plan.ts";
import type { RunRecord } from "./run-record.ts";
import type { StoreReads } from "./store-reads.ts";

/** What a run's retry works with. */
export interface RunRetryParts {
  readonly lifecycle: Lifecycle;
  readonly store: StoreReads;
  readonly record: RunRecord;
  readonly plan: RunPlan;
  readonly state: RunState;
  readonly cells: readonly Cell[];
  /** Those of its nodes that are maps, by number. */
  readonly maps: ReadonlyMap<number, MapGroup>;
  /** It has ended and is to be driven again; throws where that is not possible any more. */
  readonly takeUp: () => void;
}

/** How a run is retried. */
export interface RetryRequest {
  readonly by: By;
  /** Also nodes whose abandoned body still runs. */
  readonly force?: boolean;
  /** The name of the node to begin from, or of an item of a map; left out: whatever failed, was lost, cancelled or stopped. */
  readonly from?: string;
}

/** An item of a map, to run again by itself. */
interface RunItem {
  readonly node: number;
  readonly group: MapGroup;
  readonly cell: Cell;
}

/** Runs nodes of a run again, in the run that it was: what has succeeded elsewhere keeps its outcome. Source §3.3. */
export class RunRetry {
  readonly #parts: RunRetryParts;

  constructor(parts: RunRetryParts) {
    this.#parts = parts;
  }

  /**
   * Takes the end of each node back that is to run again; nothing has changed where it is refused. Call `refresh` before.
   * @returns what is to be done next, at once: the graph counts it as done
   * @throws InvalidTransition, CarrierAbandoned, ConfigurationError for a name that no node has
   */
  begin({ by, force = false, from }: RetryRequest): readonly Action[] {
    const { record, state, takeUp } = this.#parts;
    const { nodes, item } = this.#beginning(from);
    if (!force) this.#refuseAbandoned(nodes, item);
    const hasEnded = isRunTerminal(record.run.status);
    if (hasEnded) takeUp();
    const revival = reviveNodes(state, nodes);
    if (hasEnded) record.step("running", { requestedAction: null, endedAt: null }, { trigger: "user:retry", ...by });
    return item === null ? this.#revive(revival, { by, force }) : this.#reviveFor(item, revival, { by, force });
  }

  /** Would it be refused, were it asked without options? */
  async can(): Promise<VerbAnswer> {
    await this.refresh();
    try {
      this.#refuseAbandoned(this.#beginning(undefined).nodes, null);
      return { allowed: true, reason: null };
    } catch (refused) {
      if (refused instanceof TaskError) return { allowed: false, reason: refused.message };
      throw refused;
    }
  }

  /** That an abandoned body has ended is noted on the row alone. */
  async refresh(): Promise<void> {
    const { cells, maps, store } = this.#parts;
    const all = [...cells, ...[...maps.values()].flatMap((map) => map.cells)];
    const abandoned = all.filter(({ snapshot }) => snapshot.abandonedBy !== null && isTerminal(snapshot.status));
    for (const cell of abandoned) {
      const row = await store.tasks.get(cell.taskId);
      if (row?.statusVersion === cell.snapshot.statusVersion) cell.snapshot = { ...cell.snapshot, abandonedBy: row.abandonedBy };
    }
  }

  #beginning(from: string | undefined): { readonly nodes: readonly number[]; readonly item: RunItem | null } {
    const { record, state } = this.#parts;
    record.moves("retry");
    if (isClosing(state)) throw record.refusal("retry", "what has not ended is being cancelled: wait until the run has ended");
    const item = from === undefined ? null : this.#endedItem(from);
    const nodes = from === undefined ? revivableNodes(state) : [item?.node ?? this.#endedNode(from)];
    if (nodes.length === 0 && isRunTerminal(record.run.status))
      throw record.refusal("retry", "no node failed, was lost, cancelled or stopped: name one with from");
    this.#refuseBusy(nodes);
    return { nodes, item };
  }

  /** `null`: that is the name of no item. */
  #endedItem(name: string): RunItem | null {
    const { plan, cells, maps } = this.#parts;
    if (plan.graph.indexByName.has(name)) return null;
    for (const [node, group] of maps) {
      const map = at(plan.nodes, node).name;
      if (!name.startsWith(map) || !/^\[\d+\]$/.test(name.slice(map.length))) continue;
      const cell = group.cells.find(({ snapshot }) => snapshot.node === name);
      if (cell === undefined)
        throw new ConfigurationError(`retry: the map "${map}" has no item ${describeValue(name)}: it has ${group.cells.length} of them, from 0.`);
      const { status, abandonedBy } = at(cells, node).snapshot;
      if (!isTerminal(status))
        throw itemRefusal(cell, "retry", `the map it belongs to has not ended: retry the task of the item by itself, controller.retry("${cell.taskId}")`);
      if (!isTerminal(cell.snapshot.status) || abandonedBy !== null)
        throw itemRefusal(cell, "retry", "the map it belongs to was forced away, and its items are still ending: wait");
      this.#refuseOutOfReach({ node, group, cell });
      return { node, group, cell };
    }
    return null;
  }

  /** With what the map began for that item it goes on: where that is to be worked out anew, all its items are. */
  #refuseOutOfReach({ node, group, cell }: RunItem): void {
    const { plan, state } = this.#parts;
    const isMet = judgeJoin(at(plan.graph.nodes, node).join, at(state.nodes, node)) === "ready";
    if (isMet && group.canRunOne) return;
    const why = isMet ? "not all items of its map were made" : "what its map depends on has not ended, or not as it needs";
    throw itemRefusal(cell, "retry", `${why}: run.retry({ from: ${JSON.stringify(at(plan.nodes, node).name)} }) runs the map again`);
  }

  #endedNode(name: string): number {
    const { plan, cells } = this.#parts;
    const node = nodeIndex(plan.graph, name);
    const { taskId, status } = at(cells, node).snapshot;
    if (isTerminal(status)) return node;
    throw new InvalidTransition({
      taskId,
      current: status,
      requested: "retry",
      allowed: [],
      hint: `node "${name}" has not ended, so the run cannot begin from it`,
    });
  }

  /** What has begun with a value that is to be replaced must end first, or the run would hold two truths. */
  #refuseBusy(nodes: readonly number[]): void {
    const { state, cells, record, plan } = this.#parts;
    const names = busyBelow(state, nodes)
      .filter((node) => hasBegun(at(cells, node)))
      .map((node) => at(plan.nodes, node).name);
    if (names.length === 0) return;
    const shown = names.length > 3 ? `${names.slice(0, 3).join(", ")} and ${names.length - 3} more` : names.join(", ");
    throw record.refusal(
      "retry",
      `${shown} ${names.length === 1 ? "lies" : "lie"} below what is to run again and ${names.length === 1 ? "has" : "have"} not ended: wait, or stop what runs first`,
    );
  }

  #refuseAbandoned(nodes: readonly number[], item: RunItem | null): void {
    const { state, cells, maps } = this.#parts;
    const abandoned = nodesToRevive(state, nodes)
      .flatMap((node) => [at(cells, node), ...(node === item?.node ? [item.cell] : (maps.get(node)?.cells ?? []))])
      .find(({ snapshot }) => snapshot.abandonedBy !== null);
    if (abandoned !== undefined) throw new CarrierAbandoned(abandoned.taskId, "retry");
  }

  #revive({ retry, rerun, actions }: Revival, how: { readonly by: By; readonly force: boolean }): readonly Action[] {
    const ready: Action[] = [];
    if (how.force) for (const node of [...retry, ...rerun]) this.#parts.maps.get(node)?.forceItems();
    for (const node of retry) {
      if (this.#canGoOn(node)) this.#apply(node, [{ type: "retry", ...how.by, force: how.force }]);
      else {
        this.#rerun(node, how);
        ready.push({ type: "ready", node });
      }
    }
    for (const node of rerun) this.#rerun(node, how);
    // What ends again is a reason for what is let go: first things first.
    const isEnd = (action: Action): boolean => action.type === "end";
    return [...actions.filter(isEnd), ...ready, ...actions.filter((action) => !isEnd(action))];
  }

  /** The map begins again for that item with what it began with before: it is neither retried nor let go anew. */
  #reviveFor({ node, group, cell }: RunItem, { rerun, actions }: Revival, how: { readonly by: By; readonly force: boolean }): readonly Action[] {
    const below = rerun.filter((each) => each !== node);
    const next = this.#revive({ retry: [], rerun: below, actions: actions.filter((action) => action.type !== "ready" || action.node !== node) }, how);
    group.runItem(cell, how);
    return next;
  }

  /** A node that has run goes on with its arguments; else its condition and its arguments are yet to be worked out. */
  #canGoOn(node: number): boolean {
    const { snapshot, args } = at(this.#parts.cells, node);
    return snapshot.executor !== null && args !== undefined;
  }

  #rerun(node: number, { by, force }: { readonly by: By; readonly force: boolean }): void {
    const { plan, cells, state } = this.#parts;
    const cell = at(cells, node);
    if (cell.saved !== undefined) cell.save(undefined);
    if (typeof at(plan.nodes, node).args === "function") cell.args = undefined;
    const rerun: LifecycleEvent = { type: "rerun", ...by, force };
    this.#apply(node, standingOf(state, node) === "waiting" ? [rerun, { type: "block" }] : [rerun]);
  }

  #apply(node: number, events: readonly LifecycleEvent[]): void {
    const { cells, lifecycle } = this.#parts;
    const cell = at(cells, node);
    lifecycle.hold(cell);
    cell.error = undefined;
    const refused = lifecycle.applyAll(cell, events);
    if (refused !== null) throw refused;
  }
}

/** A node that a person has taken back to its start waits for them, and has begun with nothing yet. */
function hasBegun({ snapshot }: Cell): boolean {
  return snapshot.status !== "pending" && snapshot.status !== "blocked";
}
