import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";
import type { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { fileURLToPath } from "node:url";
import { toError } from "../../core/thrown.ts";
import type { Clock } from "../../core/ports/clock.ts";
import type { CarrierListener } from "./carrier-link.ts";
import type { PooledLink } from "./carrier-pool.ts";
import { entryUrl } from "../entry-url.ts";
import { canEncode, encodeFrame, FrameReader } from "./frames.ts";
import { OutputLines } from "./output-lines.ts";
import { endOrphanedGroup, HAS_GROUPS, signalGroup } from "./platform.ts";
import { CONTROL_FD, isForIdle, JOBS_FD } from "./process-line.ts";
import type { Control } from "./process-line.ts";
import type { FromCarrier, JobEnd, ToCarrier } from "./protocol.ts";

/** A child that was sent home, or has closed its line, is ended after so long. */
const LEAVING_TAKES_AT_MOST_MS = 1_000;

/** What a child printed is waited for so long after its exit, where a process that left its group holds the stream. */
const OUTPUT_TAKES_AT_MOST_MS = 500;

const somebodyWrote = (fd: number): string => `was ended, since somebody wrote to file descriptor ${fd}, which is its line to its supervisor`;
const lineClosed = (fd: number): string => `was ended, since it had closed its line to its supervisor (file descriptor ${fd})`;

type Stream = "stdout" | "stderr";

/** What is there once a child has been started. */
interface Started {
  readonly child: ChildProcess;
  readonly control: Socket;
  readonly jobs: Socket;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/** The supervisor's end of one child process. */
export class ProcessLink implements PooledLink {
  readonly pid: number | null;
  listener: CarrierListener | null = null;
  readonly #clock: Clock;
  /** `null`: it could not be started. */
  readonly #started: Started | null;
  readonly #gone: Promise<void>;
  #alive = true;
  #reason: string | null = null;
  /** What is printed now; made when something is. */
  #lines: Readonly<Record<Stream, OutputLines>> | null = null;
  /** The end of the task, held back until what it printed is here. */
  #end: JobEnd | null = null;
  /** How many jobs it has got. */
  #nth = 0;

  constructor(clock: Clock, options: { readonly execArgv: readonly string[] }) {
    this.#clock = clock;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gone = promise;
    this.#started = this.#start(options.execArgv, resolve);
    this.pid = this.#started?.child.pid ?? null;
    if (this.#started !== null) this.#listen(this.#started, resolve);
  }

  get alive(): boolean {
    return this.#alive;
  }

  hold(): void {
    this.#started?.child.ref();
    this.#eachStream((stream) => stream.ref());
  }

  letGo(): void {
    this.#started?.child.unref();
    this.#eachStream((stream) => stream.unref());
  }

  post(message: ToCarrier): void {
    const frame = encodeFrame(isForIdle(message) ? message : ({ nth: this.#nth, message } satisfies Control));
    if (message.type === "run") {
      this.#nth += 1;
      // A line that was begun between two tasks is not continued by the second.
      this.#lines = null;
    }
    const line = isForIdle(message) ? this.#started?.jobs : this.#started?.control;
    if (line?.writable === true) line.write(frame);
  }

  copies(value: unknown): boolean {
    return canEncode(value);
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

  /**
   * What cannot be started ends like what dies: a moment later, when somebody listens. Node throws some of the reasons and
   * emits the others; where no file descriptor is left it does so for a child that has no streams.
   */
  #start(execArgv: readonly string[], gone: () => void): Started | null {
    const failed = (error: unknown): void => {
      if (this.pid !== null) return;
      this.#reason = `could not be started (${toError(error).message})`;
      void this.#exited({ exitCode: null, signal: null }).then(gone);
    };
    try {
      const child = spawn(process.execPath, [...execArgv, fileURLToPath(entryUrl(import.meta.url, "process-entry"))], {
        stdio: ["ignore", "pipe", "pipe", "pipe", "pipe"],
        // A process group of its own: a signal to it reaches what the task has started.
        detached: HAS_GROUPS,
        env: { ...process.env, ...withoutInspector(process.env["NODE_OPTIONS"]) },
      });
      // Before anything else: without a listener the error would end this process.
      child.once("error", failed);
      return streamsOf(child);
    } catch (error) {
      queueMicrotask(() => failed(error));
      return null;
    }
  }

  #listen({ child, control, jobs, stdout, stderr }: Started, gone: () => void): void {
    this.#hear(control, CONTROL_FD);
    this.#hear(jobs, JOBS_FD);
    for (const [name, stream] of [
      ["stdout", stdout],
      ["stderr", stderr],
    ] as const) {
      const decoder = new StringDecoder("utf8");
      stream.on("data", (piece: Buffer) => (this.#lines ??= this.#newLines())[name].add(decoder.write(piece)));
    }
    child.once("exit", (exitCode, signal) => void this.#exited({ exitCode, signal }).then(gone));
  }

  /** A child whose line cannot be read is ended like one that has closed it. */
  #hear(line: Socket, fd: number): void {
    const frames = new FrameReader(
      (message) => this.#receive(message as FromCarrier),
      () => {
        this.#reason = somebodyWrote(fd);
        line.destroy();
        this.kill();
      },
    );
    line.on("data", (piece: Buffer) => frames.add(piece));
    line.on("error", () => line.destroy());
    // It has closed its line and may run on: that is no way to work.
    line.once("close", () => this.#endAfter(LEAVING_TAKES_AT_MOST_MS, lineClosed(fd)));
  }

  #receive(message: FromCarrier): void {
    if (message.type === "returned" || message.type === "threw") void this.#holdBack(message);
    else this.listener?.message(message);
  }

  /**
   * What the task printed comes another way than its end. It was written before, so the streams have it by now: once the
   * loop has looked at all of them it has been read. Of two turns one does so from its beginning.
   */
  async #holdBack(message: JobEnd): Promise<void> {
    this.#end = message;
    await this.#clock.turn();
    await this.#clock.turn();
    if (this.#end === message) this.#giveEnd();
  }

  #giveEnd(): void {
    const end = this.#end;
    if (end === null) return;
    this.#end = null;
    this.#flushOutput();
    this.listener?.message(end);
  }

  async #exited(exit: { readonly exitCode: number | null; readonly signal: string | null }): Promise<void> {
    this.#alive = false;
    if (this.pid !== null) endOrphanedGroup(this.pid);
    await this.#drain();
    this.#giveEnd();
    this.#flushOutput();
    this.#eachStream((stream) => stream.destroy());
    this.listener?.exited({ ...exit, reason: this.#reason });
  }

  /** Until every stream has ended, or a moment: a process that left the group may hold one open. */
  async #drain(): Promise<void> {
    const open = this.#streams().filter((stream) => !stream.readableEnded && !stream.destroyed);
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

  #endAfter(ms: number, reason: string): void {
    if (!this.#alive) return;
    const timer = this.#clock.setTimer(ms, () => {
      this.#reason ??= reason;
      this.kill();
    });
    void this.#gone.then(() => timer.cancel());
  }

  /** Only while the child is known to live: its number is its own until its exit has been seen. */
  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    const child = this.#started?.child;
    if (this.#alive && this.pid !== null && child?.exitCode === null && child.signalCode === null) signalGroup(this.pid, signal);
  }

  #newLines(): Readonly<Record<Stream, OutputLines>> {
    const lines = (stream: Stream): OutputLines => new OutputLines((text) => this.listener?.message({ type: "output", stream, text }));
    return { stdout: lines("stdout"), stderr: lines("stderr") };
  }

  #flushOutput(): void {
    this.#lines?.stdout.end();
    this.#lines?.stderr.end();
    this.#lines = null;
  }

  #eachStream(act: (stream: Socket) => void): void {
    for (const stream of this.#streams()) if (stream instanceof Socket) act(stream);
  }

  #streams(): readonly Readable[] {
    if (this.#started === null) return [];
    const { stdout, stderr, control, jobs } = this.#started;
    return [stdout, stderr, control, jobs];
  }
}

/** `null`: Node had no file descriptor left for them, though its types promise them. */
function streamsOf(child: ChildProcess): Started | null {
  const { stdout, stderr } = child;
  const stdio: readonly unknown[] | undefined = child.stdio;
  const [control, jobs] = [stdio?.[CONTROL_FD], stdio?.[JOBS_FD]];
  const areThere = stdout instanceof Socket && stderr instanceof Socket && control instanceof Socket && jobs instanceof Socket;
  return areThere ? { child, control, jobs, stdout, stderr } : null;
}

/** The inspector's port is this process's: a child would want the same, or wait for a debugger that never comes. */
function withoutInspector(options: string | undefined): { readonly NODE_OPTIONS?: string } {
  if (options === undefined) return {};
  return { NODE_OPTIONS: options.replaceAll(/(?:^|\s)--(?:inspect|debug)[\w-]*(?:=\S*|\s+(?!-)\S+)?(?=\s|$)/g, "") };
}
