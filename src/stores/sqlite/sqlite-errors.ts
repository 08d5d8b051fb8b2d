import { StoreError, TaskError } from "../../core/errors.ts";

/** What went wrong, and what to do. */
interface Trouble {
  readonly what: string;
  /** The same may well succeed later. */
  readonly transient: boolean;
}

const BUSY: Trouble = { what: "another process has kept the file locked for too long", transient: true };

/** The primary result codes of SQLite that are told apart. */
const TROUBLES: ReadonlyMap<number | null, Trouble> = new Map([
  [5, BUSY],
  [6, BUSY],
  [8, { what: "the file or its folder is read-only: give this user the right to write to both", transient: false }],
  [10, { what: "the disk could not be read or written", transient: true }],
  [11, { what: "the file is damaged: restore it from a backup, or save what can be read with `sqlite3 FILE .recover`", transient: false }],
  [13, { what: "the disk is full: make room, and what waits is written", transient: true }],
  [14, { what: "the file cannot be opened: its folder must exist, and this user must be allowed to use both", transient: false }],
  [26, { what: "the file is no SQLite database: name another, or move it away", transient: false }],
]);

const OTHER: Trouble = { what: "SQLite refused", transient: false };

/** The primary code of an error of SQLite's; `null`: it is no such error. */
function codeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return null;
  // The upper bits say which kind of the kind it is.
  return error.errcode & 0xff;
}

/** Does another connection hold the lock? It gives it back soon. */
export function isBusy(error: unknown): boolean {
  return TROUBLES.get(codeOf(error)) === BUSY;
}

/** What went wrong with the file, and what to do; an error that is ours already stays as it is. */
export function storeError(error: unknown, path: string): Error {
  if (error instanceof TaskError) return error;
  const { what, transient } = TROUBLES.get(codeOf(error)) ?? OTHER;
  const detail = error instanceof Error ? error.message : String(error);
  return new StoreError(`${path}: ${what} (${detail}).`, { cause: error, transient });
}
