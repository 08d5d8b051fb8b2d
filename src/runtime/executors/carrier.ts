import { recordError, reviveError } from "../../core/error-record.ts";
import { ConfigurationError } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { TaskBody } from "../../core/ports/executor.ts";
import { unreachable } from "../../core/unreachable.ts";
import { CancellationToken } from "../cancellation.ts";
import type { Inbox } from "../cancellation.ts";
import { clones, uncloneable } from "../clone.ts";
import { RuntimeContext } from "../context.ts";
import type { ContextSource } from "../context.ts";
import { ProgressThrottle } from "../progress-throttle.ts";
import { readableFields } from "../readable-fields.ts";
import { taskScope } from "../task-scope.ts";
import type { TaskScope } from "../task-scope.ts";
import { loadTask } from "./load-task.ts";
import type { FromCarrier, Job, JobEnd, ToCarrier } from "./protocol.ts";

/** The carrier's own end of the line to its supervisor. */
export interface CarrierPort {
  post(message: FromCarrier): void;
  readonly inbox: Inbox;
  /** Where the line can carry less than the structured clone: what it can. */
  readonly copies?: (value: unknown) => boolean;
  /** It has been told to end, and nothing is left to do. */
  retire(): void;
}

interface Running {
  readonly job: Job;
  readonly token: CancellationToken;
  /** One object for each attempt: two attempts of a task are told apart by it. */
  readonly scope: TaskScope;
  deadlineAt: number | null;
  /** Resolves when it may begin, or is to stop before. */
  readonly told: PromiseWithResolvers<void>;
  /** The number of its last pause. */
  pause: number;
  readonly asked: Map<number, { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }>;
}

/**
 * What runs in a thread or child: loads the task's own module, looks the task up by its name, runs one attempt
 * at a time, and passes everything on. The same for both; they differ in the line alone. Source §13.8.
 */
export class Carrier {
  readonly #clock: Clock;
  readonly #port: CarrierPort;
  /** What was found before: a lookup costs more than all else that is done for a small task. */
  readonly #found = new Map<string, TaskBody>();
  #running: Running | null = null;
  #calls = 0;
  /** Strays that have been told: an error that is thrown as well may come again. */
  readonly #told = new WeakSet<object>();

  constructor(clock: Clock, port: CarrierPort) {
    this.#clock = clock;
    this.#port = port;
  }

  /** Is the code on the stack that of an attempt which has ended here? What belongs to none speaks for the one that runs. */
  get hearsEarlier(): boolean {
    const scope = taskScope.getStore();
    return scope !== undefined && scope !== this.#running?.scope;
  }

  /**
   * Code on the stack is about to end the whole carrier. That of an attempt which has ended here may not.
   * @throws ConfigurationError in that code; it is put on the record of the task that left it running
   */
  ending(call: string): void {
    const scope = taskScope.getStore();
    if (scope === undefined) return;
    if (scope === this.#running?.scope) {
      this.#port.post({ type: "ending" });
      return;
    }
    const error = new ConfigurationError(
      `${call} was called by what "${scope.name}" had left running after its end, and was refused: other tasks run there now. Await what the task starts.`,
    );
    scope.stray(error);
    throw error;
  }

  receive(message: ToCarrier): void {
    const running = this.#running;
    switch (message.type) {
      case "load":
        void this.#load(message.tasks);
        return;
      case "run":
        void this.#run(message.job);
        return;
      case "begin":
        running?.told.resolve();
        return;
      case "stop":
        running?.token.stop(message.message);
        running?.told.resolve();
        return;
      case "pause":
        if (running !== null) {
          running.pause = message.nth;
          running.token.pause();
        }
        return;
      case "resume":
        running?.token.resume();
        return;
      case "deadline":
        if (running !== null) running.deadlineAt = message.at;
        return;
      case "answer": {
        const question = running?.asked.get(message.call);
        running?.asked.delete(message.call);
        if (message.answer.ok) question?.resolve(message.answer.value);
        else question?.reject(reviveError(message.answer.error));
        return;
      }
      case "retire":
        this.#port.retire();
        return;
      default:
        unreachable(message);
    }
  }

