import type { Controller } from "../api/controller.ts";
import { formatDuration } from "../core/duration.ts";
import { EXIT_CODES } from "./exit-codes.ts";
import { watchInterrupts } from "./interrupts.ts";
import type { Job } from "./job.ts";
import { createReporter } from "./output/create-reporter.ts";
import { Output } from "./output/output.ts";
import type { Reporter } from "./output/reporter.ts";
import type { EndSummary } from "./output/summary.ts";
import type { Settings } from "./settings.ts";

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
  readonly #stdout: Output;
  readonly #stderr: Output;
  readonly #endings: readonly (() => void)[];
  #job: Job | null = null;
  /** Why it is to stop, as soon as there is a job. */
  #wish: string | null = null;

  private constructor(options: SessionOptions, parts: { readonly stdout: Output; readonly stderr: Output; readonly reporter: Reporter }) {
    const { host } = options.settings;
    this.#options = options;
    this.#stdout = parts.stdout;
    this.#stderr = parts.stderr;
    this.#reporter = parts.reporter;
    this.#stdout.onClosed(() => this.#stop("nobody reads its output any more"));
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
    const reporter = await createReporter({ settings, stdout, stderr, name, startedAtMs: Date.now() });
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
    const [summary] = await Promise.all([job.ended(), this.#tell(job, events), this.#describe(job)]);
    this.#reporter.end(summary);
    return this.#verdict(summary);
  }

  close(): void {
    this.#reporter.restore();
    for (const end of this.#endings) end();
  }

  /** Hands on each event up to the last of the job. */
  async #tell(job: Job, events: ReturnType<Controller["events"]>): Promise<void> {
    for await (const event of events) {
      this.#reporter.event(event);
      if (job.isLast(event)) return;
    }
  }

  async #describe(job: Job): Promise<void> {
    for await (const page of job.snapshots()) for (const snapshot of page) this.#reporter.describe(snapshot);
  }

  #interrupt(signal: string): void {
    this.#reporter.note(`stopping within ${formatDuration(this.#options.graceMs)}… press Ctrl-C again to force`);
    this.#stop(`interrupted by ${signal}`);
  }

  #stop(reason: string): void {
    const { settings, graceMs } = this.#options;
    this.#wish = reason;
    // It may have ended meanwhile: how is told by the end itself.
    this.#job?.stop({ grace: graceMs, actor: settings.host.user, reason }).catch(() => undefined);
  }

  #force(): void {
    this.#reporter.restore();
    this.#stderr.line("forced: what still ran is given up, and its outcome is unknown");
    this.#options.settings.host.leaveNow(EXIT_CODES.interrupted);
  }

  /** A success that could not be written down is none. */
  #verdict({ exitCode }: EndSummary): number {
    const { failure } = this.#stdout;
    if (failure === null) return exitCode;
    this.#stderr.line(`chongming: the output could not be written: ${failure.message}`);
    return exitCode === EXIT_CODES.ok ? EXIT_CODES.usage : exitCode;
  }
}
