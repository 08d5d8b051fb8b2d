import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { fileURLToPath } from "node:url";
import { InternalError } from "../../core/errors.ts";
import type { Clock, Timer } from "../../core/ports/clock.ts";
import type { CarrierListener } from "./carrier-link.ts";
import type { PooledLink } from "./carrier-pool.ts";
import { entryUrl } from "../entry-url.ts";
import { encodeFrame, FrameReader } from "./frames.ts";
import { OutputLines } from "./output-lines.ts";
import { endOrphanedGroup, HAS_GROUPS, signalGroup } from "./platform.ts";
import { LINE_FD, outputMark } from "./process-line.ts";
import type { FromCarrier, JobEnd, ToCarrier } from "./protocol.ts";

/** A child that was sent home, or has closed its line, is ended after so long. */
const LEAVING_TAKES_AT_MOST_MS = 1_000;

/** What a task printed is waited for so long after its end, where a grandchild holds the stream or the task has closed it. */
const OUTPUT_TAKES_AT_MOST_MS = 500;

type Stream = "stdout" | "stderr";

/** The supervisor's end of one child process. */
export class ProcessLink implements PooledLink {
  readonly pid: number | null;
  listener: CarrierListener | null = null;
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #line: Socket;
  readonly #gone: Promise<void>;
  readonly #streams: Readonly<Record<Stream, Readable>>;
  #alive = true;
  #spawnError: Error | null = null;
  #lines = this.#newLines();
  /** The end of the task, held back until what it printed is here. */
  #end: { readonly message: JobEnd; readonly timer: Timer; readonly open: Set<Stream> } | null = null;
  #mark: string | null = null;
  readonly #marked = new Set<Stream>();

  constructor(clock: Clock, options: { readonly execArgv: readonly string[] }) {
    this.#clock = clock;
    const child = spawn(process.execPath, [...options.execArgv, fileURLToPath(entryUrl(import.meta.url, "process-entry"))], {
      stdio: ["ignore", "pipe", "pipe", "pipe"],
      // A process group of its own: a signal to it reaches what the task has started.
      detached: HAS_GROUPS,
    });
    this.#child = child;
    this.pid = child.pid ?? null;
    const { stdout, stderr } = child;
    const line = child.stdio[LINE_FD];
    if (stdout === null || stderr === null || !(line instanceof Socket)) throw new InternalError("a child process was started without its pipes.");
    this.#streams = { stdout, stderr };
    this.#line = line;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    this.#listen(resolve);
  }

  get alive(): boolean {
    return this.#alive;
  }

  hold(): void {
    this.#child.ref();
    this.#eachStream((stream) => stream.ref());
  }

  letGo(): void {
    this.#child.unref();
    this.#eachStream((stream) => stream.unref());
  }

