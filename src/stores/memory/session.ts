import { StoreError } from "../../core/errors.ts";
import { emptyData } from "./memory-data.ts";
import type { MemoryData } from "./memory-data.ts";

/** What the facets share: the data while the store is open, and a refusal before and after. */
export class Session {
  /** Longest text of one value, in bytes. */
  readonly maxValueBytes: number;
  #data: MemoryData | null = null;
  #closed = false;

  constructor(maxValueBytes: number) {
    this.maxValueBytes = maxValueBytes;
  }

  /** @throws StoreError once it was closed: what it held is gone */
  open(): void {
    if (this.#closed) throw closedError();
    this.#data ??= emptyData();
  }

  close(): void {
    this.#closed = true;
    this.#data = null;
  }

  /** @throws StoreError unless the store is open */
  data(): MemoryData {
    if (this.#data !== null) return this.#data;
    throw this.#closed ? closedError() : new StoreError("the memory store is not open yet: call open() before anything else.");
  }
}

function closedError(): StoreError {
  return new StoreError("the memory store is closed, and what it held is gone: make a new one with memoryStore().");
}
