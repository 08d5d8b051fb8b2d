import { Deadlock } from "../core/errors.ts";
import { ringThrough, stuckFrom } from "../core/knots.ts";
import type { Link } from "../core/knots.ts";
import { isRunTerminal } from "../core/run.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import type { TaskStatus } from "../core/status.ts";
import { isTerminal } from "../core/transitions.ts";
import { Cell } from "./cell.ts";
import type { PipelineDriver } from "./pipeline-driver.ts";
import type { Scheduler } from "./scheduler.ts";
import { taskScope } from "./task-scope.ts";
import type { ScopedBody, TaskScope } from "./task-scope.ts";
import { nameOf, Waiter, WaitGraph } from "./wait-graph.ts";
import type { Awaited, TaskWait } from "./wait-graph.ts";

/** What lending works with. */
export interface LendingParts {
  readonly scheduler: Pick<Scheduler, "lend" | "takeBack">;
  /** The task, while it has not ended. */
  readonly cell: (taskId: string) => Cell | undefined;
  readonly run: (runId: string) => PipelineDriver | undefined;
  /** How many tasks may hold a tag at once; `undefined`: it limits nothing. */
  readonly limitOf: (tag: string) => number | undefined;
}

/** The reason of an end that nobody sees. */
const OVER = Symbol("over");

/** So many links of a ring are told in words. */
const MOST_TOLD = 6;

/**
 * Waits of tasks for other tasks. A task that waits lends its global and its bucket slot from its first wait until its last
 * one ends, and takes them back, ahead of the queue, before it goes on. A wait is a checkpoint: a stop ends it, a pause
 * takes hold in it. Waits that could never end are told so: `Deadlock`, to one of those that wait in a ring.
 */
export class Lending {
  readonly #parts: LendingParts;
  readonly #graph: WaitGraph;
  readonly #waiters = new Map<string, Waiter>();
  readonly #byTarget = new Map<Awaited, Set<TaskWait>>();
  /** What may have come to stand still, to be looked at once this turn is over. */
  readonly #suspects = new Set<Awaited>();
  #waits = 0;

  constructor(parts: LendingParts) {
    this.#parts = parts;
    this.#graph = new WaitGraph({ ...parts, waiters: this.#waiters });
  }

  /**
   * Waits on behalf of whoever is on the stack; outside a task that is all there is to it.
   * @param wanted the status that is waited for; `null`: any terminal one
   * @param arrival is told by its signal that nobody waits any more
   * @throws Deadlock, TaskCancelled once the task that waits is to stop
   */
  wait<Value>(target: Awaited, wanted: TaskStatus | null, arrival: (over?: AbortSignal) => Promise<Value>): Promise<Value> {
    const scope = taskScope.getStore();
    // What a task has left behind it waits like anybody else.
    return scope === undefined || scope.body?.running !== true ? arrival() : this.#waitInside(scope, scope.body, { target, wanted, arrival });
  }

