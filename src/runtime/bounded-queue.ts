/** First in, first out, of at most `limit` items: where it is full the oldest makes room. Adding and taking are O(1). */
export class BoundedQueue<Item> {
  readonly #limit: number;
  #items: Item[] = [];
  /** Everything before it was taken. */
  #start = 0;

  /** @param limit ≥ 1 */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.length - this.#start;
  }

  /** Appends an item. False: the oldest was dropped for it. */
  push(item: Item): boolean {
    const hasRoom = this.size < this.#limit;
    if (!hasRoom) this.#skip();
    this.#items.push(item);
    return hasRoom;
  }

  /** Takes the oldest; `undefined`: it is empty. */
  shift(): Item | undefined {
    if (this.size === 0) return undefined;
    const item = this.#items[this.#start];
    this.#skip();
    return item;
  }

  clear(): void {
    this.#items = [];
    this.#start = 0;
  }

  #skip(): void {
    this.#start += 1;
    // The part that was taken goes when it is the larger one, so each item is moved once at most on average.
    if (this.#start * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#start);
    this.#start = 0;
  }
}
