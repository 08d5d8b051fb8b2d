/** Wakes one reader: however often it is rung before the reader comes, it is once. */
export class Bell {
  #rung = false;
  #over = false;
  #waiting: ((rung: boolean) => void) | null = null;

  get isOver(): boolean {
    return this.#over;
  }

  ring(): void {
    if (this.#waiting === null) this.#rung = true;
    else this.#answer(true);
  }

  /** Nobody rings any more. */
  end(): void {
    this.#over = true;
    this.#answer(false);
  }

  /** True: it has been rung since it was asked last; false: that will never be again. */
  next(): Promise<boolean> {
    if (!this.#rung && !this.#over) return new Promise((resolve) => (this.#waiting = resolve));
    const rung = this.#rung;
    this.#rung = false;
    return Promise.resolve(rung);
  }

  #answer(rung: boolean): void {
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.(rung);
  }
}
