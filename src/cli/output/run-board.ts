import type { TaskEvent } from "../../core/events.ts";
import type { Progress } from "../../core/progress.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import type { RunStatus, TaskStatus } from "../../core/status.ts";
import { isRunTerminal } from "../../core/run.ts";
import { isTerminal } from "../../core/transitions.ts";
import { RateMeter } from "./rate-meter.ts";
import { STATUS_LOOKS } from "./status-look.ts";

/** The items of a map, which are counted and not shown one by one. */
export interface ItemTally {
  readonly counts: Map<TaskStatus, number>;
  /** So many failures of items were told in a line of their own. */
  failuresTold: number;
  /** Attempts that each may have; `null`: not known yet. */
  maxAttempts: number | null;
  /** What the map has reported; the row shows as much of it as is known of the items. */
  reported: Progress | null;
}

/** What is shown of one node. Instants are epoch milliseconds. */
export interface NodeRow {
  readonly taskId: string;
  readonly name: string;
  status: TaskStatus;
  attempt: number;
  /** `null`: not known yet. */
  maxAttempts: number | null;
  /** When its first attempt began. */
  startedAt: number | null;
  endedAt: number | null;
  progress: Progress | null;
  /** Why it has ended as it did, where only the stored task says so. */
  endReason: string | null;
  readonly rate: RateMeter;
  /** Of a map that has begun; `null`: it is none. */
  items: ItemTally | null;
  /** The map that it is an item of; such a row is counted there, and is none of the board's. */
  readonly map: NodeRow | null;
}

/** What is known of a run's nodes, or of one task, from its events alone. Each event costs the same, however many nodes there are. */
export class RunBoard {
  readonly #rows = new Map<string, NodeRow>();
  readonly #items = new Map<string, NodeRow>();
  /** By name. */
  readonly #maps = new Map<string, NodeRow>();
  /** By rank, so that what matters is found without looking at all. */
  readonly #ranks: readonly Set<NodeRow>[] = Array.from({ length: RANKS }, () => new Set<NodeRow>());
  readonly #counts = new Map<TaskStatus, number>();

  /** Of the whole run; `null` for a task on its own. */
  runStatus: RunStatus | null = null;
  /** When the run began, or the task on its own was made; `null`: not yet. */
  startedAt: number | null = null;
  /** Since then nothing goes on any more; `null`: something does. */
  endedAt: number | null = null;

  get size(): number {
    return this.#rows.size;
  }

  /** In the order in which they were made, which puts each after its upstreams. */
  get rows(): IteratorObject<NodeRow> {
    return this.#rows.values();
  }

