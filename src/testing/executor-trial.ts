import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { describeValue } from "../core/describe-value.ts";
import type { ExecutionHandle, Executor, ExecutorSupports, LaunchRequest, Settlement } from "../core/ports/executor.ts";
import { contractBodies } from "./executor-bodies.ts";
import type { ContractBodyName } from "./executor-bodies.ts";
import { ReportRecorder } from "./executor-recorder.ts";

/** An executor broke its contract: the message says what was found and what would be right. */
export class ContractViolation extends Error {
  override readonly name = "ContractViolation";
}

/** A case of the contract before it is bound to an executor. */
export interface CaseDraft {
  /** The fact that must hold. */
  readonly name: string;
  /** Why it does not apply to an executor with these facts; `null`: it does. */
  readonly skip?: (supports: ExecutorSupports) => string | null;
  readonly run: (trial: ExecutorTrial) => Promise<void>;
}

/** Something that a trial has launched. */
export interface Trialled {
  readonly handle: ExecutionHandle;
  readonly reports: ReportRecorder;
  readonly request: LaunchRequest;
}

type LaunchOptions = Partial<Pick<LaunchRequest, "module" | "name" | "args" | "startMs" | "idleMs" | "deadlineAt" | "upstream" | "saved" | "run">>;

/** So long nothing may happen where nothing is to happen. */
const QUIET_MS = 200;

/** One executor under trial, and all that was launched on it. */
export class ExecutorTrial {
  readonly executor: Executor;
  readonly patienceMs: number;
  /** A grace that no case uses up. */
  readonly longGraceMs: number;
  readonly #module: string | null;
  readonly #launched: Trialled[] = [];

  constructor(subject: { readonly executor: Executor; readonly module: string | null; readonly patienceMs: number }) {
    this.executor = subject.executor;
    this.patienceMs = subject.patienceMs;
    this.longGraceMs = subject.patienceMs * 4;
    this.#module = subject.module;
  }

  get module(): string | null {
    return this.#module;
  }

  launch(body: ContractBodyName, options: LaunchOptions = {}): Trialled {
    const reports = new ReportRecorder();
    const number = this.#launched.length + 1;
    const request: LaunchRequest = {
      taskId: `task${number}`,
      pipelineRunId: "run1",
      name: body,
      attempt: number,
      fencingToken: 40 + number,
      run: contractBodies[body],
      module: this.#module,
      args: [],
      deadlineAt: () => null,
      startMs: null,
      idleMs: null,
      saved: undefined,
      artifacts: `/nowhere/task${number}`,
      upstream: async (node) => await Promise.reject(new RangeError(`no node ${node}`)),
      reports,
      ...options,
    };
    const trialled = { handle: this.executor.launch(request), reports, request };
    this.#launched.push(trialled);
    return trialled;
  }

  /** Launches and waits until user code runs. */
  async begin(body: ContractBodyName, options: LaunchOptions = {}): Promise<Trialled> {
    const trialled = this.launch(body, options);
    await this.reported(trialled, () => trialled.reports.emitted("ready").length > 0, `the body "${body}" ran`);
    return trialled;
  }

  /** Launches what is to be refused: a launch may throw or settle. */
  async refusal(body: ContractBodyName, options: LaunchOptions): Promise<unknown> {
    let trialled: Trialled;
    try {
      trialled = this.launch(body, options);
    } catch (error) {
      return error;
    }
    const { error } = await this.threw(trialled);
    same(trialled.reports.of("launched").length, 0, `"launched" reports of a launch that was refused`);
    return error;
  }

  async settled({ handle }: Trialled): Promise<Settlement> {
    return await this.within(handle.settled, "the attempt settled");
  }

  async returned(trialled: Trialled): Promise<Extract<Settlement, { readonly type: "returned" }>> {
    const settlement = await this.settled(trialled);
    if (settlement.type === "returned") return settlement;
    throw wrongEnd(settlement, "returned");
  }

  async threw(trialled: Trialled): Promise<Extract<Settlement, { readonly type: "threw" }>> {
    const settlement = await this.settled(trialled);
    if (settlement.type === "threw") return settlement;
    throw wrongEnd(settlement, "threw");
  }

  async reported({ reports }: Trialled, isMet: () => boolean, what: string): Promise<void> {
    await this.within(reports.until(isMet), what);
  }

  /** What must happen, and soon. */
  async within<Value>(promise: PromiseLike<Value>, what: string): Promise<Value> {
    const late = new AbortController();
    const timeUp = sleep(this.patienceMs, undefined, { signal: late.signal }).then(() => {
      throw new ContractViolation(`expected that ${what}; it did not within ${this.patienceMs} ms.`);
    });
    timeUp.catch(() => {});
    try {
      return await Promise.race([promise, timeUp]);
    } finally {
      late.abort();
    }
  }

  /** A moment in which nothing is to happen. */
  async quiet(): Promise<void> {
    await sleep(QUIET_MS);
  }

  async isPending(promise: PromiseLike<unknown>): Promise<boolean> {
    return await Promise.race([promise.then(() => false), sleep(QUIET_MS, true)]);
  }

  /** Ends what a case has left, and the executor. */
  async end(): Promise<void> {
    for (const { handle } of this.#launched) handle.stop({ graceMs: 0, message: "the case has ended" });
    await this.within(this.executor.close(), "close() resolved");
  }
}

/** @throws ContractViolation unless the two are deeply equal */
export function same(found: unknown, expected: unknown, what: string): void {
  if (!isDeepStrictEqual(found, expected)) throw new ContractViolation(`${what}: expected ${describeValue(expected)}; found ${describeValue(found)}.`);
}

/** @throws ContractViolation unless it is so */
export function holds(isSo: boolean, what: string): void {
  if (!isSo) throw new ContractViolation(`expected that ${what}.`);
}

/** Name, message and code of what was thrown, there or here. */
export function errorFacts(error: unknown): { readonly name: string; readonly message: string; readonly code: unknown } {
  if (!(error instanceof Error)) throw new ContractViolation(`expected an Error; found ${describeValue(error)}.`);
  return { name: error.name, message: error.message, code: "code" in error ? error.code : undefined };
}

/** @throws ContractViolation unless the error is a ConfigurationError, here or of another thread, that says so */
export function refused(error: unknown, text: string): void {
  const { code, message } = errorFacts(error);
  same(code, "CONFIGURATION", `the code of the refusal (${message})`);
  holds(message.includes(text), `the refusal says ${describeValue(text)}; it says ${describeValue(message)}`);
}

function wrongEnd(settlement: Settlement, expected: Settlement["type"]): ContractViolation {
  const why =
    settlement.type === "threw" && settlement.error instanceof Error
      ? `: ${settlement.error.message}`
      : settlement.type === "died"
        ? `: ${settlement.failure.message}`
        : "";
  return new ContractViolation(`the attempt's end: expected "${expected}"; found "${settlement.type}"${why}.`);
}