  async #load(tasks: readonly { readonly module: string; readonly name: string }[]): Promise<void> {
    try {
      for (const { module, name } of tasks) await this.#find(module, name);
      this.#port.post({ type: "loaded", error: null });
    } catch (error) {
      this.#port.post({ type: "loaded", error: recordError(error) });
    }
  }

  async #run(job: Job): Promise<void> {
    // A worker is used again: what a body goes on saying after its end must not reach the next attempt.
    const say = (message: FromCarrier): void => {
      if (this.#running?.job === job) this.#post(message);
    };
    const active = this.#active(job, say);
    const token = this.#token(job, say, active);
    const scope = { taskId: job.taskId, pipelineRunId: job.pipelineRunId, name: job.name, stray: (error: unknown) => this.#stray(job, error), body: null };
    const running: Running = { job, token, scope, deadlineAt: job.deadlineAt, told: Promise.withResolvers(), pause: 0, asked: new Map() };
    this.#running = running;
    const progress = new ProgressThrottle(this.#clock, ({ done, total, unit, message }) =>
      say({ type: "progress", report: reportOf({ done, total, unit, message }) }),
    );
    let end: JobEnd;
    try {
      // At least a moment, so that what was asked together with the job is heard first.
      const run = await this.#bodyOf(job);
      token.throwIfStopped();
      if (job.asksToBegin) await this.#toBegin(running);
      else this.#port.post({ type: "launched" });
      const context = new RuntimeContext(
        {
          ...job,
          saved: job.saved,
          deadlineAt: () => running.deadlineAt,
          upstream: async (node) => await this.#ask(running, node),
          reports: reportsTo(say, progress, active),
          copiesReports: true,
        },
        token,
      );
      const value = await taskScope.run(scope, async () => await run(context, ...job.args));
      end = { type: "returned", ...(value === undefined ? {} : { value }), noticed: token.noticed };
    } catch (error) {
      end = { type: "threw", error: recordError(error), noticed: token.noticed };
    }
    progress.flush();
    this.#running = null;
    this.#end(end);
  }

  async #toBegin({ told, token }: Running): Promise<void> {
    this.#port.post({ type: "ready" });
    await told.promise;
    token.throwIfStopped();
  }

  #bodyOf({ module, name }: Job): TaskBody | Promise<TaskBody> {
    return this.#found.get(`${name}\n${module}`) ?? this.#find(module, name);
  }

  async #find(module: string, name: string): Promise<TaskBody> {
    const body = await loadTask(module, name);
    this.#found.set(`${name}\n${module}`, body);
    return body;
  }

  /** Says that the task is not idle, where somebody wants to know and not too often. */
  #active(job: Job, say: (message: FromCarrier) => void): () => void {
    const { activeGapMs } = job;
    if (activeGapMs === null) return () => {};
    let saidAt = Number.NEGATIVE_INFINITY;
    return () => {
      const now = this.#clock.monotonic();
      if (now - saidAt < activeGapMs) return;
      saidAt = now;
      say({ type: "active" });
    };
  }

  #token(job: Job, say: (message: FromCarrier) => void, active: () => void): CancellationToken {
    const listener = {
      pauseReached: () => say({ type: "pauseReached", nth: this.#running?.pause ?? 0 }),
      stopSeen: () => say({ type: "stopSeen" }),
      beat: () => say({ type: "beat" }),
      active,
    };
    return new CancellationToken(this.#clock, listener, { countsIdle: job.activeGapMs !== null, inbox: this.#port.inbox });
  }

  async #ask(running: Running, node: string): Promise<unknown> {
    if (this.#running !== running)
      throw new ConfigurationError(`ctx.upstream(${JSON.stringify(node)}) was called after its attempt had ended: nobody can answer.`);
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const call = (this.#calls += 1);
    running.asked.set(call, { resolve, reject });
    this.#port.post({ type: "ask", call, node });
    return await promise;
  }

  #stray(job: Job, error: unknown): void {
    if (typeof error === "object" && error !== null) {
      if (this.#told.has(error)) return;
      this.#told.add(error);
    }
    this.#port.post({ type: "stray", taskId: job.taskId, attempt: job.attempt, error: recordError(error) });
  }

  /** Something the task said that may not be copyable: that is the task's error, where it said it. */
  #post(message: FromCarrier): void {
    try {
      this.#port.post(message);
    } catch (error) {
      const { copies } = this.#port;
      if (message.type === "log") return this.#port.post({ ...message, fields: readableFields(message.fields, copies ?? clones) });
      if (message.type === "emit") throw uncloneable(message.payload, `ctx.emit: payload of ${JSON.stringify(message.kind)}`, error, copies);
      if (message.type === "save") throw uncloneable(message.state, "ctx.save(state)", error, copies);
      throw error;
    }
  }

  #end(end: JobEnd): void {
    try {
      this.#port.post(end);
    } catch (error) {
      const refused =
        end.type === "returned"
          ? uncloneable(end.value, "result", error, this.#port.copies)
          : new ConfigurationError("what the task threw cannot be passed on.", { cause: error });
      this.#port.post({ type: "threw", error: recordError(refused), noticed: false });
    }
  }
}

function reportsTo(say: (message: FromCarrier) => void, progress: ProgressThrottle, active: () => void): ContextSource["reports"] {
  return {
    progress: (report) => {
      // It may be held back for longer than the task may be idle.
      active();
      progress.report(report);
    },
    log: (level, message, fields) => say({ type: "log", level, message, fields }),
    emit: (kind, payload) => say({ type: "emit", kind, payload }),
    save: (state) => say({ type: "save", state }),
  };
}

function reportOf({
  done,
  total,
  unit,
  message,
}: {
  readonly done: number | null;
  readonly total: number | null;
  readonly unit: string | null;
  readonly message: string | null;
}): { done?: number; total?: number; unit?: string; message?: string } {
  return {
    ...(done === null ? {} : { done }),
    ...(total === null ? {} : { total }),
    ...(unit === null ? {} : { unit }),
    ...(message === null ? {} : { message }),
  };
}
