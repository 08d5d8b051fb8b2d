import { InternalError, TaskCancelled } from "../core/errors.ts";
import type { By } from "../core/lifecycle-events.ts";
import { isItemDone, itemName } from "../core/map-rules.ts";
import type { ExecutionHandle, LaunchRequest, Settlement, StopRequest } from "../core/ports/executor.ts";
import { isList } from "../core/options.ts";
import type { ReasonFact } from "../core/explanation.ts";
import { DEFAULTS } from "../core/policies/timeout.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { failureOf } from "../core/thrown.ts";
import { isTerminal, REVIVABLE } from "../core/transitions.ts";
import type { Cell, ItemCarrier } from "./cell.ts";
import { ItemGate } from "./item-gate.ts";
import { ItemPause } from "./item-pause.ts";
import { settlementOf } from "./map-end.ts";
import { MapItem } from "./map-item.ts";
import type { ItemOwner } from "./map-item.ts";
import type { MapNode, MapParts, Round } from "./map-parts.ts";
import { OpenItems } from "./open-items.ts";
import { itemRefusal, renewItem, retryItem } from "./renew-item.ts";
import { creationOf, makeCell, notMade } from "./task-maker.ts";

/** So many items are made before the loop may turn. */
const CHUNK = 500;
const BACKOFF_ENDED = { type: "backoffElapsed" } as const;
const BY_MAP: By = { trigger: "pipeline:map", actor: "system" };

/**
 * The items of a map, which are its carrier: the node takes its steps as any task does, is launched when its items are made,
 * and ends by them. Holds no slot; each item takes its own. Source §3.3.
 */
