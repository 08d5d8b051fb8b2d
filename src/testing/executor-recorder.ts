import type { CarrierReports } from "../core/ports/executor.ts";
import type { ProgressReport } from "../core/progress.ts";

/** One report as it came. */
export interface RecordedReport {
  readonly type: keyof CarrierReports;
  /** What it was called with. */
  readonly values: readonly unknown[];
}

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/** Writes down what a carrier reports, and can be waited on. */
export class ReportRecorder implements CarrierReports {
  readonly all: RecordedReport[] = [];
  #waiters: readonly Waiter[] = [];

  launched(pid: number | null): void {
    this.#add("launched", pid);
  }

  pauseReached(): void {
    this.#add("pauseReached");
  }

  stopSeen(): void {
    this.#add("stopSeen");
  }

  active(): void {
    this.#add("active");
  }

  beat(): void {
    this.#add("beat");
  }

  progress(report: ProgressReport): void {
    this.#add("progress", report);
  }

  log(...values: Parameters<CarrierReports["log"]>): void {
    this.#add("log", ...values);
  }

  emit(kind: string, payload: unknown): void {
    this.#add("emit", kind, payload);
  }

  save(state: unknown): void {
    this.#add("save", state);
  }

  stray(error: unknown): void {
    this.#add("stray", error);
  }

  /** The values of every report of a type, in order. */
  of(type: keyof CarrierReports): readonly (readonly unknown[])[] {
    return this.all.filter((report) => report.type === type).map(({ values }) => values);
  }

  /** The payloads of what was emitted under a kind, in order. */
  emitted(kind: string): readonly unknown[] {
    return this.of("emit").flatMap(([name, payload]) => (name === kind ? [payload] : []));
  }

  /** Resolves as soon as it is so. */
  async until(isMet: () => boolean): Promise<void> {
    if (isMet()) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters = [...this.#waiters, { isMet, resolve }];
    await promise;
  }

  #add(type: keyof CarrierReports, ...values: readonly unknown[]): void {
    this.all.push({ type, values });
    const met = this.#waiters.filter((waiter) => waiter.isMet());
    this.#waiters = this.#waiters.filter((waiter) => !met.includes(waiter));
    for (const { resolve } of met) resolve();
  }
}
