import { InvalidTransition } from "../core/errors.ts";
import type { HoldKey } from "../core/holds.ts";
import type { By, CloserTrigger } from "../core/lifecycle-events.ts";
import { NOT_HELD } from "../core/run.ts";
import type { RunPauseReport, RunSnapshot, UnpausedNode } from "../core/run.ts";
import type { TaskStatus } from "../core/status.ts";
import type { Cell } from "./cell.ts";
import type { Control, VerbOptions } from "./control.ts";
import type { RunRecord } from "./run-record.ts";
import type { Scheduler } from "./scheduler.ts";

/** What a run's pause works with. */
export interface RunPauseParts {
  readonly control: Control;
  readonly record: RunRecord;
  readonly scheduler: Scheduler;
}

const REACHED: CloserTrigger = "pause:all-reached";
const LEFT: CloserTrigger = "pause:node-resumed";

/**
 * The pause of a whole run: a hold on all that has not begun, which is the run's own, and a pause of each node that runs. The
 * run is `paused` while it is held and nothing of it runs, `pausing` while it is held and something does. Source §3.3.
 */
export class RunPause {
  readonly #parts: RunPauseParts;
  /** The nodes whose code is on its way: launched, running or ending. */
  readonly #active = new Set<Cell>();
  /** What it has paused; a person may have made it theirs since: see `pausedByRun`. */
  readonly #paused = new Set<Cell>();

  constructor(parts: RunPauseParts) {
    this.#parts = parts;
  }

  /** A node has taken a step. */
  stepped(cell: Cell): void {
    const { status } = cell.snapshot;
    if (isActive(status)) this.#active.add(cell);
    else this.#active.delete(cell);
    if (status === "pausing" || status === "paused" || !this.#paused.delete(cell)) return;
    cell.pausedByRun = false;
  }

  /** After whatever its nodes did: is it still what it says? */
  settle(): void {
    const { record } = this.#parts;
    const { status } = record.run;
    const isStill = this.#active.size === 0;
    if (status === "pausing" && isStill) record.step("paused", { requestedAction: null }, { trigger: REACHED });
    else if (status === "paused" && !isStill) record.step("pausing", { requestedAction: "pause" }, { trigger: LEFT });
  }

  /** Asked again, the nodes that run on are asked again. */
  async pause(options: VerbOptions): Promise<RunPauseReport> {
    const { record, scheduler } = this.#parts;
    if (record.moves("pause")) {
      const held = { pausedBy: options.by.actor ?? "system", pauseReason: options.by.reason ?? null };
      scheduler.hold(holdOf(record.run));
      if (this.#active.size === 0) record.step("paused", held, { trigger: "user:pause", ...options.by });
      else record.step("pausing", { requestedAction: "pause", ...held }, { trigger: "user:pause", ...options.by });
    }
    const answers = await Promise.all([...this.#active].map(async (cell) => await this.#ask(cell, options)));
    const { status } = await record.written();
    return { status, unpaused: answers.filter((answer) => answer !== null) };
  }

  async resume({ by }: VerbOptions): Promise<RunSnapshot> {
    const { record, control } = this.#parts;
    if (record.moves("resume")) {
      record.step("running", NOT_HELD, { trigger: "user:resume", ...by });
      // What they do then is told by themselves.
      for (const cell of this.#paused) if (cell.pausedByRun) control.resume(cell, { by }).catch(() => {});
      this.drop();
    }
    return await record.written();
  }

  /** Its rest is being cancelled: nothing is to be held for later. */
  end(by: By): void {
    const { record } = this.#parts;
    if (record.run.pausedBy === null) return;
    record.step("running", NOT_HELD, by);
    this.drop();
  }

  /** Nothing is held any more. */
  drop(): void {
    this.#parts.scheduler.endHold(holdOf(this.#parts.record.run));
  }

  /** Answers why the node runs on; `null`: it does not. */
  async #ask(cell: Cell, options: VerbOptions): Promise<UnpausedNode | null> {
    let reason = cell.snapshot.status === "stopping" ? "it is being stopped" : "it reached no checkpoint in time";
    // Paused by a person before, it stays theirs.
    const isOurs = cell.snapshot.status !== "pausing" || cell.pausedByRun;
    try {
      const answer = this.#parts.control.pause(cell, options);
      // A map of which nothing runs yet stands still at once.
      if (isOurs && (cell.snapshot.status === "pausing" || cell.snapshot.status === "paused")) this.#keep(cell);
      await answer;
    } catch (error) {
      if (!(error instanceof InvalidTransition)) throw error;
      if (cell.snapshot.status !== "stopping") reason = error.message;
    }
    if (this.#parts.record.run.pausedBy === null) reason = "the run was resumed or ended meanwhile";
    const { status, taskId, node, name } = cell.snapshot;
    return isActive(status) ? { name: node ?? name, taskId, status, reason } : null;
  }

  #keep(cell: Cell): void {
    cell.pausedByRun = true;
    this.#paused.add(cell);
  }
}

function holdOf({ runId }: RunSnapshot): HoldKey {
  return { kind: "run", runId };
}

function isActive(status: TaskStatus): boolean {
  return status === "starting" || status === "running" || status === "pausing" || status === "stopping";
}
