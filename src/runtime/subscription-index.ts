import type { TaskEvent, TaskEventType } from "../core/events.ts";

/** Which events are wanted: those that fit all that is named; where nothing is named, every event. */
export interface EventFilter {
  readonly taskId?: string;
  readonly pipelineRunId?: string;
  readonly types?: readonly TaskEventType[];
}

/** Somebody who wants events. */
export interface Subscription {
  readonly filter: EventFilter;
  /** The number of the last event that was published before it came: it gets those after that one. */
  readonly since: number;
  /** Never throws. */
  readonly receive: (event: TaskEvent) => void;
}

type Subscriptions = ReadonlySet<Subscription>;

/** Subscriptions by task and by run, so that an event costs what its own subscribers cost, however many others there are. */
export class SubscriptionIndex {
  readonly #byTask = new Map<string, Set<Subscription>>();
  readonly #byRun = new Map<string, Set<Subscription>>();
  readonly #others = new Set<Subscription>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Those that name neither a task nor a run. */
  get others(): Subscriptions {
    return this.#others;
  }

  ofTask(taskId: string | null): Subscriptions | undefined {
    return taskId === null ? undefined : this.#byTask.get(taskId);
  }

  /** Those that name the run and no task. */
  ofRun(pipelineRunId: string | null): Subscriptions | undefined {
    return pipelineRunId === null ? undefined : this.#byRun.get(pipelineRunId);
  }

  add(subscription: Subscription): void {
    const { taskId, pipelineRunId } = subscription.filter;
    if (taskId !== undefined) addTo(this.#byTask, taskId, subscription);
    else if (pipelineRunId !== undefined) addTo(this.#byRun, pipelineRunId, subscription);
    else this.#others.add(subscription);
    this.#size += 1;
  }

  /** Harmless when it is out already. */
  delete(subscription: Subscription): void {
    if (this.#take(subscription)) this.#size -= 1;
  }

  #take(subscription: Subscription): boolean {
    const { taskId, pipelineRunId } = subscription.filter;
    if (taskId !== undefined) return takeFrom(this.#byTask, taskId, subscription);
    if (pipelineRunId !== undefined) return takeFrom(this.#byRun, pipelineRunId, subscription);
    return this.#others.delete(subscription);
  }
}

/** Does the event fit all that the filter names? */
export function matches({ taskId, pipelineRunId, types }: EventFilter, event: Pick<TaskEvent, "taskId" | "pipelineRunId" | "type">): boolean {
  return (
    (taskId === undefined || taskId === event.taskId) &&
    (pipelineRunId === undefined || pipelineRunId === event.pipelineRunId) &&
    (types === undefined || types.includes(event.type))
  );
}

function addTo(sets: Map<string, Set<Subscription>>, key: string, subscription: Subscription): void {
  const set = sets.get(key);
  if (set === undefined) sets.set(key, new Set([subscription]));
  else set.add(subscription);
}

function takeFrom(sets: Map<string, Set<Subscription>>, key: string, subscription: Subscription): boolean {
  const set = sets.get(key);
  if (set === undefined || !set.delete(subscription)) return false;
  if (set.size === 0) sets.delete(key);
  return true;
}
