import { createFailure } from "../core/failure.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { ExecutionHandle, Executor, ExecutorSupports, LaunchRequest, Settlement, StopRequest } from "../core/ports/executor.ts";

/** How a fake executor is called and what it states. */
export interface FakeExecutorOptions {
  /** Default: each fake has its own; a task names it by this. */
  readonly kind?: `custom:${string}`;
  /** Default: pauses and takes closures, no more. */
  readonly supports?: Partial<ExecutorSupports>;
}

/** One launch on a fake executor, in the hands of the test: nothing happens but what the test says. */
export class FakeLaunch implements ExecutionHandle {
  readonly request: LaunchRequest;
  pid: number | null = null;
  /** Does the carrier say that the body runs? Set it to what the test is about. */
  running = true;
  /** Each stop that was asked for, in order. */
  readonly stops: StopRequest[] = [];
  /** What was asked beside stops, in order. */
  readonly asked: ("pause" | "resume")[] = [];
  readonly #settled = Promise.withResolvers<Settlement>();
  readonly #late = Promise.withResolvers<Settlement>();
  readonly #onStop: (launch: FakeLaunch, request: StopRequest) => void;

  constructor(request: LaunchRequest, onStop: (launch: FakeLaunch, request: StopRequest) => void) {
    this.request = request;
    this.#onStop = onStop;
  }

  get settled(): Promise<Settlement> {
    return this.#settled.promise;
  }

  get late(): Promise<Settlement> {
    return this.#late.promise;
  }

  /** User code runs, or so the carrier says. */
  launched(pid: number | null = null): void {
    this.pid = pid;
    this.request.reports.launched(pid);
  }

  /** The attempt ends so; only the first time counts. An abandoned body is said to run on. */
  settle(settlement: Settlement): void {
    if (settlement.type !== "abandoned") this.running = false;
    this.#settled.resolve(settlement);
  }

  /** The abandoned body ends after all. */
  settleLate(settlement: Settlement): void {
    this.running = false;
    this.#late.resolve(settlement);
  }

  pause(): void {
    this.asked.push("pause");
  }

  resume(): void {
    this.asked.push("resume");
  }

  stop(request: StopRequest): void {
    this.stops.push(request);
    this.#onStop(this, request);
  }
}

const NO_MORE: ExecutorSupports = { pause: true, kill: false, closures: true, syncCheckpoint: false, beats: false };

/**
 * An executor that runs nothing: each launch is in the hands of the test (`launches`). Pass it to
 * `Controller.open({ executors: [fake] })` and name its kind in a task.
 */
export class FakeExecutor implements Executor {
  readonly kind: string;
  readonly supports: ExecutorSupports;
  /** What was launched, in order. */
  readonly launches: FakeLaunch[] = [];
  isClosed = false;
  readonly #onLaunch: (launch: FakeLaunch) => void;
  readonly #onStop: (launch: FakeLaunch, request: StopRequest) => void;

  /** @param act what it does by itself; default: nothing */
  constructor(
    { kind = "custom:fake", supports = {} }: FakeExecutorOptions = {},
    act: { readonly onLaunch?: (launch: FakeLaunch) => void; readonly onStop?: (launch: FakeLaunch, request: StopRequest) => void } = {},
  ) {
    this.kind = kind;
    this.supports = Object.freeze({ ...NO_MORE, ...supports });
    this.#onLaunch = act.onLaunch ?? (() => {});
    this.#onStop = act.onStop ?? (() => {});
  }

  /** The launch made last; throws when there was none. */
  get last(): FakeLaunch {
    const launch = this.launches.at(-1);
    if (launch === undefined) throw new RangeError(`nothing was launched on "${this.kind}".`);
    return launch;
  }

  launch(request: LaunchRequest): ExecutionHandle {
    const launch = new FakeLaunch(request, this.#onStop);
    this.launches.push(launch);
    this.#onLaunch(launch);
    return launch;
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await Promise.resolve();
  }
}

/** An executor whose every launch throws: no worker, no memory, no such program. Source §11. */
export function throwingExecutor(error: Error, options: FakeExecutorOptions = {}): FakeExecutor {
  return new FakeExecutor(
    { kind: "custom:throws", ...options },
    {
      onLaunch() {
        throw error;
      },
    },
  );
}

/**
 * An executor whose launches never report: a module that does not finish loading. It hears no stop; at the end of
 * the grace, on the clock given, it is killed or abandoned, as its `supports.kill` says. Source §11.
 */
export function hangingExecutor(clock: Clock, options: FakeExecutorOptions = {}): FakeExecutor {
  return new FakeExecutor({ kind: "custom:hangs", ...options }, { onStop: endAfterGrace(clock, options) });
}

/**
 * An executor whose carriers go out of contact: it states that they beat, and each says that it was launched and
 * then nothing more: no beat, no progress, no end. It hears no stop; at the end of the grace, on the clock given, it
 * is killed or abandoned, as its `supports.kill` says. Source §11.
 */
export function silentExecutor(clock: Clock, options: FakeExecutorOptions = {}): FakeExecutor {
  const supports = { beats: true, ...options.supports };
  return new FakeExecutor({ kind: "custom:silent", ...options, supports }, { onLaunch: (launch) => launch.launched(), onStop: endAfterGrace(clock, options) });
}

/**
 * An executor whose carriers die behind the launch with exit code 137 and no word, as by the hand of a system that
 * is out of memory. Source §13.10.
 */
export function dyingExecutor(options: FakeExecutorOptions = {}): FakeExecutor {
  return new FakeExecutor(
    { kind: "custom:dies", ...options },
    {
      onLaunch(launch) {
        launch.launched();
        launch.settle({
          type: "died",
          failure: createFailure({
            kind: "nonzero_exit",
            message: "the carrier was ended by SIGKILL without an outcome",
            exitCode: 137,
            signal: "SIGKILL",
            retryable: true,
          }),
        });
      },
    },
  );
}

/** The first deadline counts: later ones find it settled. */
function endAfterGrace(clock: Clock, { supports }: FakeExecutorOptions): (launch: FakeLaunch, request: StopRequest) => void {
  const end: Settlement = supports?.kill === true ? { type: "killed", exitCode: null, signal: "SIGKILL" } : { type: "abandoned" };
  return (launch, { graceMs }) => {
    const timer = clock.setTimer(graceMs, () => launch.settle(end));
    void launch.settled.then(() => timer.cancel());
  };
}
