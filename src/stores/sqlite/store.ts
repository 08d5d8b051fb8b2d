import { describeValue } from "../../core/describe-value.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { checkInteger, checkOneOf, checkOptions } from "../../core/options.ts";
import type { TaskStore } from "../../core/ports/store.ts";
import { DEFAULT_MAX_VALUE_BYTES } from "../kept-values.ts";
import { SqliteAudit } from "./audit-facet.ts";
import { Database } from "./database.ts";
import type { Durability } from "./database.ts";
import { SqliteRuns } from "./run-facet.ts";
import { SqliteTasks } from "./task-facet.ts";

/** How a store on a file keeps what it is given. */
export interface SqliteStoreOptions {
  /**
   * What an answer survives. `process` (default): a killed process, but not always a power cut; `power`: a power cut, too,
   * at the price of one flush of the disk for each write.
   */
  readonly durability?: Durability;
  /** Longest text of a task's arguments, of its outcome and of a run's parameters, in bytes of JSON. Default 1 MiB. */
  readonly maxValueBytes?: number;
}

/**
 * A store in one SQLite file, which is made where there is none, for its owner alone to read. Several processes may use
 * one file at once; it must be on a disk of this machine. Source §5.6.
 * @throws ConfigurationError for a path or option that is wrong; what is wrong with the file is told by `open`, as a StoreError
 */
export function sqliteStore(path: string, options?: SqliteStoreOptions): TaskStore {
  // Empty, or beginning with ":" or "file:", it would be no file to SQLite.
  if (typeof path !== "string" || path === "" || path.startsWith(":") || path.includes("\0") || path.startsWith("file:"))
    throw new ConfigurationError(`sqliteStore(path) needs the path of a file; found ${describeValue(path)}. For a store in memory there is memoryStore().`);
  const given = checkOptions(options, ["durability", "maxValueBytes"], "sqliteStore(path, options)");
  const durability = checkOneOf(given.durability ?? "process", ["process", "power"], "durability");
  const maxValueBytes = checkInteger(given.maxValueBytes ?? DEFAULT_MAX_VALUE_BYTES, "maxValueBytes", 1);
  const database = new Database(path, durability);
  return Object.freeze({
    supports: Object.freeze({ durability: true, sharing: true }),
    tasks: new SqliteTasks(database, maxValueBytes),
    audit: new SqliteAudit(database),
    runs: new SqliteRuns(database, maxValueBytes),
    open: async () => await database.open(),
    close: async () => await database.close(),
  });
}
