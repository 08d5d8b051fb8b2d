import type { TaskEvent, TaskStatusChanged } from "../../../../src/core/events.ts";
import { resolveConcurrencyPolicy } from "../../../../src/core/policies/concurrency.ts";
import { resolveRetryPolicy } from "../../../../src/core/policies/retry.ts";
import type { RetryPolicy } from "../../../../src/core/policies/retry.ts";
import { resolveTimeoutPolicy } from "../../../../src/core/policies/timeout.ts";
import type { TimeoutPolicy } from "../../../../src/core/policies/timeout.ts";
import { quietLogger } from "../../../../src/core/ports/logger.ts";
import type { TaskSnapshot } from "../../../../src/core/snapshot.ts";
import type { Cell } from "../../../../src/runtime/cell.ts";
import { Engine } from "../../../../src/runtime/engine.ts";
import { memoryStore } from "../../../../src/stores/memory/store.ts";
import { FakeClock } from "../../../../src/testing/fake-clock.ts";
import type { FakeExecutor } from "../../../../src/testing/fake-executors.ts";

/** One task on a fake executor, under the real supervisor, on a fake clock. */
export class Supervised {
  readonly clock: FakeClock;
  readonly engine: Engine;
  readonly fake: FakeExecutor;
  readonly cell: Cell;
  readonly #events: TaskEvent[];

  private constructor(parts: {
    readonly clock: FakeClock;
    readonly engine: Engine;
    readonly fake: FakeExecutor;
    readonly cell: Cell;
    readonly events: TaskEvent[];
  }) {
    this.clock = parts.clock;
    this.engine = parts.engine;
    this.fake = parts.fake;
    this.cell = parts.cell;
    this.#events = parts.events;
  }

  static async begin(
    makeFake: (clock: FakeClock) => FakeExecutor,
    { retry, timeout }: { readonly retry?: RetryPolicy; readonly timeout?: TimeoutPolicy } = {},
  ): Promise<Supervised> {
    const clock = new FakeClock();
    const fake = makeFake(clock);
    const carriers = {
      default: "async",
      thread: { keep: 0, maxTasks: 1, resourceLimits: {} },
      process: { standby: 0, reuse: false, maxTasks: 1, execArgv: [] },
      custom: [fake],
    };
    const store = memoryStore();
    await store.open();
    const engine = new Engine({
      store,
      clock,
      logger: quietLogger,
      concurrency: resolveConcurrencyPolicy({ maxParallel: 1 }),
      random: () => 0.5,
      carriers,
      artifacts: null,
      loopWatch: null,
    });
    const events: TaskEvent[] = [];
    engine.bus.subscribe({}, (event) => events.push(event));
    const definition = {
      name: "subject",
      run: () => undefined,
      executor: fake.kind,
      module: null,
      retry: resolveRetryPolicy(retry),
      timeout: resolveTimeoutPolicy(timeout, "timeout"),
      tags: [],
    };
    const cell = await engine.submit({ definition, args: [], priority: 0 });
    await clock.advance(0);
    return new Supervised({ clock, engine, fake, cell, events });
  }

  async row(): Promise<TaskSnapshot> {
    await this.clock.advance(0);
    return await this.engine.get(this.cell.taskId);
  }

  /** Every event of a type so far. */
  events<Type extends TaskEvent["type"]>(type: Type): readonly Extract<TaskEvent, { readonly type: Type }>[] {
    return this.#events.filter((event): event is Extract<TaskEvent, { readonly type: Type }> => event.type === type);
  }

  /** The steps so far: `from → to`. */
  async steps(): Promise<readonly string[]> {
    const history: readonly TaskStatusChanged[] = await this.engine.store.audit.history(this.cell.taskId);
    return history.map(({ from, to }) => `${from} → ${to}`);
  }
}
