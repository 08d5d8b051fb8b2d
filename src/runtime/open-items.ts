import type { Cell } from "./cell.ts";

/** As much of an item as is needed here. */
interface OpenItem {
  readonly index: number;
  isOpen: boolean;
  isDone: boolean;
  readonly cell: Cell;
}

/** The items of a map that have not ended: they mostly end in their order, so what lies behind is not looked at again. */
export class OpenItems implements Iterable<Cell> {
  readonly #items: () => readonly OpenItem[];
  /** None before this one is open. */
  #first = 0;
  #open = 0;
  #done = 0;

  constructor(items: () => readonly OpenItem[]) {
    this.#items = items;
  }

  /** How many have not ended. */
  get size(): number {
    return this.#open;
  }

  /** How many of all items have ended with their work done: see `isItemDone`. */
  get done(): number {
    return this.#done;
  }

  /** This one is open, again or for the first time; nothing of it is done. */
  opened(item: OpenItem): void {
    if (item.isOpen) return;
    item.isOpen = true;
    this.#open += 1;
    this.#first = Math.min(this.#first, item.index);
    this.#mark(item, false);
  }

  /** This one has ended. False: it was not open. */
  closed(item: OpenItem, isDone: boolean): boolean {
    if (!item.isOpen) return false;
    item.isOpen = false;
    this.#open -= 1;
    this.#mark(item, isDone);
    return true;
  }

  /** These have ended, and are the map's no longer. */
  dropped(items: readonly OpenItem[]): void {
    for (const item of items) this.#mark(item, false);
  }

  #mark(item: OpenItem, isDone: boolean): void {
    if (item.isDone !== isDone) this.#done += isDone ? 1 : -1;
    item.isDone = isDone;
  }

  *[Symbol.iterator](): Generator<Cell, void, undefined> {
    const items = this.#items();
    while (items[this.#first]?.isOpen === false) this.#first += 1;
    for (let index = this.#first; index < items.length; index += 1) {
      const item = items[index];
      if (item?.isOpen === true) yield item.cell;
    }
  }
}
