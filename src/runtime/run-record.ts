import { InvalidTransition } from "../core/errors.ts";
import type { PipelineRunStatusChanged } from "../core/events.ts";
import type { By } from "../core/lifecycle-events.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { RunSnapshot } from "../core/run.ts";
import { isRunTerminal } from "../core/run.ts";
import { allowedRunVerbs, RUN_VERB_TABLE } from "../core/run-verbs.ts";
import type { RunVerb } from "../core/run-verbs.ts";
import type { RunStatus } from "../core/status.ts";
import type { Journal } from "./journal.ts";

/** What a record works with. */
export interface RunRecordParts {
  readonly clock: Clock;
  readonly journal: Journal;
  /** The run has ended, that is stored, and nobody has revived it meanwhile. */
  readonly over: () => void;
}

/** Told of each snapshot of the run once it is stored. */
interface RunWatcher {
  stored(run: RunSnapshot): void;
  failed(problem: Error): void;
}

/** A run's own row: its steps on their way to the store, and whoever waits for them. */
export class RunRecord {
  /** As decided. */
  run: RunSnapshot;
  /** As stored. */
  storedRun: RunSnapshot;
  readonly #parts: RunRecordParts;
  readonly #watchers = new Set<RunWatcher>();
  #dismissed: Error | null = null;
  /** Why the latest step is not stored and never will be. */
  #unwritten: Error | null = null;

  constructor(parts: RunRecordParts, run: RunSnapshot) {
    this.#parts = parts;
    this.run = run;
    this.storedRun = run;
  }

  step(to: RunStatus, patch: Partial<RunSnapshot>, by: By): void {
    const before = this.run;
    // One instant for the end, in the row and in the event.
    const at = patch.endedAt ?? this.#parts.clock.now();
    const run: RunSnapshot = { ...before, ...patch, status: to, version: before.version + 1 };
    this.run = run;
    this.#parts.journal.changeRun({ snapshot: run, expectVersion: before.version, events: [runEvent(before, run, { at, by })] }, (problem) =>
      this.#stored(run, problem),
    );
  }

  /**
   * Would the verb move the run? False: it is there already.
   * @throws InvalidTransition where the verb is refused
   */
  moves(verb: RunVerb): boolean {
    const effect = RUN_VERB_TABLE[this.run.status][verb];
    if (effect === "refused") throw this.refusal(verb);
    return effect === "moves";
  }

  refusal(verb: RunVerb, hint?: string): InvalidTransition {
    const { runId, status } = this.run;
    return new InvalidTransition({
      what: "run",
      taskId: runId,
      current: status,
      requested: verb,
      allowed: allowedRunVerbs(status).filter((each) => each !== verb),
      ...(hint === undefined ? {} : { hint }),
    });
  }

  /** Resolves with the run as stored once it has ended; rejects when aborted, or when its end cannot be stored. */
  async ended(signal?: AbortSignal): Promise<RunSnapshot> {
    return await this.#until((run) => isRunTerminal(run.status), isRunTerminal(this.run.status), signal);
  }

  /** Resolves once what is decided by now is stored. */
  async written(): Promise<RunSnapshot> {
    const { version } = this.run;
    return await this.#until((run) => run.version >= version, true);
  }

  /** It is driven here no longer, though it has not ended: whoever waits hears why. */
  dismiss(problem: Error): void {
    this.#dismissed = problem;
    for (const watcher of this.#watchers) watcher.failed(problem);
  }

  /** @param isMet is it so already, as decided? Else what is stored by now says nothing of what is to come. */
  async #until(reached: (stored: RunSnapshot) => boolean, isMet: boolean, signal?: AbortSignal): Promise<RunSnapshot> {
    if (isMet && reached(this.storedRun)) return this.storedRun;
    const problem = this.#dismissed ?? (isMet ? this.#unwritten : null);
    if (problem !== null) throw problem;
    const { promise, resolve, reject } = Promise.withResolvers<RunSnapshot>();
    const watcher: RunWatcher = {
      stored: (run) => {
        if (reached(run)) resolve(run);
      },
      failed: reject,
    };
    const onAbort = (): void => reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    this.#watchers.add(watcher);
    try {
      return await promise;
    } finally {
      this.#watchers.delete(watcher);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #stored(run: RunSnapshot, problem: Error | null): void {
    if (problem === null) this.storedRun = run;
    if (this.run === run) this.#unwritten = problem;
    for (const watcher of this.#watchers) {
      if (problem === null) watcher.stored(run);
      else watcher.failed(problem);
    }
    if (isRunTerminal(run.status) && this.run === run) this.#parts.over();
  }
}

/** The event of a run's step. */
export function runEvent(before: RunSnapshot, after: RunSnapshot, { at, by }: { readonly at: number; readonly by: By }): PipelineRunStatusChanged {
  return {
    type: "PipelineRunStatusChanged",
    eventId: `${after.runId}:${after.version}`,
    at,
    taskId: null,
    pipelineRunId: after.runId,
    name: after.name,
    from: before.status,
    to: after.status,
    trigger: by.trigger ?? "pipeline:step",
    actor: by.actor ?? "system",
    reason: by.reason ?? null,
    version: after.version,
  };
}
