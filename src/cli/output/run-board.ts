import type { TaskEvent } from "../../core/events.ts";
import type { Progress } from "../../core/progress.ts";
import type { TaskSnapshot } from "../../core/snapshot.ts";
import type { TaskStatus } from "../../core/status.ts";
import { isTerminal } from "../../core/transitions.ts";
import { RateMeter } from "./rate-meter.ts";
import { STATUS_LOOKS } from "./status-look.ts";

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
}

/** What is known of a run's nodes, or of one task, from its events alone. Each event costs the same, however many nodes there are. */
export class RunBoard {
  readonly #rows = new Map<string, NodeRow>();
  /** By rank, so that what matters is found without looking at all. */
  readonly #ranks: readonly Set<NodeRow>[] = Array.from({ length: RANKS }, () => new Set<NodeRow>());
  readonly #counts = new Map<TaskStatus, number>();

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
    let ended = 0;
    for (const [status, count] of this.#counts) if (isTerminal(status)) ended += count;
    return ended;
  }

  /** Takes an event in; the row that it is about. */
  apply(event: TaskEvent): NodeRow | undefined {
    if (event.type === "PipelineRunStatusChanged") return undefined;
    const row = this.#rows.get(event.taskId) ?? this.#add(event.taskId, event.node ?? event.name, event.type === "TaskStatusChanged" ? event.from : "pending");
    if (event.type === "TaskStatusChanged") this.#step(row, event.to, event.at);
    if (event.type === "AttemptStarted") {
      row.attempt = event.attempt.attempt;
      row.startedAt ??= event.attempt.startedAt;
      row.progress = null;
      row.rate.reset();
    }
    if (event.type === "ProgressUpdated") {
      row.progress = event.progress;
      if (event.progress.done !== null) row.rate.push(event.progress.done, event.progress.updatedAt);
    }
    return row;
  }

  /** Adds what only the stored task says. */
  describe(snapshot: TaskSnapshot): void {
    const row = this.#rows.get(snapshot.taskId) ?? this.#add(snapshot.taskId, snapshot.node ?? snapshot.name, snapshot.status);
    row.maxAttempts = snapshot.maxAttempts;
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

  #add(taskId: string, name: string, status: TaskStatus): NodeRow {
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
    };
    this.#rows.set(taskId, row);
    this.#enter(row, status);
    return row;
  }

  #step(row: NodeRow, to: TaskStatus, atMs: number): void {
    this.#ranks[STATUS_LOOKS[row.status].rank]?.delete(row);
    this.#counts.set(row.status, this.count(row.status) - 1);
    row.endedAt = isTerminal(to) ? atMs : null;
    this.#enter(row, to);
  }

  #enter(row: NodeRow, status: TaskStatus): void {
    row.status = status;
    this.#ranks[STATUS_LOOKS[status].rank]?.add(row);
    this.#counts.set(status, this.count(status) + 1);
  }
}

const RANKS = 1 + Math.max(...Object.values(STATUS_LOOKS).map((look) => look.rank));