export class MapGroup implements ItemCarrier, ItemOwner {
  readonly kind = "map";
  readonly supports = { pause: true, kill: true, closures: true, syncCheckpoint: true, beats: true };
  readonly #parts: MapParts;
  readonly #node: MapNode;
  readonly #gate: ItemGate;
  #items: MapItem[] = [];
  readonly openItems = new OpenItems(() => this.#items);
  #round: Round | null = null;
  /** The items are to be made, or made anew: the arguments were worked out since, or not all were made. */
  #isFresh = true;
  /** It was begun again for an item that a person revived: the others stay as they are. */
  #isForOne = false;
  /** Its next round runs items again also while an abandoned body of them still runs. */
  #isForced = false;
  readonly #pause: ItemPause;
  /** While it is paused: what it makes meanwhile waits for this. */
  #held: PromiseWithResolvers<void> | null = null;

  constructor(parts: MapParts, node: MapNode) {
    this.#parts = parts;
    this.#node = node;
    const { clock, lifecycle } = parts;
    this.#gate = new ItemGate(node.map.maxParallel, {
      clock,
      pass: (cell) => lifecycle.queue(cell),
      backoffEnded: (cell) => lifecycle.must(cell, BACKOFF_ENDED),
    });
    this.#pause = new ItemPause(parts.control, () => this.#allPaused());
  }

  /** In the order of the items; while it expands those made so far. */
  get cells(): readonly Cell[] {
    return this.#items.flatMap(({ cell, isMade }) => (isMade ? [cell] : []));
  }

  carries(taskId: string): boolean {
    return this.#items.some(({ cell }) => cell.taskId === taskId);
  }

  itemsInside(): readonly Cell[] {
    return this.#items.flatMap(({ cell, isInside }) => (isInside ? [cell] : []));
  }

  /** Can one of its items run again by itself? Not while its items are yet to be made, or made anew. */
  get canRunOne(): boolean {
    return !this.#isFresh;
  }

  /** The run is retried from this item, which has ended: the map begins again for it alone. */
  runItem(cell: Cell, { by, force }: { readonly by: By; readonly force: boolean }): void {
    const item = this.#items.find((each) => each.cell === cell);
    if (item === undefined) throw new InternalError(`task ${cell.taskId} is no item of the map "${this.#node.plan.name}".`);
    retryItem(this.#parts.lifecycle, cell, { by, force });
    this.openItems.opened(item);
    this.#beginAgainFor(item);
  }

  /** Its list of items was worked out anew. */
  renew(): void {
    this.#isFresh = true;
  }

  /** The run is retried by force: its items are, too, when they run again. */
  forceItems(): void {
    this.#isForced = true;
  }

  launch(request: LaunchRequest): ExecutionHandle {
    const { promise: settled, resolve: settle } = Promise.withResolvers<Settlement>();
    const round: Round = { request, settle, running: true, isReady: false, stop: null, isFailing: false, problem: null };
    this.#round = round;
    request.reports.launched(null);
    void this.#begin(round);
    return {
      get running() {
        return round.running;
      },
      pid: null,
      settled,
      late: settled,
      pause: () => this.#pauseItems(),
      resume: () => this.#resumeItems(),
      stop: (asked) => this.#stop(round, asked),
    };
  }

  async close(): Promise<void> {
    this.dismiss();
  }

  /** It is driven here no longer: no timer is left. */
  dismiss(): void {
    for (const item of this.#items) item.dismiss();
  }

  /** The node has ended. Where that came before it was launched, an item that it was begun for is left. */
  nodeEnded(): void {
    if (this.#round !== null) return;
    this.#isForOne = false;
    if (this.openItems.size === 0) return;
    const verb = this.#node.cell.snapshot.status === "stopped" ? "stop" : "cancel";
    this.#haltItems(verb, DEFAULTS.stopGraceMs, { ...BY_MAP, reason: `the map it belongs to was ${this.#node.cell.snapshot.status}` });
  }

  itemEnded(item: MapItem): void {
    const { status } = item.cell.snapshot;
    if (!this.#close(item, isItemDone(status, this.#node.map.failedItems))) return;
    const round = this.#round;
    if (round === null) return;
    this.#pause.ended(item.cell);
    this.#tellProgress(round);
    if (this.#node.failsFast && (status === "failed" || status === "lost") && this.#node.map.failedItems === "fail") this.#failFast(round, item.cell);
    this.#look();
  }

  reopenItem(item: MapItem, verb: string): () => void {
    const { cell } = this.#node;
    const { status, abandonedBy } = cell.snapshot;
    if (!isTerminal(status)) {
      // What is queued takes along whatever waits by then.
      if (status === "queued" || (holdsSlot(cell.snapshot) && status !== "stopping")) return () => this.openItems.opened(item);
      throw itemRefusal(item.cell, verb, `the map it belongs to is ${status}`);
    }
    if (abandonedBy !== null) throw itemRefusal(item.cell, verb, "the map it belongs to was forced away, and its items are still ending");
    const tellRun = this.#node.place.reopen(item.cell, verb);
    return () => {
      this.openItems.opened(item);
      this.#beginAgainFor(item);
      tellRun();
    };
  }

  startItem(item: MapItem, by: By): void {
    this.#parts.lifecycle.must(item.cell, { type: "start", depsOpen: false, ...by });
  }

  admitItem(item: MapItem): boolean {
    return this.#gate.admit(item);
  }

  itemWait(item: MapItem): ReasonFact | null {
    if (item.isInside) return null;
    const { status, taskId, pausedBy: by } = this.#node.cell.snapshot;
    const map = this.#node.plan.name;
    if (status === "paused" || status === "pausing") return { kind: "map_hold", map, taskId, by, reason: null };
    return { kind: "map_limit", map, limit: this.#gate.limit };
  }

  itemLeft(item: MapItem): void {
    this.#gate.left(item);
  }

  isOver(): boolean {
    return this.#node.place.isOver();
  }

  upstream(name: string): Promise<unknown> {
    return this.#node.place.upstream(name);
  }

  async #begin(round: Round): Promise<void> {
    try {
      if (this.#isFresh) await this.#expand(round);
      else if (!this.#isForOne) await this.#again(round);
    } catch (error) {
      round.problem = error;
      this.#haltItems("cancel", 0, { ...BY_MAP, reason: "its map could not be expanded" });
    }
    this.#isForOne = false;
    this.#isForced = false;
    round.isReady = true;
    if (this.#isRunnable(round) && this.#node.cell.snapshot.status === "running") this.#gate.open();
    this.#tellProgress(round);
    this.#look();
  }

  #isRunnable({ isReady, stop, problem }: Round): boolean {
    return isReady && stop === null && problem === null;
  }

  /** Every item is made before the first one begins, so that a list with one that cannot be stored runs none. */
  async #expand(round: Round): Promise<void> {
    const [items] = round.request.args;
    if (!isList(items)) throw new InternalError(`the map "${this.#node.plan.name}" has no list of items.`);
    this.#dropItems(items.length);
    for (let from = 0; from < items.length; from += CHUNK) {
      await this.#makeItems(items.slice(from, from + CHUNK), from);
      if (!(await this.#mayGoOn(round))) return;
    }
    this.#isFresh = false;
  }

  /** The loop turns, and while the map is paused nothing more is made. False: it was asked to end. */
  async #mayGoOn(round: Round): Promise<boolean> {
    await this.#parts.clock.turn();
    while (this.#held !== null && round.stop === null) await this.#held.promise;
    return round.stop === null;
  }

  #letOn(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  /** The list has become shorter: what waits behind its end is no item any more. */
  #dropItems(length: number): void {
    this.#haltItems("cancel", 0, { ...BY_MAP, reason: `the map has ${length} items now` }, length);
    this.openItems.dropped(this.#items.splice(length));
  }

  async #makeItems(values: readonly unknown[], from: number): Promise<void> {
    const made: Promise<void>[] = [];
    for (const [offset, value] of values.entries()) {
      const known = this.#items[from + offset];
      if (known?.isMade !== true) made.push(this.#makeItem(from + offset, value));
      else this.#renewItem(known, value);
    }
    await Promise.all(made);
  }

  async #makeItem(index: number, value: unknown): Promise<void> {
    const { lifecycle, journal, clock } = this.#parts;
    const { plan, runId } = this.#node;
    const now = clock.now();
    const item = new MapItem(this, index, (place) =>
      makeCell({
        definition: plan.definition,
        args: [value],
        priority: plan.priority,
        createdAt: now,
        bucket: plan.bucket,
        node: { name: itemName(plan.name, index), runId, place },
      }),
    );
    const { cell } = item;
    const creation = creationOf(cell, "enqueue", now);
    this.#items[index] = item;
    this.#node.adopt(cell);
    this.openItems.opened(item);
    // Before it is stored, so that whatever ends the map meanwhile ends it, too.
    lifecycle.hold(cell);
    const { promise, resolve } = Promise.withResolvers<Error | null>();
    journal.create(creation, resolve);
    const problem = await promise;
    if (problem !== null) {
      this.#unmake(item);
      throw notMade(`item ${index} of the map "${plan.name}"`, problem);
    }
    cell.stored ??= creation.snapshot;
    // Something may have ended it already.
    if (cell.snapshot === creation.snapshot) lifecycle.queue(cell);
  }

  #unmake(item: MapItem): void {
    item.isMade = false;
    this.#parts.lifecycle.forget(item.cell);
    this.#close(item, false);
  }

  #renewItem(item: MapItem, value: unknown): void {
    renewItem(this.#parts.lifecycle, item.cell, { value, by: BY_MAP, force: this.#isForced });
    this.openItems.opened(item);
  }

  /** The map is retried: so is each of its items that did not succeed. What cannot run again stays, and fails the map once more. */
  async #again(round: Round): Promise<void> {
    const { lifecycle } = this.#parts;
    for (const [index, item] of this.#items.entries()) {
      if (index % CHUNK === CHUNK - 1 && !(await this.#mayGoOn(round))) return;
      if (!REVIVABLE.has(item.cell.snapshot.status)) continue;
      lifecycle.hold(item.cell);
      if (lifecycle.apply(item.cell, { type: "retry", ...BY_MAP, force: this.#isForced }) === null) this.openItems.opened(item);
      else lifecycle.forget(item.cell);
    }
  }

  /** The map had ended, and a person has revived one of its items: it waits for that. */
  #beginAgainFor(item: MapItem): void {
    const { cell } = this.#node;
    const { lifecycle } = this.#parts;
    this.#isForOne = true;
    lifecycle.hold(cell);
    const by: By = { ...BY_MAP, reason: `its item ${item.name} runs again` };
    const refused = lifecycle.applyAll(cell, [
      { type: "rerun", ...by },
      { type: "enqueue", ...by },
    ]);
    if (refused !== null) throw refused;
  }

  #close(item: MapItem, isDone: boolean): boolean {
    const wasOpen = this.openItems.closed(item, isDone);
    if (wasOpen && this.openItems.size === 0) this.#node.itemsEnded();
    return wasOpen;
  }

  #failFast(round: Round, failed: Cell): void {
    if (round.isFailing || round.stop !== null) return;
    round.isFailing = true;
    const reason = `item "${failed.snapshot.node ?? ""}" ${failed.snapshot.status === "lost" ? "was lost" : "failed"}`;
    this.#haltItems("cancel", DEFAULTS.stopGraceMs, { trigger: "pipeline:fail-fast", actor: "system", reason });
    this.#node.isFailing();
  }

  #stop(round: Round, asked: StopRequest): void {
    round.stop = asked;
    this.#letOn();
    // Forced away, the node wishes nothing any more.
    const verb = this.#node.cell.snapshot.requestedAction === "stop" ? "stop" : "cancel";
    this.#haltItems(verb, asked.graceMs, { ...BY_MAP, reason: asked.message });
    this.#look();
  }

  #haltItems(verb: "stop" | "cancel", graceMs: number, by: By, from = 0): void {
    for (const { cell, isOpen } of this.#items.slice(from))
      if (isOpen && !isTerminal(cell.snapshot.status)) this.#parts.control.haltNow(cell, verb, { by, graceMs });
  }

  /** What runs is paused, and nothing else begins; what waits keeps its status. */
  #pauseItems(): void {
    this.#held ??= Promise.withResolvers();
    this.#gate.shut();
    this.#gate.takeBack(this.#items.filter((item) => item.isInside && this.#parts.lifecycle.unqueue(item.cell)));
    this.#pause.begin(this.cells, { ...BY_MAP, actor: this.#node.cell.snapshot.pausedBy ?? "system", reason: "the map it belongs to was paused" });
  }

  #resumeItems(): void {
    this.#letOn();
    this.#pause.end(BY_MAP);
    if (this.#round !== null && this.#isRunnable(this.#round)) this.#gate.open();
  }

  #allPaused(): void {
    if (this.#node.cell.snapshot.status === "pausing") this.#round?.request.reports.pauseReached();
  }

  #tellProgress({ request }: Round): void {
    request.reports.progress({ done: this.openItems.done, total: this.#items.length, unit: "items" });
  }

  /** All of it has ended, or not yet. */
  #look(): void {
    const round = this.#round;
    if (round === null || !round.isReady || this.openItems.size > 0) return;
    this.#round = null;
    round.running = false;
    this.#gate.shut();
    this.#pause.forget();
    // Its items may have been ended one by one while it was paused.
    this.#letOn();
    round.settle(this.#settlement(round));
  }

  #settlement({ problem, stop }: Round): Settlement {
    const { cell, map } = this.#node;
    const message = stop?.message ?? "its items have ended";
    if (!holdsSlot(cell.snapshot)) return { type: "threw", error: new TaskCancelled(message), noticed: true };
    if (problem !== null) return { type: "died", failure: { ...failureOf(problem), retryable: false } };
    if (this.#isFresh) return { type: "threw", error: new TaskCancelled(message), noticed: true };
    const items = this.#items.map((item) => item.cell.snapshot);
    const { settlement, endedBy } = settlementOf(items, { rule: map.failedItems, stopMessage: stop?.message ?? null });
    // Its items were stopped one by one: it goes the way of a task that is stopped.
    if (endedBy !== null) this.#parts.lifecycle.must(cell, { type: endedBy.verb, ...BY_MAP, reason: endedBy.reason });
    return settlement;
  }
}
