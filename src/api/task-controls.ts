import type { TaskEvent } from "../core/events.ts";
import { checkOneOf } from "../core/options.ts";
import type { TaskSnapshot } from "../core/snapshot.ts";
import { isRunTerminal } from "../core/run.ts";
import { isTerminal } from "../core/transitions.ts";
import { VERBS, verbCell } from "../core/verbs.ts";
import type { Verb, VerbAnswer } from "../core/verbs.ts";
import type { Cell } from "../runtime/cell.ts";
import type { Engine } from "../runtime/engine.ts";
import { follow } from "../runtime/event-feed.ts";
import type { TaskDefinition } from "../runtime/task-definition.ts";
import { readEventOptions, readForceOptions, readResetOptions, readSkipOptions, readStatus, readVerbOptions, readWaitOptions } from "./options.ts";

/** The verbs and questions about one task by its id: what handles and the controller share. */
export class TaskControls {
  readonly #engine: Engine;
  readonly #definitionOf: (name: string, overrides: unknown) => TaskDefinition;

  constructor(engine: Engine, definitionOf: (name: string, overrides: unknown) => TaskDefinition) {
    this.#engine = engine;
    this.#definitionOf = definitionOf;
  }

  async get(taskId: string): Promise<TaskSnapshot> {
    return await this.#engine.get(taskId);
  }

  async start(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const read = readVerbOptions(options, "start");
    return await this.#onHeld(taskId, async (cell) => await this.#engine.control.start(cell, read));
  }

  async halt(taskId: string, verb: "stop" | "cancel", options: unknown): Promise<TaskSnapshot> {
    const read = readVerbOptions(options, verb);
    return await this.#engine.control.halt(await this.#cell(taskId), verb, read);
  }

  async pause(taskId: string, options: unknown): Promise<boolean> {
    const read = readVerbOptions(options, "pause");
    return await this.#engine.control.pause(await this.#cell(taskId), read);
  }

  async resume(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const read = readVerbOptions(options, "resume");
    return await this.#engine.control.resume(await this.#cell(taskId), read);
  }

  async retry(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const read = readVerbOptions(options, "retry");
    return await this.#onHeld(taskId, async (cell) => await this.#engine.control.retry(cell, read));
  }

  async skip(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const read = readSkipOptions(options);
    return await this.#onHeld(taskId, async (cell) => await this.#engine.control.skip(cell, read, read.outcome));
  }

  async reset(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const read = readResetOptions(options);
    return await this.#onHeld(taskId, async (cell) => await this.#engine.control.reset(cell, read));
  }

  async force(taskId: string, to: unknown, options: unknown): Promise<TaskSnapshot> {
    const status = readStatus(to, "forceTransition: to");
    const read = readForceOptions(options, status);
    return await this.#onHeld(taskId, async (cell) => await this.#engine.control.force(cell, status, read));
  }

  /** Waits for its end, however long that takes. */
  ended(taskId: string): Promise<TaskSnapshot> {
    return this.#engine.wait(taskId, null, { timeoutMs: null });
  }

  async wait(taskId: string, options: unknown): Promise<TaskSnapshot> {
    const { wanted, timeoutMs, signal } = readWaitOptions(options);
    return await this.#engine.wait(taskId, wanted, { timeoutMs, signal });
  }

  /** What is held in memory of a task that is driven here now. */
  live(taskId: string): Cell | undefined {
    return this.#engine.withValue(taskId);
  }

  async can(taskId: string, verb: Verb): Promise<VerbAnswer> {
    checkOneOf(verb, VERBS, "can: verb");
    const snapshot = this.#engine.cell(taskId)?.snapshot ?? (await this.#engine.get(taskId));
    const isRevival = verb === "retry" || verb === "reset";
    if (isRevival && verbCell(snapshot, verb).effect === "moves" && isTerminal(snapshot.status) && this.#hasEnded(snapshot.pipelineRunId)) {
      return { allowed: false, reason: "the run it belongs to has ended" };
    }
    const supportsPause = this.#engine.executors.get(this.#definitionOf(snapshot.name, null).executor)?.supports.pause ?? false;
    return this.#engine.control.can(snapshot, verb, supportsPause);
  }

  #hasEnded(runId: string | null): boolean {
    if (runId === null) return false;
    const driver = this.#engine.run(runId);
    return driver === undefined || isRunTerminal(driver.run.status);
  }

  eventsOf(taskId: string, options: unknown): AsyncGenerator<TaskEvent, void, undefined> {
    const { types, signal } = readEventOptions(options);
    return follow(this.#engine, { of: { taskId }, types, signal, ends: endsTask });
  }

  /** For verbs that lead to an attempt. Two may ask at once: both get the cell that is driven from now on. */
  async #onHeld(taskId: string, act: (cell: Cell) => Promise<TaskSnapshot>): Promise<TaskSnapshot> {
    const cell = this.#engine.hold(await this.#cell(taskId));
    try {
      return await act(cell);
    } finally {
      this.#engine.letGo(cell);
    }
  }

  async #cell(taskId: string): Promise<Cell> {
    return await this.#engine.cellOf(taskId, this.#definitionOf);
  }
}

function endsTask(event: TaskEvent): boolean | undefined {
  return event.type === "TaskStatusChanged" ? isTerminal(event.to) : undefined;
}
