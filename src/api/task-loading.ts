/** Where every copy of this package finds it: a module may bring another copy than the one that loads it. */
const LOADING: unique symbol = Symbol.for("chongming-task.loading");

const refused = new WeakSet<object>();

/**
 * Loads a module for the tasks it exports. Meanwhile no controller can be opened: one at the top level would run its
 * tasks unasked. What is refused fails the loading, also where the module did not await it.
 */
export async function loadForTasks<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  const problems: Error[] = [];
  Object.defineProperty(globalThis, LOADING, { value: problems, configurable: true });
  try {
    const loaded = await load();
    const [problem] = problems;
    if (problem !== undefined) throw problem;
    return loaded;
  } finally {
    for (const problem of problems) refused.add(problem);
    Reflect.deleteProperty(globalThis, LOADING);
  }
}

/** Is a module being loaded for its tasks right now? */
export function isLoadingTasks(): boolean {
  return LOADING in globalThis;
}

/** Notes what was refused because a module is being loaded. */
export function refuseLoading<Problem extends Error>(problem: Problem): Problem {
  problemsOf().push(problem);
  return problem;
}

/** Was this refused because a module was being loaded, so that the loading tells of it? */
export function isRefusedLoading(error: unknown): boolean {
  return error instanceof Error && (refused.has(error) || problemsOf().includes(error));
}

function problemsOf(): Error[] {
  const problems: unknown = Reflect.get(globalThis, LOADING);
  return Array.isArray(problems) ? (problems as Error[]) : [];
}
