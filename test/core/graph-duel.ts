import assert from "node:assert/strict";
import { advance, beginRun } from "../../src/core/graph-advance.ts";
import type { Action } from "../../src/core/graph-advance.ts";
import { reviveNodes } from "../../src/core/graph-revive.ts";
import { countsOf, createRunState, standingOf } from "../../src/core/graph-run-state.ts";
import type { RunState } from "../../src/core/graph-run-state.ts";
import { buildGraph } from "../../src/core/graph.ts";
import type { NodeSpec } from "../../src/core/graph.ts";
import { OUTCOMES } from "../../src/core/join.ts";
import type { Outcome } from "../../src/core/join.ts";
import type { AggregationPolicy } from "../../src/core/policies/aggregation.ts";
import { BruteForceRun, pick } from "./graph-model.ts";
import type { Expected } from "./graph-model.ts";

/** Drives engine and model side by side and compares every step. */
export class Duel {
  readonly state: RunState;
  readonly model: BruteForceRun;
  readonly pool: string[] = [];
  readonly waiting: Set<string>;
  /** How often each node was let go, ended by a cascade, or ended by hand while it waited. */
  readonly settled = new Map<string, number>();
  verdicts = 0;
  readonly #names: readonly string[];
  readonly #indexByName: ReadonlyMap<string, number>;

  constructor(nodes: readonly NodeSpec[], policy: AggregationPolicy) {
    const graph = buildGraph(nodes);
    this.state = createRunState(graph, { aggregation: policy });
    this.model = new BruteForceRun(nodes, policy);
    this.#names = nodes.map(({ name }) => name);
    this.#indexByName = graph.indexByName;
    this.waiting = new Set(this.#names);
  }

  begin(): void {
    this.#compare(beginRun(this.state).actions, this.model.begin());
  }

  report(name: string, outcome: Outcome): void {
    if (this.waiting.has(name)) this.#settle(name);
    const expected = this.model.report(name, outcome);
    this.#compare(advance(this.state, { node: this.#indexByName.get(name) ?? -1, outcome }).actions, expected);
  }

  revive(names: readonly string[]): void {
    const endedAs = new Map(this.model.status);
    const { revived, expected } = this.model.revive(names);
    const revival = reviveNodes(
      this.state,
      names.map((name) => this.#indexByName.get(name) ?? -1),
    );
    const retry = revival.retry.map((index) => this.#name(index));
    const rerun = revival.rerun.map((index) => this.#name(index));
    assert.deepEqual(new Set([...retry, ...rerun]), revived);
    assert.equal(retry.length + rerun.length, revived.size);
    for (const name of retry) assert.ok(["failed", "lost", "cancelled", "stopped"].includes(endedAs.get(name) ?? "?"));
    for (const name of retry) assert.ok(names.includes(name));
    for (const name of revived) {
      this.waiting.add(name);
      this.settled.delete(name);
    }
    const retried = revival.retry.map((index): Action => ({ type: "ready", node: index }));
    this.#compare([...retried, ...revival.actions], expected);
  }

  #compare(actions: readonly Action[], expected: Expected): void {
    const ready: string[] = [];
    const ended = new Map<string, string>();
    let cancelRest: readonly string[] | null = null;
    let verdict: string | null = null;
    for (const action of actions) {
      // The order promised: decisions, then the cancelled rest or the verdict, alone and last.
      assert.equal(cancelRest ?? verdict, null);
      if (action.type === "ready") ready.push(this.#settle(this.#name(action.node)));
      if (action.type === "end") ended.set(this.#settle(this.#name(action.node)), `${action.to} ${action.kind}`);
      if (action.type === "end") assert.ok(action.upstream.length > 0);
      if (action.type === "cancelRest") cancelRest = action.nodes.map((index) => this.#name(index));
      if (action.type === "verdict") verdict = action.status;
    }
    this.pool.push(...ready);
    if (verdict !== null) this.verdicts += 1;
    assert.deepEqual(ready.toSorted(), expected.ready.toSorted());
    assert.deepEqual(ended, expected.ended);
    assert.deepEqual(cancelRest?.toSorted() ?? null, expected.cancelRest?.toSorted() ?? null);
    assert.equal(verdict, expected.verdict);
    this.#compareCounts();
  }

  #compareCounts(): void {
    const tally = Object.fromEntries([...OUTCOMES, "open"].map((key) => [key, 0]));
    for (const [name, status] of this.model.status) {
      if (standingOf(this.state, this.#indexByName.get(name) ?? -1) !== status) throw new Error(`${name} should be ${status}`);
      const key = status === "waiting" || status === "released" ? "open" : status;
      tally[key] = (tally[key] ?? 0) + 1;
    }
    assert.deepEqual(countsOf(this.state), tally);
  }

  #settle(name: string): string {
    this.waiting.delete(name);
    this.settled.set(name, (this.settled.get(name) ?? 0) + 1);
    return name;
  }

  #name(index: number): string {
    return this.#names[index] ?? "?";
  }
}

/** Outcomes to draw from. */
export const MOSTLY_GOOD: readonly Outcome[] = [...Array<Outcome>(14).fill("succeeded"), "skipped", "skipped", "failed", "lost", "cancelled", "stopped"];

/** Plays a run to its end; now and then a person ends a waiting node or changes an end. */
export function play(duel: Duel, random: () => number): void {
  const names = [...duel.model.status.keys()];
  for (let steps = 0; duel.model.open().length > 0; steps += 1) {
    if (steps > 3 * names.length) throw new Error("the run does not end");
    if (random() < 0.05) {
      const name = pick(names, random);
      const outcome = pick(["succeeded", "cancelled", "stopped"] as const, random);
      if (duel.waiting.has(name) || !duel.pool.includes(name)) duel.report(name, outcome);
      continue;
    }
    const closing = duel.state.closing;
    const ripe = closing ? duel.model.open() : duel.pool;
    // No deadlock: as long as a node is open, some node can end.
    assert.ok(ripe.length > 0);
    const name = pick(ripe, random);
    const place = duel.pool.indexOf(name);
    if (place >= 0) duel.pool.splice(place, 1);
    const outcome = pick(MOSTLY_GOOD, random);
    duel.report(name, closing && (place < 0 || random() < 0.7) ? "cancelled" : outcome);
  }
}
