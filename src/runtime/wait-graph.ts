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

/** A running attempt that waits for others. */
export interface Waiter {
  readonly cell: Cell;
  readonly body: ScopedBody;
  readonly waits: Set<TaskWait>;
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

/** Statuses that only a person, or a stop, leads to. */
const BY_HAND: ReadonlySet<TaskStatus> = new Set<TaskStatus>(["pausing", "paused", "stopping"]);

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
    if (cell.carrier !== null && status === "running") return oneOf(cell.carrier.openItems(), "ends with");
    return this.#waits(cell);
  }

  #waits({ taskId }: Cell): Needs {
    const waiter = this.#parts.waiters.get(taskId);
    if (waiter === undefined || waiter.waits.size === 0 || waiter.body.stopWished) return FREE;
    const targets: Awaited[] = [];
    for (const { target, wanted } of waiter.waits) {
      if (wanted !== null && BY_HAND.has(wanted)) return FREE;
      targets.push(target);
    }
    return [{ of: targets, least: 1, what: "waits for" }];
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
    const open = { [Symbol.iterator]: () => this.#openNodes(run) };
    const [first] = open;
    return first === undefined ? FREE : [{ of: open, least: 1, what }];
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

function oneOf(cells: readonly Cell[], what: string): Needs {
  return cells.length === 0 ? FREE : [{ of: cells, least: 1, what }];
}

/** For messages. */
export function nameOf(node: Awaited): string {
  return node instanceof Cell ? `task ${node.taskId} ("${node.snapshot.name}")` : `run ${node.run.runId} ("${node.run.name}")`;
}
