import { recordError, reviveError } from "../../core/error-record.ts";
import { createFailure } from "../../core/failure.ts";
import type { Failure } from "../../core/failure.ts";
import type { Clock, Timer } from "../../core/ports/clock.ts";
import type { ExecutionHandle, LaunchRequest, Settlement, StopRequest } from "../../core/ports/executor.ts";
import { unreachable } from "../../core/unreachable.ts";
import type { CarrierLink, CarrierListener } from "./carrier-link.ts";
import type { CarrierExit, FromCarrier, Job, JobEnd, StrayListener } from "./protocol.ts";
import { StopSequence } from "./stop-sequence.ts";

/** A carrier that was killed and does not go (a thread caught in native code) is given up on after so long. */
const KILL_TAKES_AT_MOST_MS = 2_000;

/** Lines that say nothing of why a process has died: blank ones, frames of a stack, Node's version. */
const NO_REASON = /^\s*(?:at .*|\}|Node\.js v.*)?$/;

/** So V8 says it before it aborts the process. */
const HEAP_IS_FULL = "JavaScript heap out of memory";

/** What a handle needs of its executor. */
export interface RemoteCarrier {
  readonly link: CarrierLink;
  readonly job: Job;
  /** How the carrier is called in messages: `worker thread`, `child process`. */
  readonly word: string;
  /** The body has ended and the carrier is whole: it can be used again or sent home. */
  giveBack(): void;
  /** The error for a job that cannot be sent, naming what in it cannot. */
  refusal(error: unknown): Error;
  /** The carrier is gone or not to be trusted: it is to be replaced. */
  discard(): void;
  /** The task that the carrier had before this one; `null`: it is its first. */
  readonly earlier: { readonly taskId: string; readonly name: string } | null;
  /** An attempt that the carrier had before this one has left an error behind. */
  readonly earlierStray?: StrayListener;
}

/** The carrier of one attempt outside this thread: it can be killed, and that is a known end. Source §13.7, §13.10. */
export class RemoteHandle implements ExecutionHandle, CarrierListener {
  readonly settled: Promise<Settlement>;
  readonly late: Promise<Settlement>;
  readonly #clock: Clock;
  readonly #request: LaunchRequest;
  readonly #carrier: RemoteCarrier;
  readonly #stop: StopSequence;
  readonly #settle: (settlement: Settlement) => void;
  readonly #settleLate: (settlement: Settlement) => void;
  #state: "going" | "killing" | "abandoned" | "over" = "going";
  #began = false;
  #pauses = 0;
  /** We have sent a signal or killed it: its end is our doing. */
  #forced = false;
  #stopAsked = false;
  /** It said on stderr that its heap is full. */
  #heapWasFull = false;
  /** The body itself has called what ends the carrier. */
  #endsItself = false;
  /** What it last said on stderr: where nothing ran, the reason is there. */
  #lastWords: string | null = null;
  #killTimer: Timer | null = null;

