import type { Database } from "./database.ts";

/** The place of the newest row of a table; 0 while there has been none. */
export function lastPlace(database: Database, table: "task" | "event" | "run"): number {
  return Number(database.get("SELECT seq FROM sqlite_sequence WHERE name = ?", table)?.["seq"] ?? 0);
}
