import type { By } from "../core/lifecycle-events.ts";
import { holdsSlot } from "../core/snapshot-rules.ts";
import type { Cell } from "./cell.ts";
import type { Control } from "./control.ts";

/** The pause of a map has its own limit: that of its items must not come first. */
const ITEM_PAUSE_MS = 24 * 60 * 60 * 1_000;

/** The pause of a map: what runs of its items is paused with it, and let go on with it. */
export class ItemPause {
  readonly #control: Control;
  readonly #reached: () => void;
  /** Were paused with the map. What a person has paused by itself is not among them, and stays so. */
  readonly #paused = new Set<Cell>();
  /** Those that still run. */
  readonly #moving = new Set<Cell>();

  /** @param reached none runs any more */
  constructor(control: Control, reached: () => void) {
    this.#control = control;
    this.#reached = reached;
  }

  begin(cells: readonly Cell[], by: By): void {
    for (const cell of cells) {
      const { status } = cell.snapshot;
      if (!holdsSlot(cell.snapshot) || status === "paused") continue;
      this.#moving.add(cell);
      if (status === "starting" || status === "running") this.#paused.add(cell);
      void this.#ask(cell, by);
    }
    this.#look();
  }

  end(by: By): void {
    const cells = [...this.#paused];
    this.forget();
    for (const cell of cells) {
      const { status } = cell.snapshot;
      if (status === "pausing" || (status === "paused" && holdsSlot(cell.snapshot))) this.#control.resume(cell, { by }).catch(() => undefined);
    }
  }

  ended(cell: Cell): void {
    if (this.#moving.delete(cell)) this.#look();
  }

  forget(): void {
    this.#paused.clear();
    this.#moving.clear();
  }

  /** One that cannot be paused, or is being stopped, is waited for until it ends; the map's own limit is for that. */
  async #ask(cell: Cell, by: By): Promise<void> {
    try {
      if (await this.#control.pause(cell, { by, pauseTimeoutMs: ITEM_PAUSE_MS })) this.ended(cell);
    } catch {
      // It says by itself when it has ended.
    }
  }

  #look(): void {
    if (this.#moving.size === 0) this.#reached();
  }
}
