/** How long the loop may stand before it is said, unless told otherwise. */
export const STALL_MS = 1_000;

/** Which code blocked the event loop, for how long, and where it stood. */
export interface Stall {
  /** `null`: code outside of every task. */
  readonly taskId: string | null;
  readonly name: string | null;
  readonly blockedMs: number;
  /** Function and line; `undefined` where the stack shows none. */
  readonly place: string | undefined;
}

/** The line that is written at once, while the loop is still blocked and no other report can go out. Source §11. */
export function stallLine({ taskId, name, blockedMs, place = "an unknown place" }: Stall): string {
  const who = taskId === null ? "code outside any task" : `task "${name ?? ""}" (${taskId})`;
  return `warning: ${who} has blocked the event loop for ${blockedMs} ms, at ${place}`;
}
