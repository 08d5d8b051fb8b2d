import { Deadlock } from "../core/errors.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Cell } from "./cell.ts";
import { taskScope } from "./task-scope.ts";

/** Beyond the grace, how long a closing controller waits for a store that does not write. */
const PATIENCE_MS = 5_000;

/** How long a controller takes to close at most: the grace and some patience with the store. It can be shortened. */
export class ClosingTime {
  readonly #clock: Clock;
  readonly #up = Promise.withResolvers<void>();
  #graceMs: number;
  #timer: Timer | null = null;

  constructor(clock: Clock, graceMs: number) {
    this.#clock = clock;
    this.#graceMs = graceMs;
  }

  /** The shortest that was asked for. */
  get graceMs(): number {
    return this.#graceMs;
  }

  /** From now on it runs; resolves when it is up. */
  async begin(): Promise<void> {
    this.#start();
    await this.#up.promise;
  }

  /** False: it is not shorter, and nothing has changed. */
  shorten(graceMs: number): boolean {
    if (graceMs >= this.#graceMs) return false;
    this.#graceMs = graceMs;
    if (this.#timer !== null) this.#start();
    return true;
  }

  end(): void {
    this.#timer?.cancel();
    this.#timer = null;
  }

  #start(): void {
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimer(this.#graceMs + PATIENCE_MS, this.#up.resolve);
  }
}

/** A task that closes its own controller would wait for its own end. What it has left behind when it ended may. */
export function refuseInside(cellOf: (taskId: string) => Cell | undefined): void {
  const scope = taskScope.getStore();
  if (scope?.body?.running !== true || cellOf(scope.taskId)?.attempt !== scope.body.reports) return;
  throw new Deadlock(
    `task ${scope.taskId} ("${scope.name}") asked its own controller to close and would wait for its own end. Return or throw, and let whoever opened the controller close it.`,
  );
}
