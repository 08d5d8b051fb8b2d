import type { Cell } from "./cell.ts";

/** As much of an item as is needed here. */
interface OpenItem {
  readonly isOpen: boolean;
  readonly cell: Cell;
}

/** The items of a map that have not ended: they mostly end in their order, so what lies behind is not looked at again. */
export class OpenItems implements Iterable<Cell> {
  readonly #items: () => readonly OpenItem[];
  /** None before this one is open. */
  #first = 0;

  constructor(items: () => readonly OpenItem[]) {
    this.#items = items;
  }

  /** This one is open, again or for the first time. */
  opened(index: number): void {
    this.#first = Math.min(this.#first, index);
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
