import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import type { Join, Outcome } from "../../src/core/join.ts";

/** A node with the defaults filled in. */
export function node(name: string, deps: readonly string[] = [], extra: Partial<NodeSpec> = {}): NodeSpec {
  return { name, deps, join: "all_succeeded", onUpstreamFailure: "cancel", kind: "task", ...extra };
}

/** `n0 ← n1 ← n2 …` */
export function chain(length: number): NodeSpec[] {
  return Array.from({ length }, (_, index) => node(`n${index}`, index === 0 ? [] : [`n${index - 1}`]));
}

/** A small generator of numbers in [0, 1): the same seed, the same run. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function pick<T>(items: readonly T[], random: () => number): T {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

const JOIN_MIX: readonly Join[] = ["all_succeeded", "all_succeeded", "none_failed", "any_succeeded", "all_done"];

/** The shapes that pipelines have: tangles, long chains, rows of diamonds, wide fans out and in, islands. */
export const SHAPES = ["tangle", "chain", "diamonds", "fan", "islands"] as const;
export type Shape = (typeof SHAPES)[number];

/** A random graph of that shape, declared in random order so that numbers say nothing about depth. */
export function randomNodes(shape: Shape, count: number, random: () => number): NodeSpec[] {
  const nodes = Array.from({ length: count }, (_, index) =>
    node(
      `n${index}`,
      [...new Set(depsOf(shape, index, random))].map((dep) => `n${dep}`),
      {
        join: pick(JOIN_MIX, random),
        onUpstreamFailure: random() < 0.3 ? "skip" : "cancel",
        kind: random() < 0.1 ? "map" : "task",
      },
    ),
  );
  for (let last = nodes.length - 1; last > 0; last -= 1) {
    const other = Math.floor(random() * (last + 1));
    [nodes[last], nodes[other]] = [nodes[other] as NodeSpec, nodes[last] as NodeSpec];
  }
  return nodes;
}

function depsOf(shape: Shape, index: number, random: () => number): number[] {
  const anyBefore = (): number => Math.floor(random() * index);
  switch (shape) {
    case "tangle":
      return index === 0 ? [] : Array.from({ length: Math.floor(random() * 4) }, anyBefore);
    case "chain":
      return index === 0 ? [] : [index - 1];
    case "diamonds":
      // 0 → 1,2 → 3 → 4,5 → 6 …
      if (index === 0) return [];
      return index % 3 === 0 ? [index - 2, index - 1] : [index - (index % 3)];
    case "fan":
      if (index === 0) return [];
      return index % 10 === 9 ? Array.from({ length: 9 }, (_, back) => index - 9 + back) : [Math.floor(index / 10) * 10 - 1].filter((dep) => dep >= 0);
    case "islands":
      return index % 5 === 0 ? [] : [index - 1];
  }
}

type ModelStatus = "waiting" | "released" | Outcome;

export interface Expected {
  readonly ready: readonly string[];
  readonly ended: ReadonlyMap<string, string>;
  /** Names of what is to be cancelled, or `null`. */
  readonly cancelRest: readonly string[] | null;
  readonly verdict: string | null;
}

/** The rules of a run, told as plainly as they can be: everything is computed again from scratch at every step. */
export class BruteForceRun {
  readonly status = new Map<string, ModelStatus>();
  readonly #nodes: readonly NodeSpec[];
  readonly #policy: AggregationPolicy;
  #closing = false;
  #declared = false;

  constructor(nodes: readonly NodeSpec[], policy: AggregationPolicy) {
    this.#nodes = nodes;
    this.#policy = policy;
    for (const { name } of nodes) this.status.set(name, "waiting");
  }

  begin(): Expected {
    return this.#settle(null);
  }

  report(name: string, outcome: Outcome): Expected {
    if (this.status.get(name) === outcome) return { ready: [], ended: new Map(), cancelRest: null, verdict: null };
    this.status.set(name, outcome);
    return this.#settle(outcome);
  }

  /** Those given and all below them wait again, where they had ended. Answers which. */
  revive(names: readonly string[]): { readonly revived: ReadonlySet<string>; readonly expected: Expected } {
    const reached = new Set(names);
    for (let size = -1; size !== reached.size;) {
      size = reached.size;
      for (const spec of this.#nodes) if (spec.deps.some((dep) => reached.has(dep))) reached.add(spec.name);
    }
    const open = new Set(this.open());
    const revived = new Set([...reached].filter((name) => !open.has(name)));
    if (revived.size === 0) return { revived, expected: { ready: [], ended: new Map(), cancelRest: null, verdict: null } };
    for (const name of revived) this.status.set(name, "waiting");
    this.#closing = false;
    this.#declared = false;
    return { revived, expected: this.#settle(null) };
  }

  open(): string[] {
    return [...this.status].filter(([, status]) => status === "waiting" || status === "released").map(([name]) => name);
  }

  #settle(cause: Outcome | null): Expected {
    const ready: string[] = [];
    const ended = new Map<string, string>();
    for (let changed = !this.#closing; changed;) {
      changed = false;
      for (const spec of this.#nodes) {
        if (this.status.get(spec.name) !== "waiting") continue;
        const says = this.#joinSays(spec);
        if (says === "wait") continue;
        changed = true;
        if (says === "ready") {
          ready.push(spec.name);
          this.status.set(spec.name, "released");
        } else {
          const to = says === "condition_false" || spec.onUpstreamFailure === "skip" ? "skipped" : "cancelled";
          ended.set(spec.name, `${to} ${says}`);
          this.status.set(spec.name, to);
        }
      }
    }
    return { ready, ended, cancelRest: this.#cancelRest(cause), verdict: this.#verdict() };
  }

  #joinSays(spec: NodeSpec): "ready" | "wait" | "condition_false" | "dependency_failed" {
    const all = spec.deps.map((dep) => this.status.get(dep));
    const isOpen = (status: ModelStatus | undefined): boolean => status === "waiting" || status === "released";
    const isBad = (status: ModelStatus | undefined): boolean => status === "failed" || status === "lost" || status === "cancelled" || status === "stopped";
    const bad = all.some(isBad);
    const over = !all.some(isOpen);
    if (all.length === 0) return "ready";
    if (spec.join === "all_done") return over ? "ready" : "wait";
    if (spec.join === "any_succeeded") {
      if (all.includes("succeeded")) return "ready";
      if (!over) return "wait";
      return bad ? "dependency_failed" : "condition_false";
    }
    if (bad) return "dependency_failed";
    if (!over) return "wait";
    return spec.join === "all_succeeded" && all.includes("skipped") ? "condition_false" : "ready";
  }

  #cancelRest(cause: Outcome | null): readonly string[] | null {
    const open = this.open();
    if (this.#closing || cause === null || open.length === 0) return null;
    const succeeded = [...this.status.values()].filter((status) => status === "succeeded").length;
    const failFast = this.#policy.kind === "fail_fast" && (cause === "failed" || cause === "lost");
    const outOfReach = this.#policy.kind === "quorum" && succeeded + open.length < this.#policy.count;
    if (!failFast && !outOfReach) return null;
    this.#closing = true;
    return open;
  }

  #verdict(): string | null {
    if (this.open().length > 0 || this.#declared) return null;
    this.#declared = true;
    const all = [...this.status.values()];
    if (this.#policy.kind === "quorum" && all.filter((status) => status === "succeeded").length >= this.#policy.count) return "succeeded";
    if (all.includes("failed") || all.includes("lost")) return "failed";
    if (all.includes("stopped")) return "stopped";
    return all.includes("cancelled") ? "cancelled" : "succeeded";
  }
}
