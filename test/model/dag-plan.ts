import type { NodeSpec } from "../../src/core/graph.ts";
import { pick, randomNodes } from "../core/graph-model.ts";
import type { Shape } from "../core/graph-model.ts";

export const TAGS = ["x", "y", "z"] as const;

/** How long a body takes, and how: at once, some microtasks, some turns of the loop, some time. */
export type Pace = "sync" | "microtasks" | "turn" | "sleep";

/** How the attempts of a node end: the first `failures` throw, or outlast their timeout; the next returns. */
export interface NodeScript extends NodeSpec {
  readonly failures: number;
  readonly fails: "throws" | "outlasts";
  readonly maxAttempts: number;
  /** `odd`: true where the sum of what it reads is odd. */
  readonly condition: "none" | "true" | "false" | "throws" | "odd";
  readonly argsThrow: boolean;
  readonly pace: Pace;
  readonly ms: number;
  readonly tags: readonly string[];
  readonly executor: "async" | "inline";
  /** `null`: a task. */
  readonly map: MapScript | null;
}

/** What a map is made of; each item is scripted as its node is. */
export interface MapScript {
  readonly items: number;
  /** These fail for good. */
  readonly bad: readonly number[];
  readonly maxParallel: number | null;
  readonly failedItems: "fail" | "keep";
}

/** What a node gives to those below: a map the values of its items, 0 for one that has none. */
export type Value = number | readonly number[] | undefined;

export type Policy = { readonly kind: "failFast" | "allSettled" } | { readonly kind: "quorum"; readonly count: number };

/** How a node is to end. */
export interface Foretold {
  readonly status: "succeeded" | "failed" | "skipped" | "cancelled";
  /** How often its body is called. */
  readonly bodies: number;
  readonly value: Value;
  /** The kind of its failure, `null` where it has none. */
  readonly failure: string | null;
}

export interface PlanOptions {
  readonly shape: Shape;
  readonly count: number;
  /** 0: nothing fails. */
  readonly badness: number;
}

/** A random pipeline with all that is going to happen in it. */
export function randomScripts({ shape, count, badness }: PlanOptions, random: () => number): readonly NodeScript[] {
  const chance = (probability: number): boolean => random() < probability;
  return randomNodes(shape, count, random).map((spec): NodeScript => {
    const isBad = chance(0.25 * badness);
    const failsAt = pick(["throws", "throws", "outlasts"] as const, random);
    return {
      ...spec,
      failures: isBad ? pick([1, 1, 2, 3], random) : 0,
      fails: failsAt,
      maxAttempts: pick([1, 2, 3, 3], random),
      condition: chance(0.15 * badness) ? pick(["false", "throws", "odd", "odd"] as const, random) : pick(["none", "none", "true"] as const, random),
      argsThrow: chance(0.02 * badness),
      pace: pick(["sync", "microtasks", "microtasks", "turn", "sleep"] as const, random),
      ms: 1 + Math.floor(random() * 20),
      tags: TAGS.filter(() => chance(0.25)),
      // Nothing outlasts a timeout that nobody else can look at.
      executor: failsAt === "throws" && chance(0.15) ? "inline" : "async",
      map: spec.kind === "map" ? randomMap(badness, random) : null,
    };
  });
}

function randomMap(badness: number, random: () => number): MapScript {
  const items = pick([0, 1, 2, 5, 12], random);
  const bad = Array.from({ length: items }, (_, index) => index).filter(() => random() < 0.1 * badness);
  return { items, bad, maxParallel: pick([null, null, 1, 3], random), failedItems: pick(["fail", "keep"] as const, random) };
}

/** What is read of the upstreams: with `any_succeeded` it depends on who was first, so nothing is. */
export function reads(script: NodeScript): boolean {
  return script.join !== "any_succeeded";
}