  /** A task has taken a step: it may need what somebody holds who waits for it, or have been the last that kept its run going. */
  stepped(cell: Cell): void {
    if (this.#waiters.size === 0) return;
    const { snapshot, taskId } = cell;
    if (!holdsSlot(snapshot)) this.#waiters.delete(taskId);
    if (!isTerminal(snapshot.status)) {
      if (!holdsSlot(snapshot)) this.#suspect(cell);
      return;
    }
    this.#handOver(cell);
    const run = snapshot.pipelineRunId === null ? undefined : this.#parts.run(snapshot.pipelineRunId);
    if (run === undefined) return;
    if (isRunTerminal(run.run.status)) this.#handOver(run);
    else this.#suspect(run);
  }

  /** Limits have changed: whoever waits may wait for ever now. */
  limitsChanged(): void {
    for (const { cell } of this.#waiters.values()) this.#suspect(cell);
  }

  /** The ids of the tasks and runs that a running task waits for, in the order in which it began to. */
  awaitedBy(taskId: string): readonly string[] {
    return [...(this.#waiters.get(taskId)?.waits ?? [])].map(({ target }) => (target instanceof Cell ? target.taskId : target.run.runId));
  }

  /** Whoever has waited for this alone goes on once the end is stored: the slot that is free now is theirs, not the queue's. */
  #handOver(ended: Awaited): void {
    for (const { waiter } of this.#byTarget.get(ended) ?? []) {
      const { taskId } = waiter.cell;
      if (waiter.waits.size === 1 && this.#waiters.get(taskId) === waiter) void this.#parts.scheduler.takeBack(taskId);
    }
  }

  async #waitInside<Value>(
    scope: TaskScope,
    body: ScopedBody,
    { target, wanted, arrival }: { readonly target: Awaited; readonly wanted: TaskStatus | null; readonly arrival: (over: AbortSignal) => Promise<Value> },
  ): Promise<Value> {
    // Asked to stop already: as at a checkpoint, nothing is waited for.
    if (body.stopWished) await body.during(Promise.resolve());
    const { promise: raised, reject: raise } = Promise.withResolvers<never>();
    const wait = this.#begin(scope, body, { target, wanted, raise });
    const over = new AbortController();
    try {
      const arrived = arrival(over.signal);
      return await body.during(wait === null ? arrived : Promise.race([arrived, raised]));
    } finally {
      over.abort(OVER);
      if (wait !== null) await this.#end(wait);
    }
  }

  /** `null`: the task that waits is not one that runs here. */
  #begin({ taskId }: TaskScope, body: ScopedBody, asked: Pick<TaskWait, "target" | "wanted" | "raise">): TaskWait | null {
    const cell = this.#parts.cell(taskId);
    if (cell === undefined || cell.attempt !== body.reports) return null;
    const waiter = this.#waiters.get(taskId) ?? new Waiter(cell, body);
    const wait: TaskWait = { waiter, nth: (this.#waits += 1), ...asked };
    this.#waiters.set(taskId, waiter);
    this.#add(wait);
    const refused = this.#untie(cell, wait);
    if (refused !== null) {
      if (waiter.waits.size === 0) this.#waiters.delete(taskId);
      throw refused;
    }
    this.#parts.scheduler.lend(taskId);
    return wait;
  }

  /** With the last of its waits the task goes on: not before it has its slots again, unless it is to stop. */
  async #end(wait: TaskWait): Promise<void> {
    const { waiter } = wait;
    const { taskId } = waiter.cell;
    this.#remove(wait);
    if (this.#waiters.get(taskId) !== waiter) return;
    if (waiter.waits.size > 0) {
      this.#suspect(waiter.cell);
      return;
    }
    this.#waiters.delete(taskId);
    const back = this.#parts.scheduler.takeBack(taskId);
    // Told to stop it cleans up at once, and the next slot that is free is still its own.
    if (back !== null) await waiter.body.during(back);
  }

  #add(wait: TaskWait): void {
    wait.waiter.add(wait);
    const waits = this.#byTarget.get(wait.target);
    if (waits === undefined) this.#byTarget.set(wait.target, new Set([wait]));
    else waits.add(wait);
  }

  #remove(wait: TaskWait): void {
    wait.waiter.remove(wait);
    const waits = this.#byTarget.get(wait.target);
    waits?.delete(wait);
    if (waits?.size === 0) this.#byTarget.delete(wait.target);
  }

  #suspect(node: Awaited): void {
    if (this.#suspects.size === 0) queueMicrotask(this.#look);
    this.#suspects.add(node);
  }

  readonly #look = (): void => {
    const suspects = [...this.#suspects];
    this.#suspects.clear();
    for (const node of suspects) this.#untie(node, null);
  };

  /** Raises waits until the node can go on; answers with the error where it is the newest wait's own. */
  #untie(node: Awaited, newest: TaskWait | null): Deadlock | null {
    for (;;) {
      const stuck = stuckFrom(node, this.#graph.needsOf);
      const knot = stuck.size === 0 ? null : this.#knotIn(stuck);
      if (knot === null) return null;
      const { wait, ring } = knot;
      this.#remove(wait);
      const error = deadlock(ring, wait);
      if (wait === newest) return error;
      wait.raise(error);
    }
  }

  /** The wait that began last among those on a ring: it has closed it, or is as good as any other. */
  #knotIn(stuck: ReadonlySet<Awaited>): { readonly wait: TaskWait; readonly ring: readonly Link<Awaited>[] } | null {
    const waits = [...this.#waiters.values()].filter(({ cell }) => stuck.has(cell)).flatMap((waiter) => [...waiter.waits]);
    for (const wait of waits.toSorted((a, b) => b.nth - a.nth)) {
      const ring = ringThrough<Awaited>(wait.waiter.cell, stuck, this.#graph.needsOf);
      if (ring !== null) return { wait, ring };
    }
    return null;
  }
}

function deadlock(ring: readonly Link<Awaited>[], { waiter, target }: TaskWait): Deadlock {
  const names = [...ring.map(({ node }) => node), waiter.cell].map((node) => (node instanceof Cell ? node.taskId : node.run.runId));
  const told = ring.slice(0, MOST_TOLD).map(({ what }, index) => {
    const next = ring[index + 1]?.node ?? waiter.cell;
    return `${what} ${nameOf(next)}`;
  });
  const more = ring.length > MOST_TOLD ? `, and so on over ${ring.length - MOST_TOLD} more` : "";
  const text = `${nameOf(waiter.cell)} would wait for ${nameOf(target)} for ever: it ${told.join(", which ")}${more}`;
  return new Deadlock(`${text}. Return before the other is awaited, let somebody outside wait, or take the tag from one of them.`, { path: names });
}
