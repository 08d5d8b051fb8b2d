import { ConfigurationError } from "../core/errors.ts";
import type { LogLevel } from "../core/events.ts";
import type { LaunchRequest } from "../core/ports/executor.ts";
import type { TaskContext, TaskLog } from "../core/ports/task-context.ts";
import type { ProgressReport } from "../core/progress.ts";
import type { CancellationToken } from "./cancellation.ts";

type Fields = Readonly<Record<string, unknown>>;
const NO_FIELDS: Fields = Object.freeze({});

class RequestLog implements TaskLog {
  readonly #request: LaunchRequest;

  constructor(request: LaunchRequest) {
    this.#request = request;
  }

  debug(message: string, fields?: Fields): void {
    this.#line("debug", message, fields);
  }

  info(message: string, fields?: Fields): void {
    this.#line("info", message, fields);
  }

  warn(message: string, fields?: Fields): void {
    this.#line("warn", message, fields);
  }

  error(message: string, fields?: Fields): void {
    this.#line("error", message, fields);
  }

  #line(level: LogLevel, message: string, fields: Fields | undefined): void {
    this.#request.reports.log(level, String(message), fields ?? NO_FIELDS);
  }
}

/** The context of one attempt in this process: the token on one side, the reports on the other. */
export class RuntimeContext implements TaskContext {
  readonly #request: LaunchRequest;
  readonly #token: CancellationToken;
  #log: TaskLog | null = null;

  constructor(request: LaunchRequest, token: CancellationToken) {
    this.#request = request;
    this.#token = token;
  }

  get taskId(): string {
    return this.#request.taskId;
  }

  get pipelineRunId(): string | null {
    return this.#request.pipelineRunId;
  }

  get name(): string {
    return this.#request.name;
  }

  get attempt(): number {
    return this.#request.attempt;
  }

  get fencingToken(): number {
    return this.#request.fencingToken;
  }

  get signal(): AbortSignal {
    return this.#token.signal;
  }

  get deadline(): number | null {
    return this.#request.deadlineAt();
  }

  get log(): TaskLog {
    this.#log ??= new RequestLog(this.#request);
    return this.#log;
  }

  progress(report: ProgressReport): void {
    if (typeof report !== "object" || report === null) {
      throw new ConfigurationError(`ctx.progress takes an object such as { done: 3, total: 10 }, not ${typeof report}.`);
    }
    this.#request.reports.progress(report);
  }

  checkpoint(): Promise<void> {
    return this.#token.checkpoint();
  }

  upstream(node: string): Promise<unknown> {
    return this.#request.upstream(node);
  }

  emit(kind: string, payload: unknown): void {
    if (typeof kind !== "string" || kind === "")
      throw new ConfigurationError(`ctx.emit takes a kind, a non-empty string, as its first argument, not ${JSON.stringify(kind) ?? typeof kind}.`);
    this.#request.reports.emit(kind, payload);
  }
}
