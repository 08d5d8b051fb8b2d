import type { Clock, Timer } from "../core/ports/clock.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import type { HeapNode } from "./indexed-heap.ts";

/** Something that is due at an instant. */
export interface DueNode extends HeapNode {
  /** Monotonic milliseconds. */
  readonly dueAt: number;
  /** Of what is due at the same instant, the lower comes first. */
  readonly sequence: number;
}

/** What waits for its instant: one timer for the earliest, none when nothing waits. */
export class DueQueue<Node extends DueNode> {
  readonly #clock: Clock;
  readonly #onDue: () => void;
  readonly #waiting = new IndexedHeap<Node>((a, b) => a.dueAt - b.dueAt || a.sequence - b.sequence);
  #timer: Timer | null = null;
  #timerFor: Node | null = null;

  /** @param onDue called when the earliest is due; `takeDue` gives what is */
  constructor(clock: Clock, onDue: () => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#waiting.size;
  }

  add(node: Node): void {
    this.#waiting.push(node);
    this.#arm();
  }

  /** @throws InternalError when it does not wait here */
  remove(node: Node): void {
    this.#waiting.remove(node);
    this.#arm();
  }

  /** Takes out everything that is due by now, in order. */
  takeDue(): readonly Node[] {
    if (this.#waiting.size === 0) return NOTHING;
    const now = this.#clock.monotonic();
    const due: Node[] = [];
    while (this.#waiting.size > 0 && this.#waiting.first.dueAt <= now) due.push(this.#waiting.pop());
    this.#arm();
    return due;
  }

  #arm(): void {
    const earliest = this.#waiting.size === 0 ? null : this.#waiting.first;
    if (earliest === this.#timerFor) return;
    this.#timer?.cancel();
    this.#timerFor = earliest;
    this.#timer = earliest === null ? null : this.#clock.setTimer(this.#delayMs(earliest), () => this.#fire());
  }

  /** Whole milliseconds: a rest of less than the clock can tell would fire again and again in the same instant. */
  #delayMs(node: Node): number {
    return Math.max(0, Math.ceil(node.dueAt - this.#clock.monotonic()));
  }

  #fire(): void {
    this.#timer = null;
    this.#timerFor = null;
    this.#onDue();
    this.#arm(); // what is not due after all gets another timer
  }
}

const NOTHING: readonly never[] = [];
