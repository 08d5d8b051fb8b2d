import { describeValue } from "../core/describe-value.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { LogLevel } from "../core/events.ts";
import type { LaunchRequest } from "../core/ports/executor.ts";
import type { Artifacts, TaskContext, TaskLog, TrackOptions } from "../core/ports/task-context.ts";
import type { ProgressReport } from "../core/progress.ts";
import { AttemptArtifacts } from "./artifacts.ts";
import type { CancellationToken } from "./cancellation.ts";
import { clone, cloneFields } from "./clone.ts";
import { track } from "./track.ts";

type Fields = Readonly<Record<string, unknown>>;
const NO_FIELDS: Fields = Object.freeze({});

/** What a context needs of the attempt, in this thread or another. */
export type ContextSource = Pick<
  LaunchRequest,
  "taskId" | "pipelineRunId" | "name" | "attempt" | "fencingToken" | "deadlineAt" | "saved" | "artifacts" | "upstream"
> & {
  readonly reports: Pick<LaunchRequest["reports"], "progress" | "log" | "emit" | "save">;
  /** What is reported is copied on its way. Where it is not it is copied here: what the task does to it afterwards is not said. */
  readonly copiesReports?: true;
};

class RequestLog implements TaskLog {
  readonly #request: ContextSource;

  constructor(request: ContextSource) {
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
    const { reports, copiesReports } = this.#request;
    reports.log(level, String(message), fields === undefined ? NO_FIELDS : copiesReports === true ? fields : cloneFields(fields));
  }
}

/** The context of one attempt in this process: the token on one side, the reports on the other. */
export class RuntimeContext implements TaskContext {
  readonly #request: ContextSource;
  readonly #token: CancellationToken;
  #log: TaskLog | null = null;
  #artifacts: Artifacts | null = null;
  #saved: unknown;

  constructor(request: ContextSource, token: CancellationToken) {
    this.#request = request;
    this.#token = token;
    this.#saved = request.saved;
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
    checkProgress(report);
    this.#request.reports.progress(report);
  }

  checkpoint(): Promise<void> {
    return this.#token.checkpoint();
  }

  checkpointSync(): void {
    this.#token.checkpointSync();
  }

  track<Item>(items: Iterable<Item> | AsyncIterable<Item>, options?: TrackOptions): AsyncGenerator<Item, void, undefined> {
    return track(this, items, options);
  }

  get artifacts(): Artifacts {
    this.#artifacts ??= new AttemptArtifacts(this.#request.artifacts);
    return this.#artifacts;
  }

  /** A copy each time: what is done to it without \`save\` must not reach the next attempt. */
  get saved(): unknown {
    return this.#saved === undefined ? undefined : structuredClone(this.#saved);
  }

  save(state: unknown): void {
    // A copy: what the task does to its object afterwards is not saved. What cannot be copied is refused here.
    const copy = clone(state, "ctx.save(state)");
    this.#saved = copy;
    this.#request.reports.save(copy);
  }

  upstream(node: string): Promise<unknown> {
    return this.#request.upstream(node);
  }

  emit(kind: string, payload: unknown): void {
    if (typeof kind !== "string" || kind === "")
      throw new ConfigurationError(`ctx.emit takes a kind, a non-empty string, as its first argument, not ${JSON.stringify(kind) ?? typeof kind}.`);
    const { reports, copiesReports } = this.#request;
    reports.emit(kind, copiesReports === true ? payload : clone(payload, `ctx.emit: payload of ${JSON.stringify(kind)}`));
  }
}

const COUNT = "a finite number of at least 0, or left out while it is not known";

/** Cheap, since it is asked for every row: only what is there is looked at. */
function checkProgress({ done, total, unit, message }: ProgressReport): void {
  if (!isCount(done)) throw wrongProgress("done", COUNT, done);
  if (!isCount(total)) throw wrongProgress("total", COUNT, total);
  if (unit !== undefined && typeof unit !== "string") throw wrongProgress("unit", "text", unit);
  if (message !== undefined && typeof message !== "string") throw wrongProgress("message", "text", message);
}

function isCount(value: unknown): boolean {
  return value === undefined || (typeof value === "number" && value >= 0 && value < Infinity);
}

function wrongProgress(key: string, right: string, found: unknown): ConfigurationError {
  return new ConfigurationError(`ctx.progress: ${key} must be ${right}; found ${describeValue(found)}.`);
}
