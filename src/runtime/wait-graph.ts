import type { Need } from "../core/knots.ts";
import type { TaskStatus } from "../core/status.ts";
import { isTerminal } from "../core/transitions.ts";
import { Cell } from "./cell.ts";
import type { PipelineDriver } from "./pipeline-driver.ts";
import type { ScopedBody } from "./task-scope.ts";

/** What a task can wait for. */
export type Awaited = Cell | PipelineDriver;

/** One wait of a running task. */
export interface TaskWait {
  readonly waiter: Waiter;
  readonly target: Awaited;
  /** `null`: any terminal status. */
  readonly wanted: TaskStatus | null;
  /** The later, the higher. */
  readonly nth: number;
  readonly raise: (error: Error) => void;
}

/** Statuses that only a person, or a stop, leads to. */
const BY_HAND: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["pausing", "paused", "stopping"]);

/** A running attempt that waits for others; it may have thousands of waits at once. */
export class Waiter {
  readonly cell: Cell;
  readonly body: ScopedBody;
  readonly #waits = new Set<TaskWait>();
  #byHand = 0;

  constructor(cell: Cell, body: ScopedBody) {
    this.cell = cell;
    this.body = body;
  }

  get waits(): ReadonlySet<TaskWait> {
    return this.#waits;
  }

  /** How many of its waits are for what a person does. */
  get byHand(): number {
    return this.#byHand;
  }

  /** What it waits for, read off as it is iterated. */
  get targets(): Iterable<Awaited> {
    const waits = this.#waits;
    return { [Symbol.iterator]: () => waits.values().map(({ target }) => target) };
  }

  add(wait: TaskWait): void {
    this.#waits.add(wait);
    if (isByHand(wait)) this.#byHand += 1;
  }

  /** Harmless where it is not one of them any more. */
  remove(wait: TaskWait): void {
    if (this.#waits.delete(wait) && isByHand(wait)) this.#byHand -= 1;
  }
}

function isByHand({ wanted }: TaskWait): boolean {
  return wanted !== null && BY_HAND.has(wanted);
}

/** Where the graph finds what it is about. */
export interface WaitGraphParts {
  readonly waiters: ReadonlyMap<string, Waiter>;
  readonly run: (runId: string) => PipelineDriver | undefined;
  /** How many tasks may hold a tag at once; `undefined`: it limits nothing. */
  readonly limitOf: (tag: string) => number | undefined;
}

type Needs = readonly Need<Awaited>[];

/** It goes on by itself, or a person must act. */
const FREE: Needs = Object.freeze([]);

/**
 * Who waits for whom, read off the tasks as they stand now: what a running task waits for, who holds the semaphores that a
 * queued one needs, what a blocked one is behind. Slots are no part of it: whoever waits lends them.
 */
export class WaitGraph {
  readonly #parts: WaitGraphParts;
  /** Where the first open node of a run was found last. */
  readonly #firstOpen = new WeakMap<PipelineDriver, number>();

  constructor(parts: WaitGraphParts) {
    this.#parts = parts;
  }

  readonly needsOf = (node: Awaited): Needs => (node instanceof Cell ? this.#ofTask(node) : this.#ofRun(node, "ends with"));

  #ofTask(cell: Cell): Needs {
    const { status, pipelineRunId } = cell.snapshot;
    const run = pipelineRunId === null ? undefined : this.#parts.run(pipelineRunId);
    if (status === "queued" || status === "retry_wait") return [...this.#semaphores(cell), ...behindOthers(cell)];
    if (status === "blocked" && run !== undefined) return this.#ofRun(run, "is blocked behind");
    if (cell.carrier !== null && status === "running") return oneOf(cell.carrier.openItems, "ends with");
    return this.#waits(cell);
  }

  #waits({ taskId }: Cell): Needs {
    const waiter = this.#parts.waiters.get(taskId);
    if (waiter === undefined || waiter.waits.size === 0 || waiter.byHand > 0 || waiter.body.stopWished) return FREE;
    return [{ of: waiter.targets, least: 1, what: "waits for" }];
  }

  /** Only those that wait for others can hold one for ever: all its slots must be theirs. */
  #semaphores({ snapshot }: Cell): Needs {
    return snapshot.tags.flatMap((tag) => {
      const limit = this.#parts.limitOf(tag);
      if (limit === undefined) return [];
      const holders = [...this.#parts.waiters.values()].map(({ cell }) => cell).filter((cell) => cell.snapshot.tags.includes(tag));
      return holders.length < limit ? [] : [{ of: holders, least: holders.length - limit + 1, what: `needs the semaphore "${tag}", held by` }];
    });
  }

  /** One node that goes on is enough: it may let others go, or bring the run to its end. */
  #ofRun(run: PipelineDriver, what: string): Needs {
    if (run.run.status !== "running") return FREE;
    return oneOf({ [Symbol.iterator]: () => this.#openNodes(run) }, what);
  }

  *#openNodes(run: PipelineDriver): Generator<Cell, void, undefined> {
    const { cells } = run;
    const from = this.#firstOpen.get(run) ?? 0;
    let isFirst = true;
    for (let count = 0; count < cells.length; count += 1) {
      const index = (from + count) % cells.length;
      const cell = cells[index];
      if (cell === undefined || !isOpen(cell)) continue;
      if (isFirst) this.#firstOpen.set(run, index);
      isFirst = false;
      yield cell;
    }
  }
}

/** Can it do anything for its run by itself, or wait for something outside it? */
function isOpen(cell: Cell): boolean {
  const { status } = cell.snapshot;
  return !isTerminal(status) && status !== "blocked";
}

/** An item of a map that waits for its turn among the others. */
function behindOthers({ place }: Cell): Needs {
  return oneOf(place?.ahead?.() ?? [], "waits for its turn behind");
}

/** Where there is none, nobody is in its way. */
function oneOf(nodes: Iterable<Awaited>, what: string): Needs {
  const [first] = nodes;
  return first === undefined ? FREE : [{ of: nodes, least: 1, what }];
}

/** For messages. */
export function nameOf(node: Awaited): string {
  return node instanceof Cell ? `task ${node.taskId} ("${node.snapshot.name}")` : `run ${node.run.runId} ("${node.run.name}")`;
}
