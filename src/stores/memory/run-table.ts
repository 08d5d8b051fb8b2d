import type { RunSnapshot } from "../../core/run.ts";

/** One run. */
export interface RunRecord {
  /** Frozen. */
  row: RunSnapshot;
  /** Its parameters, encoded. */
  readonly params: string;
}

/** All runs, by id and in the order in which they were made. */
export class RunTable {
  readonly #byId = new Map<string, RunRecord>();
  readonly #inOrder: RunRecord[] = [];

  get inOrder(): readonly RunRecord[] {
    return this.#inOrder;
  }

  find(runId: string): RunRecord | undefined {
    return this.#byId.get(runId);
  }

  /** The caller has seen that the id is free. */
  add(record: RunRecord): void {
    this.#byId.set(record.row.runId, record);
    this.#inOrder.push(record);
  }
}
