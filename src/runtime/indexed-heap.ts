import { InternalError } from "../core/errors.ts";

/** What a heap keeps: it knows its own place, so that it can leave in O(log n). */
export interface HeapNode {
  /** Its place in the one heap that holds it; −1: in none. Written by the heap alone. */
  heapIndex: number;
}

/**
 * A heap whose nodes know their place: everything is O(log n), leaving too, so nothing dead stays behind.
 * Four children to a node: half the levels of a binary one, and on a large heap a level is a cache miss.
 */
export class IndexedHeap<Node extends HeapNode> {
  readonly #compare: (a: Node, b: Node) => number;
  readonly #nodes: Node[] = [];

  /** @param compare negative when `a` comes first; of two nodes of the heap it may change only by `reposition` */
  constructor(compare: (a: Node, b: Node) => number) {
    this.#compare = compare;
  }

  get size(): number {
    return this.#nodes.length;
  }

  /** @throws InternalError when the heap is empty */
  get first(): Node {
    return this.#at(0);
  }

  /** @throws InternalError when the node is in a heap already */
  push(node: Node): void {
    if (node.heapIndex !== -1) throw new InternalError("the node is in a heap already.");
    this.#nodes.push(node);
    this.#rise(node, this.#nodes.length - 1);
  }

  /** @throws InternalError when the heap is empty */
  pop(): Node {
    const { first } = this;
    this.remove(first);
    return first;
  }

  /** @throws InternalError when the node is not in this heap */
  remove(node: Node): void {
    const index = this.#indexOf(node);
    const last = this.#at(this.#nodes.length - 1);
    this.#nodes.length -= 1;
    node.heapIndex = -1;
    if (last !== node) this.#settle(last, index);
  }

  /**
   * Puts a node whose order has changed where it belongs.
   * @throws InternalError when the node is not in this heap
   */
  reposition(node: Node): void {
    this.#settle(node, this.#indexOf(node));
  }

  #settle(node: Node, index: number): void {
    if (index > 0 && this.#compare(node, this.#at(parentOf(index))) < 0) this.#rise(node, index);
    else this.#sink(node, index);
  }

  #rise(node: Node, from: number): void {
    let index = from;
    while (index > 0) {
      const parent = this.#at(parentOf(index));
      if (this.#compare(node, parent) >= 0) break;
      this.#place(parent, index);
      index = parentOf(index);
    }
    this.#place(node, index);
  }

  #sink(node: Node, from: number): void {
    let index = from;
    for (let child = this.#firstChild(index); child !== -1; child = this.#firstChild(index)) {
      const other = this.#at(child);
      if (this.#compare(other, node) >= 0) break;
      this.#place(other, index);
      index = child;
    }
    this.#place(node, index);
  }

  /** The child that comes first; −1: there is none. */
  #firstChild(index: number): number {
    const from = CHILDREN * index + 1;
    const end = Math.min(from + CHILDREN, this.#nodes.length);
    if (from >= end) return -1;
    let first = from;
    for (let child = from + 1; child < end; child += 1) if (this.#compare(this.#at(child), this.#at(first)) < 0) first = child;
    return first;
  }

  #place(node: Node, index: number): void {
    this.#nodes[index] = node;
    node.heapIndex = index;
  }

  #at(index: number): Node {
    const node = this.#nodes[index];
    if (node === undefined) throw new InternalError(`the heap of ${this.#nodes.length} has nothing at ${index}.`);
    return node;
  }

  #indexOf(node: Node): number {
    if (this.#nodes[node.heapIndex] !== node) throw new InternalError("the node is not in this heap.");
    return node.heapIndex;
  }
}

const CHILDREN = 4;

function parentOf(index: number): number {
  return (index - 1) >> 2;
}
