import { availableParallelism, loadavg } from "node:os";
import { isQuick } from "./mode.ts";

/** What a figure should be at least, or at most. */
export type Target = { readonly atLeast: number } | { readonly atMost: number };

/** A figure with all its samples. */
export interface Figure {
  /** The bench's name: its file. */
  readonly bench: string;
  readonly metric: string;
  readonly unit: string;
  readonly samples: readonly number[];
  readonly target?: Target;
  /** Sizes and circumstances that the figure depends on. */
  readonly details?: Readonly<Record<string, string | number | boolean>>;
}

/** Prints a figure as one JSON line: the median, and how far the samples are apart. */
export function report({ bench, metric, unit, samples, target, details }: Figure): void {
  const value = median(samples);
  const min = Math.min(...samples);
  const max = Math.max(...samples);
  print({
    bench,
    metric,
    unit,
    value: rounded(value),
    min: rounded(min),
    max: rounded(max),
    spread: value === 0 ? 0 : rounded((max - min) / value),
    samples: samples.length,
    ...(target === undefined ? {} : { target, met: isMet(value, target) }),
    ...details,
  });
}

/** Says that a figure could not be taken, and why. */
export function reportSkipped(bench: string, metric: string, reason: string): void {
  print({ bench, metric, skipped: reason });
}

/** Round by round, so that what slowed both down cancels out. */
export function ratios(left: readonly number[], right: readonly number[]): readonly number[] {
  return left.map((figure, index) => figure / (right[index] ?? Number.NaN));
}

function print(line: Readonly<Record<string, unknown>>): void {
  const [load = 0] = loadavg();
  console.log(JSON.stringify({ ...line, quick: isQuick, node: process.version, cpus: availableParallelism(), load: rounded(load) }));
}

function isMet(value: number, target: Target): boolean {
  return "atLeast" in target ? value >= target.atLeast : value <= target.atMost;
}

function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? Number.NaN)) / 2;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
