import { TaskCancelled } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { ExecutionHandle, ExecutorSupports, LaunchRequest, Settlement, StopRequest } from "../../core/ports/executor.ts";
import { CancellationToken } from "../cancellation.ts";
import { RuntimeContext } from "../context.ts";
import { taskScope } from "../task-scope.ts";
import type { ScopedBody } from "../task-scope.ts";
import { StopSequence } from "./stop-sequence.ts";

/**
 * The carrier of one attempt in this very process. It cannot be killed: at the end of the grace the body is
 * abandoned and that is said, never "stopped". Source §5.4, §13.4, §13.6.
 */
export class LocalHandle implements ExecutionHandle, ScopedBody {
  readonly pid = null;
  readonly settled: Promise<Settlement>;
  readonly #request: LaunchRequest;
  readonly #canPause: boolean;
  readonly #token: CancellationToken;
  readonly #stop: StopSequence;
  readonly #settle: (settlement: Settlement) => void;
  /** Made when it is needed: nearly no body is abandoned. */
  #late: PromiseWithResolvers<Settlement> | null = null;
  #running = true;
  #abandoned = false;

  constructor(clock: Clock, request: LaunchRequest, supports: Pick<ExecutorSupports, "pause">) {
    this.#request = request;
    this.#canPause = supports.pause;
    const { reports } = request;
    this.#token = new CancellationToken(clock, reports, { countsIdle: request.idleMs !== null });
    this.#stop = new StopSequence(clock, { ask: (message) => this.#token.stop(message), lastResort: () => this.#abandon() });
    ({ promise: this.settled, resolve: this.#settle } = Promise.withResolvers<Settlement>());
  }

  get late(): Promise<Settlement> {
    this.#late ??= Promise.withResolvers();
    return this.#late.promise;
  }

  get running(): boolean {
    return this.#running;
  }

  /** Runs the body: up to its first await before this returns. */
  begin(): void {
    if (this.#token.stopWished) {
      this.#end({ type: "threw", error: new TaskCancelled("stopped before its code began: nothing ran"), noticed: true });
      return;
    }
    const { run, args, taskId, pipelineRunId, name, reports } = this.#request;
    reports.launched(null);
    const context = new RuntimeContext(this.#request, this.#token);
    let returned: unknown;
    try {
      returned = taskScope.run({ taskId, pipelineRunId, name, stray: (error) => reports.stray(error), body: this }, () => run(context, ...args));
    } catch (error) {
      this.#threw(error);
      return;
    }
    if (isThenable(returned)) this.#follow(returned);
    else this.#returned(returned);
  }

  get stopWished(): boolean {
    return this.#token.stopWished;
  }

  get reports(): object {
    return this.#request.reports;
  }

  async during<Value>(arrival: Promise<Value>): Promise<Value> {
    return await this.#token.during(arrival);
  }

  pause(): void {
    if (this.#canPause) this.#token.pause();
  }

  resume(): void {
    this.#token.resume();
  }

  stop(request: StopRequest): void {
    if (this.#running && !this.#abandoned) this.#stop.request(request);
  }

  #follow(promise: PromiseLike<unknown>): void {
    // Tames thenables that throw or call back twice, and promises whose own `then` somebody has replaced.
    new Promise((resolve) => resolve(promise)).then(
      (value) => this.#returned(value),
      (error: unknown) => this.#threw(error),
    );
  }

  #returned(value: unknown): void {
    this.#end({ type: "returned", value, noticed: this.#token.noticed });
  }

  #threw(error: unknown): void {
    this.#end({ type: "threw", error, noticed: this.#token.noticed });
  }

  #end(settlement: Settlement): void {
    this.#running = false;
    this.#stop.end();
    if (this.#abandoned) (this.#late ??= Promise.withResolvers()).resolve(settlement);
    else this.#settle(settlement);
  }

  #abandon(): void {
    if (!this.#running) return;
    this.#abandoned = true;
    this.#settle({ type: "abandoned" });
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  try {
    return "then" in value && typeof value.then === "function";
  } catch {
    // A value that may not even be looked at is a value like any other.
    return false;
  }
}
