import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ringThrough, stuckFrom } from "../../src/core/knots.ts";
import type { Need } from "../../src/core/knots.ts";

type Graph = readonly (readonly Need<number>[])[];

const SIZE = 6;

/** Needs that no one could ever meet are no needs of ours: `least` is at most as many as there are. */
const anyNeed = fc
  .uniqueArray(fc.nat(SIZE - 1), { minLength: 1, maxLength: 3 })
  .chain((of) => fc.record({ of: fc.constant(of), least: fc.integer({ min: 1, max: of.length }), what: fc.constant("waits for") }));
const anyGraph: fc.Arbitrary<Graph> = fc.array(fc.array(anyNeed, { maxLength: 2 }), { minLength: SIZE, maxLength: SIZE });

/** As one would write it without a thought of speed: again and again, until nothing changes. */
function live(graph: Graph): ReadonlySet<number> {
  const found = new Set<number>();
  for (let size = -1; size < found.size;) {
    size = found.size;
    for (const [node, needs] of graph.entries())
      if (needs.every(({ of, least }) => [...of].filter((other) => found.has(other)).length >= least)) found.add(node);
  }
  return found;
}

const needsIn =
  (graph: Graph) =>
  (node: number): readonly Need<number>[] =>
    graph[node] ?? [];

const waits = (...of: number[]): Need<number> => ({ of, least: 1, what: "waits for" });

describe("who can never go on", () => {
  it("is who is not shown to by others that can", () => {
    fc.assert(
      fc.property(anyGraph, (graph) => {
        const canGoOn = live(graph);
        for (const root of graph.keys()) {
          const stuck = stuckFrom(root, needsIn(graph));
          expect(stuck.has(root)).toBe(!canGoOn.has(root));
          if (canGoOn.has(root)) expect(stuck.size).toBe(0);
          for (const node of stuck) expect(canGoOn.has(node)).toBe(false);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("always has a ring below it, and each link of a ring is one of its needs", () => {
    fc.assert(
      fc.property(anyGraph, fc.nat(SIZE - 1), (graph, root) => {
        const needsOf = needsIn(graph);
        const stuck = stuckFrom(root, needsOf);
        const rings = [...stuck].map((node) => ringThrough(node, stuck, needsOf)).filter((ring) => ring !== null);
        expect(rings.length > 0).toBe(stuck.size > 0);
        for (const ring of rings) {
          for (const [index, { node }] of ring.entries()) {
            const next = ring[(index + 1) % ring.length]?.node;
            expect(needsOf(node).some(({ of }) => [...of].some((other) => other === next))).toBe(true);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it("is looked for no further than it must", () => {
    const asked: number[] = [];
    const stuck = stuckFrom(0, (node: number) => {
      asked.push(node);
      return node === 0 ? [waits(1, 2, 3)] : [];
    });
    expect([stuck.size, asked]).toEqual([0, [0, 1]]);
  });

  it("may be at the end of a very long chain", () => {
    const length = 50_000;
    const needsOf = (node: number): readonly Need<number>[] => [waits((node + 1) % length)];
    expect(stuckFrom(0, needsOf).size).toBe(length);
  });
});