  constructor(clock: Clock, request: LaunchRequest, carrier: RemoteCarrier) {
    this.#clock = clock;
    this.#request = request;
    this.#carrier = carrier;
    ({ promise: this.settled, resolve: this.#settle } = Promise.withResolvers<Settlement>());
    ({ promise: this.late, resolve: this.#settleLate } = Promise.withResolvers<Settlement>());
    this.#stop = new StopSequence(clock, {
      ask: (message) => carrier.link.post({ type: "stop", message }),
      ...(carrier.link.warn === undefined ? {} : { warn: () => this.#warn() }),
      lastResort: () => this.#kill(),
    });
  }

  get running(): boolean {
    return this.#state !== "over" && this.#carrier.link.alive;
  }

  get pid(): number | null {
    return this.#carrier.link.pid;
  }

  /** Hands over the job. What cannot be sent is said at once, with the advice. */
  begin(): void {
    this.#carrier.link.listener = this;
    try {
      this.#carrier.link.post({ type: "run", job: this.#carrier.job });
    } catch (error) {
      // It has heard nothing of the job, so it is as good as before.
      this.#carrier.giveBack();
      this.#finish({ type: "threw", error: this.#carrier.refusal(error), noticed: false });
    }
  }

  pause(): void {
    this.#pauses += 1;
    this.#tell({ type: "pause", nth: this.#pauses });
  }

  resume(): void {
    // What was paused has more time now; it must know that when it goes on.
    this.#tellDeadline();
    this.#tell({ type: "resume" });
  }

  stop(request: StopRequest): void {
    if (this.#state !== "going") return;
    this.#stopAsked = true;
    this.#stop.request(request);
  }

  message(message: FromCarrier): void {
    const { reports } = this.#request;
    switch (message.type) {
      case "ready":
        this.#ready();
        return;
      case "launched":
        this.#launched();
        return;
      case "pauseReached":
        // Of a pause that was taken back meanwhile: the body has gone on.
        if (message.nth === this.#pauses) reports.pauseReached();
        return;
      case "stopSeen":
        reports.stopSeen();
        return;
      case "active":
        reports.active();
        return;
      case "beat":
        reports.beat();
        return;
      case "progress":
        reports.progress(message.report);
        return;
      case "log":
        reports.log(message.level, message.message, message.fields);
        return;
      case "emit":
        reports.emit(message.kind, message.payload);
        return;
      case "output":
        if (message.stream === "stderr") this.#listenForReason(message.text);
        reports.emit(message.stream, message.text);
        return;
      case "save":
        reports.save(message.state);
        return;
      case "stray":
        // A carrier that is used again may still have strays of an attempt before this one.
        if (message.taskId === this.#request.taskId && message.attempt === this.#request.attempt) reports.stray(reviveError(message.error));
        else this.#carrier.earlierStray?.(message.taskId, message.attempt, reviveError(message.error));
        return;
      case "ending":
        this.#endsItself = true;
        return;
      case "ask":
        void this.#answer(message.call, message.node);
        return;
      case "returned":
      case "threw":
        this.#ended(message);
        return;
      case "loaded":
        return;
      default:
        unreachable(message);
    }
  }

  exited(exit: CarrierExit): void {
    this.#carrier.discard();
    this.#finish(this.#forced ? { type: "killed", exitCode: exit.exitCode, signal: exit.signal } : { type: "died", failure: this.#death(exit) });
  }

  /** Its time is up, or nobody wants it any more: then the body does not begin. */
  #ready(): void {
    if (this.#state !== "going" || this.#stopAsked) return;
    this.#launched();
    this.#tell({ type: "begin" });
  }

  #launched(): void {
    this.#began = true;
    this.#request.reports.launched(this.pid);
    this.#tellDeadline();
  }

  #ended(end: JobEnd): void {
    // Killed already: the verdict is the kill's, whatever still comes through. Source §13.4.
    if (this.#state !== "going") return;
    // A signal may still be on its way to it: that must not reach the next one.
    if (this.#forced || this.#stopAsked) this.#carrier.discard();
    else this.#carrier.giveBack();
    this.#finish(
      end.type === "returned"
        ? { type: "returned", value: end.value, noticed: end.noticed }
        : { type: "threw", error: reviveError(end.error), noticed: end.noticed },
    );
  }

  #finish(settlement: Settlement): void {
    if (this.#state === "over") return;
    const wasAbandoned = this.#state === "abandoned";
    this.#state = "over";
    this.#stop.end();
    this.#killTimer?.cancel();
    if (wasAbandoned) this.#settleLate(settlement);
    else this.#settle(settlement);
  }

  #warn(): void {
    // It has ended by itself, and its exit is on the way: that is not our doing.
    if (!this.#carrier.link.alive) return;
    this.#forced = true;
    this.#carrier.link.warn?.();
  }

  #kill(): void {
    if (!this.#carrier.link.alive) return;
    this.#state = "killing";
    this.#forced = true;
    this.#killTimer = this.#clock.setTimer(KILL_TAKES_AT_MOST_MS, () => this.#giveUp());
    this.#carrier.link.kill();
  }

  #giveUp(): void {
    this.#state = "abandoned";
    this.#carrier.discard();
    this.#settle({ type: "abandoned" });
  }

  #tell(message: Parameters<CarrierLink["post"]>[0]): void {
    if (this.#state === "going") this.#carrier.link.post(message);
  }

  /** A task without one has never heard of any. */
  #tellDeadline(): void {
    const at = this.#request.deadlineAt();
    if (at !== null) this.#tell({ type: "deadline", at });
  }

  async #answer(call: number, node: string): Promise<void> {
    try {
      const value = await this.#request.upstream(node);
      this.#tell({ type: "answer", call, answer: { ok: true, value } });
    } catch (error) {
      this.#tell({ type: "answer", call, answer: { ok: false, error: recordError(error) } });
    }
  }

  #listenForReason(line: string): void {
    if (line.includes(HEAP_IS_FULL)) this.#heapWasFull = true;
    if (!this.#began && !NO_REASON.test(line)) this.#lastWords = line;
  }

  #death({ exitCode, signal, reason }: CarrierExit): Failure {
    const memory = this.#heapWasFull && signal === "SIGABRT" ? `, probably because it ran out of memory (its stderr says "${HEAP_IS_FULL}")` : "";
    const how = reason ?? (signal === null ? `exited with code ${exitCode ?? "unknown"}` : `was ended by ${signal}${memory}`);
    const nothingRan = this.#lastWords === null ? "nothing ran" : `nothing ran; its last line on stderr: ${this.#lastWords}`;
    const extent = this.#began ? "the outcome is unknown, side effects are possible" : nothingRan;
    const message = `the ${this.#carrier.word} ${how} without an outcome: ${extent}${this.#suspicion()}`;
    return createFailure({ kind: "nonzero_exit", message, exitCode, signal, retryable: true });
  }

  /** What a task before this one has left running can end the carrier in ways that nobody can tell apart. */
  #suspicion(): string {
    const { earlier, word } = this.#carrier;
    if (earlier === null || this.#endsItself) return "";
    return `. Other tasks ran in this ${word} before, the last of them "${earlier.name}" (${earlier.taskId}): what one of them left running may be the cause`;
  }
}
