import type { ReasonFact } from "../core/explanation.ts";
import type { By } from "../core/lifecycle-events.ts";
import type { Timer } from "../core/ports/clock.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import { isTerminal } from "../core/transitions.ts";
import type { Cell, NodePlace } from "./cell.ts";
import type { GatePlace } from "./item-gate.ts";

/** What an item asks of its map. */
export interface ItemOwner {
  itemEnded(item: MapItem): void;
  reopenItem(item: MapItem, verb: string): () => void;
  startItem(item: MapItem, by: By): void;
  admitItem(item: MapItem): boolean;
  itemLeft(item: MapItem): void;
  itemWait(item: MapItem): ReasonFact | null;
  /** Those that have their turn. */
  itemsInside(): readonly Cell[];
  upstream(name: string): Promise<unknown>;
  isOver(): boolean;
}

/** One item of a map: its task, and its place in the map. */
export class MapItem implements NodePlace, GatePlace {
  readonly index: number;
  /** It has not ended, and the map waits for it. */
  isOpen = false;
  /** It has ended with its work done. */
  isDone = false;
  isInside = false;
  isWaiting = false;
  /** False: it could not be stored, and is none. */
  isMade = true;
  /** Of its backoff, where it gives its turn away meanwhile. */
  #backoff: Timer | null = null;
  readonly #owner: ItemOwner;
  readonly #make: (item: MapItem) => Cell;
  #cell: Cell | null = null;

  constructor(owner: ItemOwner, index: number, make: (item: MapItem) => Cell) {
    this.#owner = owner;
    this.index = index;
    this.#make = make;
  }

  get cell(): Cell {
    return (this.#cell ??= this.#make(this));
  }

  /** `enrich[3]`. */
  get name(): string {
    return this.cell.snapshot.node ?? this.cell.snapshot.name;
  }

  isOver(): boolean {
    return this.#owner.isOver();
  }

  ended(): void {
    this.#owner.itemEnded(this);
  }

  reopen(_cell: Cell, verb: string): () => void {
    return this.#owner.reopenItem(this, verb);
  }

  start(_cell: Cell, by: By): void {
    this.#owner.startItem(this, by);
  }

  /** It was given its item when it was made. */
  args(): undefined {
    return undefined;
  }

  upstream(name: string): Promise<unknown> {
    return this.#owner.upstream(name);
  }

  admit(): boolean {
    return this.#owner.admitItem(this);
  }

  inTheWay(): readonly ReasonFact[] {
    const fact = this.#owner.itemWait(this);
    return fact === null ? [] : [fact];
  }

  ahead(): readonly Cell[] {
    return this.isWaiting ? this.#owner.itemsInside() : [];
  }

  /** Its turn is another's until its backoff has ended. */
  backOff(timer: Timer): void {
    this.#backoff = timer;
  }

  /** Nobody drives it any more. */
  dismiss(): void {
    this.#backoff?.cancel();
  }

  stepped(cell: Cell): void {
    const { status } = cell.snapshot;
    if (status !== "retry_wait") this.#backoff?.cancel();
    if (isTerminal(status) || status === "pending" || (status === "paused" && !holdsSlot(cell.snapshot))) this.#owner.itemLeft(this);
  }
}
