import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Cell } from "./cell.ts";

/** Where an item of a map stands before the gate. */
export interface GatePlace {
  /** It was let through, and has neither ended, nor backed off, nor been paused before its start since. */
  isInside: boolean;
  isWaiting: boolean;
  readonly cell: Cell;
  /** Its turn is another's until then; cancelled when it does anything else. */
  backOff(timer: Timer): void;
}

/** What a gate works with. */
export interface GateParts {
  readonly clock: Clock;
  /** The item may go on to the scheduler. */
  readonly pass: (cell: Cell) => void;
  /** Its time has come: it is to be queued, and asks for its turn again. */
  readonly backoffEnded: (cell: Cell) => void;
}

/**
 * Lets the items of a map through to the scheduler: at most so many at once, in their order, and none while it is shut. An
 * item that is paused in place keeps its turn, so that it is never one too many when it goes on.
 */
export class ItemGate {
  readonly #max: number;
  readonly #parts: GateParts;
  #queue: GatePlace[] = [];
  /** Of the queue; what is before it has gone. */
  #head = 0;
  #inside = 0;
  #isOpen = false;

  /** @param max `null`: no limit */
  constructor(max: number | null, parts: GateParts) {
    this.#max = max ?? Infinity;
    this.#parts = parts;
  }

  /** Has the item its turn? Else it waits for it; one that backs off waits for its time first, and another has its turn. */
  admit(place: GatePlace): boolean {
    if (place.cell.snapshot.status === "retry_wait" && Number.isFinite(this.#max)) return this.#backOff(place);
    if (!place.isInside && this.#hasRoom) this.#enter(place);
    if (!place.isInside && !place.isWaiting) {
      place.isWaiting = true;
      this.#queue.push(place);
    }
    return place.isInside;
  }

  /** The item waits no longer and runs no longer. */
  left(place: GatePlace): void {
    place.isWaiting = false;
    if (!place.isInside) return;
    place.isInside = false;
    this.#inside -= 1;
    this.#letIn();
  }

  /** How many it lets through at once; `null`: it is shut, or has no limit. */
  get limit(): number | null {
    return this.#isOpen && Number.isFinite(this.#max) ? this.#max : null;
  }

  open(): void {
    this.#isOpen = true;
    this.#letIn();
  }

  /** From now on none is let through. */
  shut(): void {
    this.#isOpen = false;
  }

  /** These were let through and have not begun: they are the first to go when it opens again. */
  takeBack(places: readonly GatePlace[]): void {
    for (const place of places) {
      place.isInside = false;
      place.isWaiting = true;
    }
    this.#inside -= places.length;
    this.#queue = [...places, ...this.#queue.slice(this.#head)];
    this.#head = 0;
  }

  #backOff(place: GatePlace): boolean {
    const { clock, backoffEnded } = this.#parts;
    this.left(place);
    place.backOff(clock.setTimer(Math.max(0, (place.cell.snapshot.availableAt ?? 0) - clock.now()), () => backoffEnded(place.cell)));
    return false;
  }

  get #hasRoom(): boolean {
    return this.#isOpen && this.#inside < this.#max;
  }

  #enter(place: GatePlace): void {
    place.isInside = true;
    this.#inside += 1;
  }

  #letIn(): void {
    while (this.#hasRoom && this.#head < this.#queue.length) {
      const next = this.#queue[this.#head];
      this.#head += 1;
      if (next?.isWaiting !== true) continue;
      next.isWaiting = false;
      this.#enter(next);
      this.#parts.pass(next.cell);
    }
    if (this.#head < this.#queue.length) return;
    this.#queue = [];
    this.#head = 0;
  }
}