/** What values add up to. */
export function sumOf(values: readonly Value[]): number {
  return values.flat().reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** The value of a node whose upstreams' values add up to that. */
export function valueOf(sum: number): number {
  return (sum + 1) % 1_000_003;
}

/** How every node is to end where nobody interferes: worked out from the wiring alone, without time, order or limits. */
export function foretell(scripts: readonly NodeScript[]): ReadonlyMap<string, Foretold> {
  const byName = new Map(scripts.map((script) => [script.name, script]));
  const told = new Map<string, Foretold>();
  const stack = scripts.map(({ name }) => name);
  for (let name = stack.at(-1); name !== undefined; name = stack.at(-1)) {
    const script = byName.get(name);
    if (script === undefined) throw new Error(`no node ${name}`);
    const open = script.deps.filter((dep) => !told.has(dep));
    if (open.length > 0 && !told.has(name)) {
      stack.push(...open);
      continue;
    }
    stack.pop();
    if (!told.has(name))
      told.set(
        name,
        endOf(
          script,
          script.deps.flatMap((dep) => told.get(dep) ?? []),
        ),
      );
  }
  return told;
}

function endOf(script: NodeScript, ups: readonly Foretold[]): Foretold {
  const unmet = whyNot(script, ups);
  if (unmet !== null) {
    const status = unmet === "condition_false" || script.onUpstreamFailure === "skip" ? "skipped" : "cancelled";
    return { status, bodies: 0, value: undefined, failure: unmet };
  }
  const sum = reads(script) ? sumOf(ups.map(({ value }) => value)) : 0;
  if (script.condition === "throws") return { status: "failed", bodies: 0, value: undefined, failure: "exception" };
  if (script.condition === "false" || (script.condition === "odd" && sum % 2 === 0 && reads(script)))
    return { status: "skipped", bodies: 0, value: undefined, failure: "condition_false" };
  if (script.argsThrow) return { status: "failed", bodies: 0, value: undefined, failure: "exception" };
  if (script.map !== null) return mapEnd(script, script.map, sum);
  if (script.failures < script.maxAttempts) return { status: "succeeded", bodies: script.failures + 1, value: valueOf(sum), failure: null };
  return { status: "failed", bodies: script.maxAttempts, value: undefined, failure: failureOf(script) };
}

function mapEnd(script: NodeScript, { items, bad, failedItems }: MapScript, sum: number): Foretold {
  const { failures, maxAttempts } = script;
  const indices = Array.from({ length: items }, (_, index) => index);
  const isBad = (index: number): boolean => failures >= maxAttempts || bad.includes(index);
  const bodies = indices.reduce((total, index) => total + (isBad(index) ? maxAttempts : failures + 1), 0);
  const value = indices.map((index) => (isBad(index) ? 0 : valueOf(sum + index)));
  const isFailed = failedItems === "fail" && indices.some(isBad);
  return isFailed ? { status: "failed", bodies, value: undefined, failure: failureOf(script) } : { status: "succeeded", bodies, value, failure: null };
}

function failureOf({ fails }: NodeScript): string {
  return fails === "throws" ? "exception" : "timeout_attempt";
}

function whyNot({ join, deps }: NodeScript, ups: readonly Foretold[]): "condition_false" | "dependency_failed" | null {
  const count = (...statuses: readonly string[]): number => ups.filter(({ status }) => statuses.includes(status)).length;
  const [good, skipped, bad] = [count("succeeded"), count("skipped"), count("failed", "cancelled")];
  if (deps.length === 0 || join === "all_done") return null;
  if (join === "any_succeeded" && good > 0) return null;
  if (bad > 0) return "dependency_failed";
  if (join === "none_failed") return null;
  return skipped > 0 ? "condition_false" : null;
}

/** The verdict over these ends. Source §3.3: only a met quorum forgives. */
export function verdictOver(statuses: readonly string[], policy: Policy): string {
  if (policy.kind === "quorum" && statuses.filter((status) => status === "succeeded").length >= policy.count) return "succeeded";
  if (statuses.includes("failed") || statuses.includes("lost")) return "failed";
  if (statuses.includes("stopped")) return "stopped";
  return statuses.includes("cancelled") ? "cancelled" : "succeeded";
}
