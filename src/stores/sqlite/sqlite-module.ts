import type * as Sqlite from "node:sqlite";

/** `node:sqlite` without the one warning that some versions of Node give for it: it is no affair of those who use a store. */
export function sqliteModule(): typeof Sqlite {
  const own = Object.getOwnPropertyDescriptor(process, "emitWarning");
  process.emitWarning = () => undefined;
  try {
    return process.getBuiltinModule("node:sqlite");
  } finally {
    if (own === undefined) Reflect.deleteProperty(process, "emitWarning");
    else Object.defineProperty(process, "emitWarning", own);
  }
}
