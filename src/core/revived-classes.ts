/** Where an error that was thrown in another thread or process keeps the names of its classes. */
export const CLASSES: unique symbol = Symbol("classes of the error that was thrown elsewhere");

/** The names of the classes of an error that was thrown elsewhere, nearest first; empty for any other value. */
export function revivedClasses(error: unknown): readonly string[] {
  try {
    if (typeof error !== "object" || error === null) return [];
    const classes: unknown = Reflect.get(error, CLASSES);
    return Array.isArray(classes) ? classes.filter((name) => typeof name === "string") : [];
  } catch {
    // A revoked proxy: it was not thrown elsewhere.
    return [];
  }
}
