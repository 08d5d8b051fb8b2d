import type { AgedKey } from "../core/admission.ts";
import { InternalError } from "../core/errors.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import type { HeapNode } from "./indexed-heap.ts";

/** Something that stands where the first task in it would stand. */
export interface Ranked extends HeapNode, AgedKey {
  priority: number;
  sequence: number;
  queuedAt: number;
}

/** Gives it the place of that task. */
export function rankAs(ranked: Ranked, { priority, sequence, queuedAt }: AgedKey): void {
  ranked.priority = priority;
  ranked.sequence = sequence;
  ranked.queuedAt = queuedAt;
}

/** A task as the lanes hold it, with its neighbours. All but the key is written by the lanes. */
export interface LaneTask<Self> extends AgedKey {
  /** `null`: it is in none. */
  lane: Lane<Self> | null;
  previous: Self | null;
  next: Self | null;
}

/** Tasks of one priority, linked in order; never empty. */
interface Lane<Task> extends Ranked {
  first: Task;
  last: Task;
}

/**
 * Tasks in order, a lane for each priority. Within one the order is that of arrival, so that to add, to take
 * the first and to leave touch two neighbours and no more: a heap would look at tasks all over the memory.
 * With p priorities everything is O(log p).
 */
export class TaskLanes<Task extends LaneTask<Task>> {
  readonly #compare: (a: AgedKey, b: AgedKey) => number;
  readonly #lanes: IndexedHeap<Lane<Task>>;
  readonly #byPriority = new Map<number, Lane<Task>>();

  constructor(compare: (a: AgedKey, b: AgedKey) => number) {
    this.#compare = compare;
    this.#lanes = new IndexedHeap<Lane<Task>>(compare);
  }

  get isEmpty(): boolean {
    return this.#lanes.size === 0;
  }

  /** @throws InternalError when there is none */
  get first(): Task {
    return this.#lanes.first.first;
  }

  add(task: Task): void {
    if (task.lane !== null) throw new InternalError("the task is in a lane already.");
    const lane = this.#byPriority.get(task.priority);
    if (lane === undefined) this.#open(task);
    else this.#link(task, lane);
  }

  /** @throws InternalError when it is in no lane */
  remove(task: Task): void {
    const { lane, previous, next } = task;
    if (lane === null) throw new InternalError("the task is in no lane.");
    task.lane = null;
    task.previous = null;
    task.next = null;
    if (previous !== null) previous.next = next;
    if (next !== null) next.previous = previous;
    else if (previous !== null) lane.last = previous;
    else this.#close(lane);
    if (previous === null && next !== null) this.#begin(lane, next);
  }

  /** The tasks that are wanted, in the order of each lane. O(n). */
  filter(wanted: (task: Task) => boolean): readonly Task[] {
    const tasks: Task[] = [];
    for (const lane of this.#byPriority.values()) {
      for (let task: Task | null = lane.first; task !== null; task = task.next) if (wanted(task)) tasks.push(task);
    }
    return tasks;
  }

  #open(task: Task): void {
    const { priority, sequence, queuedAt } = task;
    const lane = { heapIndex: -1, priority, sequence, queuedAt, first: task, last: task };
    this.#byPriority.set(priority, lane);
    this.#lanes.push(lane);
    task.lane = lane;
  }

  #close(lane: Lane<Task>): void {
    this.#byPriority.delete(lane.priority);
    this.#lanes.remove(lane);
  }

  /** Nearly always at the end: with aging, a task may have waited elsewhere before it came. */
  #link(task: Task, lane: Lane<Task>): void {
    let previous: Task | null = lane.last;
    while (previous !== null && this.#compare(task, previous) < 0) previous = previous.previous;
    const next = previous === null ? lane.first : previous.next;
    task.lane = lane;
    task.previous = previous;
    task.next = next;
    if (next === null) lane.last = task;
    else next.previous = task;
    if (previous === null) this.#begin(lane, task);
    else previous.next = task;
  }

  #begin(lane: Lane<Task>, first: Task): void {
    lane.first = first;
    rankAs(lane, first);
    this.#lanes.reposition(lane);
  }
}