  /** Is there work that time alone moves? */
  get isActive(): boolean {
    return (this.#ranks[1]?.size ?? 0) > 0 || (this.#ranks[2]?.size ?? 0) > 0;
  }

  count(status: TaskStatus): number {
    return this.#counts.get(status) ?? 0;
  }

  /** How many have ended. */
  get ended(): number {
    return endedOf(this.#counts);
  }

  /** Takes an event in; the row that it is about. */
  apply(event: TaskEvent): NodeRow | undefined {
    if (event.type === "PipelineRunStatusChanged") {
      this.runStatus = event.to;
      if (event.to === "running") this.startedAt ??= event.at;
      if (isRunTerminal(event.to)) this.endedAt = event.at;
      return undefined;
    }
    if (event.pipelineRunId === null) this.startedAt ??= event.at;
    const row = this.#find(event.taskId) ?? this.#add(event.taskId, event.node ?? event.name, event.type === "TaskStatusChanged" ? event.from : "pending");
    if (event.type === "TaskStatusChanged") this.#step(row, event.to, event.at);
    if (event.type === "AttemptStarted") {
      row.attempt = event.attempt.attempt;
      row.startedAt ??= event.attempt.startedAt;
      row.progress = null;
      row.rate.reset();
      if (event.attempt.executor === MAP) this.#isMap(row);
    }
    if (event.type === "ProgressUpdated") {
      if (row.items === null) row.progress = event.progress;
      else reportMap(row, row.items, event.progress);
      if (event.progress.done !== null) row.rate.push(event.progress.done, event.progress.updatedAt);
    }
    return row;
  }

  /** Adds what only the stored task says. */
  describe(snapshot: TaskSnapshot): void {
    const row = this.#find(snapshot.taskId) ?? this.#add(snapshot.taskId, snapshot.node ?? snapshot.name, snapshot.status);
    if (snapshot.executor === MAP) this.#isMap(row);
    row.maxAttempts = snapshot.maxAttempts;
    if (row.map?.items) row.map.items.maxAttempts ??= snapshot.maxAttempts;
    row.endReason = snapshot.failure?.message ?? null;
  }

  /** At most `max` rows, those that matter most first; all in their own order where all fit. */
  select(max: number): readonly NodeRow[] {
    if (this.size <= max) return [...this.#rows.values()];
    const chosen: NodeRow[] = [];
    for (const rank of this.#ranks) {
      for (const row of rank) {
        if (chosen.length >= max) return chosen;
        chosen.push(row);
      }
    }
    return chosen;
  }

  #find(taskId: string): NodeRow | undefined {
    return this.#rows.get(taskId) ?? this.#items.get(taskId);
  }

  #isMap(row: NodeRow): void {
    row.items ??= { counts: new Map(), failuresTold: 0, maxAttempts: null, reported: null };
    this.#maps.set(row.name, row);
  }

  /** The node named by an item: no other node may be called like one. */
  #mapOf(name: string): NodeRow | null {
    const bracket = this.#maps.size === 0 ? -1 : name.lastIndexOf("[");
    return bracket < 0 ? null : (this.#maps.get(name.slice(0, bracket)) ?? null);
  }

  #add(taskId: string, name: string, status: TaskStatus): NodeRow {
    const map = this.#mapOf(name);
    const row: NodeRow = {
      taskId,
      name,
      status,
      attempt: 0,
      maxAttempts: null,
      startedAt: null,
      endedAt: null,
      progress: null,
      endReason: null,
      rate: new RateMeter(),
      items: null,
      map,
    };
    (map === null ? this.#rows : this.#items).set(taskId, row);
    this.#enter(row, status);
    return row;
  }

  #step(row: NodeRow, to: TaskStatus, atMs: number): void {
    const counts = this.#countsOf(row);
    counts.set(row.status, (counts.get(row.status) ?? 0) - 1);
    if (row.map === null) this.#ranks[STATUS_LOOKS[row.status].rank]?.delete(row);
    row.endedAt = isTerminal(to) ? atMs : null;
    this.#enter(row, to);
    if (row.map === null) this.#settle(atMs);
    else if (row.endedAt !== null && row.map.items !== null) reportMap(row.map, row.map.items, row.map.items.reported);
  }

  /** The clock stands where all has ended, before the run says so. */
  #settle(atMs: number): void {
    if (this.ended < this.size) this.endedAt = null;
    else this.endedAt ??= atMs;
  }

  #enter(row: NodeRow, status: TaskStatus): void {
    const counts = this.#countsOf(row);
    row.status = status;
    counts.set(status, (counts.get(status) ?? 0) + 1);
    if (row.map === null) this.#ranks[STATUS_LOOKS[status].rank]?.add(row);
  }

  #countsOf(row: NodeRow): Map<TaskStatus, number> {
    return row.map?.items?.counts ?? this.#counts;
  }
}

function endedOf(counts: ReadonlyMap<TaskStatus, number>): number {
  let ended = 0;
  for (const [status, count] of counts) if (isTerminal(status)) ended += count;
  return ended;
}

/** A map reports an item's end at once, the item's own event comes when it is stored: no more is shown than its items have told. */
function reportMap(row: NodeRow, items: ItemTally, reported: Progress | null): void {
  items.reported = reported;
  const ended = endedOf(items.counts);
  row.progress = reported === null || reported.done === null || reported.done <= ended ? reported : { ...reported, done: ended };
}

/** The kind of carrier of a node that is a map. */
const MAP = "map";
const RANKS = 1 + Math.max(...Object.values(STATUS_LOOKS).map((look) => look.rank));
