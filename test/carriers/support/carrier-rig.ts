import "./compile-cache.ts";
import { Controller } from "../../../src/index.ts";
import type { ControllerOptions, TaskEvent, TaskHandle, TaskStatusChanged } from "../../../src/index.ts";
import type { Script } from "../fixtures/puppets.ts";
import { asyncPuppet, inlinePuppet, processPuppet, threadPuppet } from "../fixtures/puppets.ts";
import { eventually } from "./eventually.ts";

/** The puppet of each carrier. */
export const PUPPETS = { inline: inlinePuppet, async: asyncPuppet, thread: threadPuppet, process: processPuppet } as const;

/** A controller with everything it says written down. */
export class CarrierRig implements AsyncDisposable {
  readonly controller: Controller;
  readonly events: TaskEvent[] = [];
  /** What the library said beside the tasks. */
  readonly said: string[];
  readonly #listening: Promise<void>;

  private constructor(controller: Controller, said: string[]) {
    this.controller = controller;
    this.said = said;
    this.#listening = this.#listen();
  }

  static async open(options: ControllerOptions): Promise<CarrierRig> {
    const said: string[] = [];
    const line = (level: string) => (message: string, fields?: unknown) => void said.push(`${level}: ${message} ${JSON.stringify(fields)}`);
    const logger = { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") };
    return new CarrierRig(await Controller.open({ logger, ...options }), said);
  }

  /** A puppet on its carrier. */
  async puppet(kind: keyof typeof PUPPETS, script: Script): Promise<TaskHandle<string>> {
    return await this.controller.submit(PUPPETS[kind], [script]);
  }

  eventsOf(taskId: string): readonly TaskEvent[] {
    return this.events.filter((event) => event.taskId === taskId);
  }

  /** What the task emitted, or printed, under that kind. */
  outputs(taskId: string, kind: string): readonly unknown[] {
    return this.eventsOf(taskId).flatMap((event) => (event.type === "TaskOutput" && event.kind === kind ? [event.payload] : []));
  }

  warnings(taskId: string): readonly string[] {
    return this.eventsOf(taskId).flatMap((event) => (event.type === "TaskWarning" ? [event.code] : []));
  }

  /** Waits until the task has emitted the word under `at`. */
  async at(taskId: string, word: string): Promise<void> {
    await eventually(`task ${taskId} says "${word}"`, () => this.outputs(taskId, "at").includes(word));
  }

  async became(taskId: string, to: TaskStatusChanged["to"]): Promise<void> {
    await eventually(`task ${taskId} becomes ${to}`, () => this.eventsOf(taskId).some((event) => event.type === "TaskStatusChanged" && event.to === to));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.controller.close({ grace: 0 });
    await this.#listening;
  }

  async #listen(): Promise<void> {
    for await (const event of this.controller.events()) this.events.push(event);
  }
}