  post(message: ToCarrier): void {
    if (message.type === "run") this.#mark = outputMark(message.job.taskId, message.job.attempt);
    const frame = encodeFrame(message);
    if (this.#line.writable) this.#line.write(frame);
  }

  warn(): void {
    this.#signal("SIGTERM");
  }

  kill(): void {
    this.#signal("SIGKILL");
  }

  async retire(): Promise<void> {
    if (!this.#alive) return;
    this.hold();
    this.post({ type: "retire" });
    const timer = this.#clock.setTimer(LEAVING_TAKES_AT_MOST_MS, () => this.kill());
    await this.#gone;
    timer.cancel();
  }

  #listen(gone: () => void): void {
    // A child whose line cannot be read is ended like one that has closed it.
    const frames = new FrameReader(
      (message) => this.#receive(message as FromCarrier),
      () => this.#line.destroy(),
    );
    this.#line.on("data", (piece: Buffer) => frames.add(piece));
    this.#line.on("error", () => this.#line.destroy());
    // It has closed its line and may run on: that is no way to work.
    this.#line.once("close", () => this.#endAfter(LEAVING_TAKES_AT_MOST_MS));
    for (const stream of ["stdout", "stderr"] as const) {
      const decoder = new StringDecoder("utf8");
      this.#streams[stream].on("data", (piece: Buffer) => this.#lines[stream].add(decoder.write(piece)));
    }
    this.#child.once("error", (error) => {
      this.#spawnError = error;
      if (this.pid === null) void this.#exited({ exitCode: null, signal: null }).then(gone);
    });
    this.#child.once("exit", (exitCode, signal) => void this.#exited({ exitCode, signal }).then(gone));
  }

  #receive(message: FromCarrier): void {
    if (message.type === "returned" || message.type === "threw") this.#holdBack(message);
    else this.listener?.message(message);
  }

  /** What the task printed comes another way than its end: both marks, or a moment. */
  #holdBack(message: JobEnd): void {
    const timer = this.#clock.setTimer(OUTPUT_TAKES_AT_MOST_MS, () => this.#giveEnd());
    const open = new Set<Stream>(["stdout", "stderr"]);
    for (const stream of open) if (this.#marked.has(stream)) open.delete(stream);
    this.#end = { message, timer, open };
    if (open.size === 0) this.#giveEnd();
  }

  #marks(stream: Stream): void {
    this.#marked.add(stream);
    this.#end?.open.delete(stream);
    if (this.#end?.open.size === 0) this.#giveEnd();
  }

  #giveEnd(): void {
    const end = this.#end;
    if (end === null) return;
    this.#end = null;
    end.timer.cancel();
    this.#flushOutput();
    this.listener?.message(end.message);
  }

  async #exited(exit: { readonly exitCode: number | null; readonly signal: string | null }): Promise<void> {
    this.#alive = false;
    if (this.pid !== null) endOrphanedGroup(this.pid);
    await this.#drain();
    this.#giveEnd();
    this.#flushOutput();
    this.#line.destroy();
    this.#eachStream((stream) => stream.destroy());
    const reason = this.#spawnError === null ? null : `could not be started (${this.#spawnError.message})`;
    this.listener?.exited({ ...exit, reason });
  }

  /** Until every stream has ended, or a moment: a process that left the group may hold one open. */
  async #drain(): Promise<void> {
    const open = [this.#streams.stdout, this.#streams.stderr, this.#line].filter((stream) => !stream.readableEnded && !stream.destroyed);
    const { promise, resolve } = Promise.withResolvers<void>();
    let left = open.length;
    if (left === 0) return;
    const timer = this.#clock.setTimer(OUTPUT_TAKES_AT_MOST_MS, resolve);
    for (const stream of open) {
      stream.once("close", () => {
        left -= 1;
        if (left === 0) resolve();
      });
    }
    await promise;
    timer.cancel();
  }

  #endAfter(ms: number): void {
    if (!this.#alive) return;
    const timer = this.#clock.setTimer(ms, () => this.kill());
    void this.#gone.then(() => timer.cancel());
  }

  /** Only while the child is known to live: its number is its own until its exit has been seen. */
  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (this.#alive && this.pid !== null && this.#child.exitCode === null && this.#child.signalCode === null) signalGroup(this.pid, signal);
  }

  #newLines(): Readonly<Record<Stream, OutputLines>> {
    const lines = (stream: Stream): OutputLines =>
      new OutputLines(
        (text) => this.listener?.message({ type: "output", stream, text }),
        (text) => {
          if (text !== this.#mark) return false;
          this.#marks(stream);
          return true;
        },
      );
    return { stdout: lines("stdout"), stderr: lines("stderr") };
  }

  #flushOutput(): void {
    this.#lines.stdout.end();
    this.#lines.stderr.end();
    this.#lines = this.#newLines();
    this.#marked.clear();
  }

  #eachStream(act: (stream: Socket) => void): void {
    for (const stream of [this.#streams.stdout, this.#streams.stderr, this.#line]) if (stream instanceof Socket) act(stream);
  }
}
