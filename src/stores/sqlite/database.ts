import { closeSync, openSync } from "node:fs";
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { StoreError } from "../../core/errors.ts";
import { MIGRATIONS } from "./migrations.ts";
import { isBusy, storeError } from "./sqlite-errors.ts";
import { sqliteModule } from "./sqlite-module.ts";

/** What survives: a killed process, or a power cut, too. */
export type Durability = "process" | "power";

/** Marks a file as ours: "chng". */
const APPLICATION_ID = 0x63686e67;
/** Pages of the log after which it is put back into the file. */
const CHECKPOINT_PAGES = 4_000;
/** How long another process may hold the write lock, in all. */
const PATIENCE_MS = 30_000;
/** How long each wait for it is: at first very short, since a write takes a few milliseconds. */
const WAITS_MS = [1, 1, 2, 3, 5, 10] as const;

/** A row as SQLite gives it. */
export type Row = Readonly<Record<string, unknown>>;

/**
 * One connection to one file. Nothing here waits inside SQLite: where another process holds the lock, a timer tries again,
 * and the event loop turns meanwhile. Writes are taken in the order in which they were asked for. Source §5.6.
 */
export class Database {
  readonly path: string;
  readonly #durability: Durability;
  readonly #statements = new Map<string, StatementSync>();
  #database: DatabaseSync | null = null;
  #isClosed = false;
  /** The write before: the next begins behind it. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, durability: Durability) {
    this.path = path;
    this.#durability = durability;
  }

  /** Opens the file, or makes it, and brings its schema up to date. Twice is harmless. */
  async open(): Promise<void> {
    if (this.#isClosed) throw this.#closed();
    if (this.#database !== null) return;
    const { DatabaseSync } = sqliteModule();
    try {
      // For its owner alone: arguments and outcomes may hold what is nobody else's.
      closeSync(openSync(this.path, "a", 0o600));
      this.#database = new DatabaseSync(this.path, { timeout: 0, enableForeignKeyConstraints: false });
      await this.#prepare(this.#database);
    } catch (error) {
      this.#database?.close();
      this.#database = null;
      throw fileError(error, this.path);
    }
  }

  /** What is asked for already is written first. Twice is harmless. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    this.#statements.clear();
    this.#database?.close();
    this.#database = null;
  }

  /** @throws StoreError unless it is open */
  check(): void {
    this.#open();
  }

  all(sql: string, ...values: readonly SQLInputValue[]): readonly Row[] {
    return this.#call(() => this.#statement(sql).all(...values));
  }

  get(sql: string, ...values: readonly SQLInputValue[]): Row | undefined {
    return this.#call(() => this.#statement(sql).get(...values));
  }

  /** @returns how many rows it changed */
  run(sql: string, ...values: readonly SQLInputValue[]): number {
    return this.#call(() => Number(this.#statement(sql).run(...values).changes));
  }

  /** All that the work writes, or nothing of it: durable once this resolves. The work is synchronous, and short. */
  async write<Value>(work: () => Value): Promise<Value> {
    this.check();
    const written = this.#last.then(async () => await this.#writeNow(work));
    this.#last = written.catch(() => undefined);
    return await written;
  }

  async #writeNow<Value>(work: () => Value): Promise<Value> {
    // A close that came meanwhile waits for this.
    const database = this.#database ?? this.#open();
    await this.#patiently(() => database.exec("BEGIN IMMEDIATE"));
    try {
      const value = work();
      database.exec("COMMIT");
      return value;
    } catch (error) {
      // A full disk has rolled it back already.
      if (database.isTransaction) database.exec("ROLLBACK");
      throw storeError(error, this.path);
    }
  }

  async #patiently(step: () => void): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    for (let round = 0; ; round += 1) {
      try {
        return step();
      } catch (error) {
        if (!isBusy(error) || performance.now() > until) throw storeError(error, this.path);
      }
      await sleep(WAITS_MS[Math.min(round, WAITS_MS.length - 1)]);
    }
  }

  async #prepare(database: DatabaseSync): Promise<void> {
    checkOwner(database, this.path);
    await this.#patiently(() => {
      database.exec("PRAGMA journal_mode = WAL");
    });
    database.exec(`PRAGMA synchronous = ${this.#durability === "power" ? "FULL" : "NORMAL"}`);
    database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    await this.#patiently(() => migrate(database, this.path));
  }

  #statement(sql: string): StatementSync {
    const database = this.#database ?? this.#open();
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const made = database.prepare(sql);
    this.#statements.set(sql, made);
    return made;
  }

  #call<Value>(call: () => Value): Value {
    try {
      return call();
    } catch (error) {
      throw storeError(error, this.path);
    }
  }

  #open(): DatabaseSync {
    if (this.#isClosed) throw this.#closed();
    if (this.#database === null) throw new StoreError(`the store on ${this.path} is not open yet: call open() before anything else.`);
    return this.#database;
  }

  #closed(): StoreError {
    return new StoreError(`the store on ${this.path} is closed: make a new one with sqliteStore(path).`);
  }
}

function pragma(database: DatabaseSync, name: "application_id" | "user_version"): number {
  return Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
}

/** @throws StoreError for a database that is somebody else's, or of a later version of ours */
function checkOwner(database: DatabaseSync, path: string): void {
  const id = pragma(database, "application_id");
  const version = pragma(database, "user_version");
  const isEmpty = database.prepare("SELECT 1 FROM sqlite_schema LIMIT 1").get() === undefined;
  if (isEmpty) return;
  if (id !== APPLICATION_ID) throw new StoreError(`${path}: this is a SQLite database of another program. Name another file.`);
  if (version > MIGRATIONS.length)
    throw new StoreError(
      `${path}: the file has schema ${version}, and this version of chongming-task knows ${MIGRATIONS.length}. Use the version that wrote it, or a later one.`,
    );
}

/** Whoever opens first brings the schema up to date; the others wait for that. */
function migrate(database: DatabaseSync, path: string): void {
  if (pragma(database, "user_version") === MIGRATIONS.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been first, or be ahead.
    checkOwner(database, path);
    for (const sql of MIGRATIONS.slice(pragma(database, "user_version"))) database.exec(sql);
    database.exec(`PRAGMA application_id = ${APPLICATION_ID}`);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

/** Also what the operating system says of the path. */
function fileError(error: unknown, path: string): Error {
  if (error instanceof Error && "syscall" in error && "code" in error)
    return new StoreError(
      `${path}: the file cannot be opened (${String(error.code)}): its folder must exist, and this user must be allowed to write to both.`,
      {
        cause: error,
      },
    );
  return storeError(error, path);
}
