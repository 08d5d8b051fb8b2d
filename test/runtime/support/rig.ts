import { resolveConcurrencyPolicy } from "../../../src/core/policies/concurrency.ts";
import type { ConcurrencyPolicy } from "../../../src/core/policies/concurrency.ts";
import { resolveRetryPolicy } from "../../../src/core/policies/retry.ts";
import type { RetryPolicy } from "../../../src/core/policies/retry.ts";
import { resolveTimeoutPolicy } from "../../../src/core/policies/timeout.ts";
import type { TimeoutPolicy } from "../../../src/core/policies/timeout.ts";
import type { TaskEvent, TaskStatusChanged } from "../../../src/core/events.ts";
import type { Executor, TaskBody } from "../../../src/core/ports/executor.ts";
import type { StoreSupports } from "../../../src/core/ports/store.ts";
import { validateSnapshot } from "../../../src/core/snapshot-rules.ts";
import type { TaskSnapshot } from "../../../src/core/snapshot.ts";
import type { Cell } from "../../../src/runtime/cell.ts";
import { Engine } from "../../../src/runtime/engine.ts";
import { readCarrierOptions } from "../../../src/api/carrier-options.ts";
import { memoryStore } from "../../../src/stores/memory/store.ts";
import { FakeClock } from "../../../src/testing/fake-clock.ts";
import { FaultStore } from "./fault-store.ts";

/** What a rig may be told. */
export interface RigOptions {
  readonly concurrency?: ConcurrencyPolicy;
  readonly supports?: Partial<StoreSupports>;
  readonly random?: () => number;
  /** Executors beside the library's own. */
  readonly executors?: readonly Executor[];
  /** The logger throws. */
  readonly logThrows?: boolean;
}

/** What a task may be told. */
export interface SubjectOptions {
  /** Default: `async`. */
  readonly executor?: string;
  readonly retry?: RetryPolicy;
  readonly timeout?: TimeoutPolicy;
  readonly tags?: readonly string[];
  readonly args?: readonly unknown[];
  readonly priority?: number;
}

/** Who asks in the tests. */
export const ADA = { by: { actor: "ada", reason: null } } as const;

/** An engine on a fake clock over a store that can be made to fail, with everything it says written down. */
export class Rig {
  readonly clock = new FakeClock();
  readonly store: FaultStore;
  readonly engine: Engine;
  readonly events: TaskEvent[] = [];
  /** What the library said beside the tasks: `level: message`. */
  readonly said: string[] = [];

  private constructor(options: RigOptions) {
    this.store = new FaultStore(memoryStore(), options.supports);
    const line =
      (level: string) =>
      (message: string): void => {
        this.said.push(`${level}: ${message}`);
        if (options.logThrows === true) throw new Error("no disk for the log");
      };
    this.engine = new Engine({
      store: this.store,
      clock: this.clock,
      logger: { debug: line("debug"), info: line("info"), warn: line("warn"), error: line("error") },
      concurrency: resolveConcurrencyPolicy(options.concurrency),
      random: options.random ?? (() => 0.5),
      carriers: readCarrierOptions({ executors: options.executors ?? [] }),
      artifacts: null,
      loopWatch: null,
    });
    this.engine.bus.subscribe({}, (event) => this.events.push(event));
  }

  static async open(options: RigOptions = {}): Promise<Rig> {
    const rig = new Rig(options);
    await rig.store.open();
    return rig;
  }

  /** Submits a task and lets everything settle that needs no time. */
  async submit(run: TaskBody, options: SubjectOptions = {}): Promise<Cell> {
    const cell = await this.engine.submit(submission(run, options));
    await this.settle();
    return cell;
  }

  /** Everything that needs no time happens. */
  async settle(): Promise<void> {
    await this.clock.advance(0);
  }

  async row(cell: Cell): Promise<TaskSnapshot> {
    return await this.engine.get(cell.taskId);
  }

  /** The steps of a task as stored: `from → to (trigger)`. */
  async steps(cell: Cell): Promise<readonly string[]> {
    return (await this.store.audit.history(cell.taskId)).map(stepText);
  }

  warnings(cell: Cell): readonly string[] {
    return this.events.filter((event) => event.taskId === cell.taskId).flatMap((event) => (event.type === "TaskWarning" ? [event.code] : []));
  }

  /** What nothing may be left of: slots, timers, tasks in memory, whoever listens beside the rig itself. */
  get left(): { readonly slots: number; readonly timers: number; readonly tasks: number; readonly listeners: number } {
    const { engine, clock } = this;
    return { slots: engine.load.slots.total, timers: clock.pendingTimers, tasks: engine.load.tasks, listeners: engine.bus.listenerCount - 1 };
  }
}

/** Nothing is left. */
export const NOTHING_LEFT = { slots: 0, timers: 0, tasks: 0, listeners: 0 } as const;

/** The one timer there is while attempts run whose carriers do not beat by themselves. */
export const HEARTBEAT = 1;

/** One attempt runs, and nothing else is going on. */
export const ONE_RUNS = { slots: 1, timers: HEARTBEAT, tasks: 1, listeners: 0 } as const;

/** A task to be submitted. */
export function submission(run: TaskBody, options: SubjectOptions = {}): Parameters<Engine["submit"]>[0] {
  const { executor = "async", retry, timeout, tags = [], args = [], priority = 0 } = options;
  const definition = {
    name: "subject",
    run,
    executor,
    module: null,
    retry: resolveRetryPolicy(retry, "retry"),
    timeout: resolveTimeoutPolicy(timeout, "timeout"),
    tags,
  };
  return { definition, args, priority };
}

/** `from → to (trigger)`. */
export function stepText({ from, to, trigger }: TaskStatusChanged): string {
  return `${from} → ${to} (${trigger})`;
}

/** R1 and R2: each step begins where the one before it ended, versions rise by one, and the dimensions agree. */
export function brokenRules(history: readonly TaskStatusChanged[], row: TaskSnapshot): readonly string[] {
  const broken = history.flatMap((step, index) => {
    const before = history[index - 1];
    const wrong: string[] = [];
    if (before !== undefined && before.to !== step.from) wrong.push(`${stepText(step)} follows ${stepText(before)}`);
    if (before !== undefined && before.statusVersion + 1 !== step.statusVersion) wrong.push(`version ${step.statusVersion} follows ${before.statusVersion}`);
    return wrong;
  });
  if (history.at(-1)?.to !== row.status) broken.push(`the row is ${row.status}, the last step led to ${history.at(-1)?.to}`);
  return [...broken, ...validateSnapshot(row)];
}
