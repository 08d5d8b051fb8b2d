import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InternalError } from "../../src/core/errors.ts";
import { IndexedHeap } from "../../src/runtime/indexed-heap.ts";
import type { HeapNode } from "../../src/runtime/indexed-heap.ts";

interface Numbered extends HeapNode {
  value: number;
}

const node = (value: number): Numbered => ({ value, heapIndex: -1 });
const newHeap = (): IndexedHeap<Numbered> => new IndexedHeap((a, b) => a.value - b.value);

describe("an indexed heap", () => {
  it("gives its nodes in order, whatever was added, removed and changed before", () => {
    const step = fc.record({ what: fc.constantFrom("push", "push", "push", "pop", "remove", "change"), which: fc.nat(), value: fc.integer() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: "max" }), (steps) => {
        const heap = newHeap();
        const model: Numbered[] = [];
        for (const { what, which, value } of steps) {
          const chosen = model[which % Math.max(1, model.length)];
          if (what === "push" || chosen === undefined) {
            const added = node(value);
            heap.push(added);
            model.push(added);
          } else if (what === "change") {
            chosen.value = value;
            heap.reposition(chosen);
          } else {
            const removed = what === "pop" ? heap.pop() : chosen;
            if (what === "pop") expect(removed.value).toBe(Math.min(...model.map((other) => other.value)));
            else heap.remove(removed);
            expect(removed.heapIndex).toBe(-1);
            model.splice(model.indexOf(removed), 1);
          }
          expect(heap.size).toBe(model.length);
        }
        const drained = Array.from({ length: model.length }, () => heap.pop().value);
        expect(drained).toEqual(model.map((left) => left.value).toSorted((a, b) => a - b));
      }),
    );
  });

  it("refuses a node twice, one that is not in it, and to give what it has not", () => {
    const heap = newHeap();
    const only = node(1);
    heap.push(only);
    expect(() => heap.push(only)).toThrow(InternalError);
    expect(() => heap.remove(node(1))).toThrow(InternalError);
    expect(() => newHeap().reposition(only)).toThrow(InternalError);
    heap.remove(only);
    expect(() => heap.remove(only)).toThrow(InternalError);
    expect(() => heap.first).toThrow(InternalError);
    expect(() => heap.pop()).toThrow(InternalError);
  });
});
