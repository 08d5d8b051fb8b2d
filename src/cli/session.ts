import { setImmediate as turn } from "node:timers/promises";
import type { Controller } from "../api/controller.ts";
import { runsTaskCode } from "../api/runs-task-code.ts";
import { formatDuration } from "../core/duration.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { watchInterrupts } from "./interrupts.ts";
import type { Job } from "./job.ts";
import { createReporter } from "./output/create-reporter.ts";
import { Output } from "./output/output.ts";
import type { Reporter } from "./output/reporter.ts";
import type { Settings } from "./settings.ts";

/** How long a forced end may take to be stored and told. */
const FORCED_MS = 500;
/** Of the event loop, after the last event. */
const TURNS = 3;

/** What a session is opened for. */
export interface SessionOptions {
  readonly settings: Settings;
  /** What runs. */
  readonly name: string;
  /** How long a stop may take. */
  readonly graceMs: number;
}

/** One foreground run on a terminal or a pipe: shows the job, and passes on the wish to end it. */
export class Session {
  readonly #options: SessionOptions;
  readonly #reporter: Reporter;
  readonly #stderr: Output;
  readonly #endings: readonly (() => void)[];
  /** Nodes of which one attempt has failed. */
  readonly #described = new Set<string>();
  #job: Job | null = null;
  /** Why it is to stop, as soon as there is a job. */
  #wish: string | null = null;
  #isForced = false;
  #isOver = false;

  private constructor(options: SessionOptions, parts: { readonly stdout: Output; readonly stderr: Output; readonly reporter: Reporter }) {
    const { host } = options.settings;
    this.#options = options;
    this.#stderr = parts.stderr;
    this.#reporter = parts.reporter;
    host.stage.begin(runsTaskCode);
    parts.stdout.onClosed(() => this.#stop("nobody reads its output any more"));
    this.#endings = [
      host.onCrash(() => this.#reporter.restore()),
      watchInterrupts(host, { first: (signal) => this.#interrupt(signal), again: () => this.#force() }),
    ];
  }

  /** From now on signals are wishes, and the terminal is ours. */
  static async open(options: SessionOptions): Promise<Session> {
    const { settings, name } = options;
    const stdout = new Output(settings.host.stdout);
    const stderr = new Output(settings.host.stderr);
    const reporter = await createReporter({ settings, stdout, stderr, name });
    return new Session(options, { stdout, stderr, reporter });
  }

  /** A line from beside the job. */
  note(text: string): void {
    this.#reporter.note(text);
  }

  /** Shows the job until it has ended; the exit code that its end means. */
  async follow(job: Job, events: ReturnType<Controller["events"]>): Promise<number> {
    this.#job = job;
    if (this.#wish !== null) this.#stop(this.#wish);
    const [summary] = await Promise.all([job.ended(), this.#tellAll(job, events), this.#describe(job)]);
    this.#isOver = true;
    this.#reporter.end(summary);
    const exitCode = this.#isForced ? EXIT_CODES.interrupted : summary.exitCode;
    this.#options.settings.host.stage.settle(exitCode);
    return exitCode;
  }

  close(): void {
    this.#reporter.restore();
    for (const end of this.#endings) end();
  }

  /** Up to the last event of the job, and what comes right after it: that its task blocked the loop is heard only when the loop turns. */
  async #tellAll(job: Job, events: ReturnType<Controller["events"]>): Promise<void> {
    const last = Promise.withResolvers<void>();
    this.#tell(job, events, last.resolve).then(last.resolve, last.reject);
    await last.promise;
    for (let turns = 0; turns < TURNS; turns += 1) await turn();
  }

  /** Hands on each event. */
  async #tell(job: Job, events: ReturnType<Controller["events"]>, onLast: () => void): Promise<void> {
    for await (const event of events) {
      if (this.#isOver) return;
      // Why it never ran is known to the stored task alone.
      if (event.type === "TaskStatusChanged" && (event.to === "skipped" || event.to === "cancelled")) this.#reporter.describe(await job.snapshot(event.taskId));
      if (event.type === "AttemptFailed" && this.#isNew(event.node ?? event.name)) this.#reporter.describe(await job.snapshot(event.taskId));
      this.#reporter.event(event);
      if (!job.isLast(event)) continue;
      this.#options.settings.host.stage.end();
      onLast();
    }
  }

  /** How many attempts there are is told by the stored task alone, and the same for all items of a map: one of them is asked. */
  #isNew(node: string): boolean {
    const common = node.replace(/\[\d+\]$/, "");
    if (this.#described.has(common)) return false;
    this.#described.add(common);
    return true;
  }

  async #describe(job: Job): Promise<void> {
    for await (const page of job.snapshots()) for (const snapshot of page) this.#reporter.describe(snapshot);
  }

  #interrupt(signal: string): void {
    if (this.#isOver) return;
    this.#reporter.interrupted();
    this.#reporter.note(`stopping within ${formatDuration(this.#options.graceMs)}… press Ctrl-C again to force`);
    this.#stop(`interrupted by ${signal}`);
  }

  #stop(reason: string, graceMs = this.#options.graceMs): void {
    const { settings } = this.#options;
    this.#wish = reason;
    // It may have ended meanwhile: how is told by the end itself.
    this.#job?.stop({ grace: graceMs, actor: settings.host.user, reason }).catch(() => undefined);
  }

  /** What still runs is given up; how everything has ended is told in any case, or else that it is not known. */
  #force(): void {
    if (this.#isOver) return;
    this.#reporter.interrupted();
    if (this.#isForced || this.#job === null) return this.#leave();
    this.#isForced = true;
    this.#reporter.note("forced: threads and processes are killed, what runs on the event loop is given up");
    this.#stop("forced by a second interrupt", 0);
    setTimeout(() => {
      if (!this.#isOver) this.#leave();
    }, FORCED_MS).unref();
  }

  #leave(): void {
    this.#reporter.restore();
    this.#stderr.line("forced: how it ends is not waited for");
    this.#options.settings.host.leaveNow(EXIT_CODES.interrupted);
  }
}
