import { taskScope } from "./task-scope.ts";

let users = 0;

/**
 * A rejection that nobody awaited is swallowed only where the async context attributes it to a task, and is
 * recorded there. Everything else keeps the host's own crash rule: a library must not change it.
 */
export function watchStrays(): () => void {
  users += 1;
  if (users === 1) process.on("unhandledRejection", onRejection);
  let watching = true;
  return () => {
    if (!watching) return;
    watching = false;
    users -= 1;
    if (users === 0) process.off("unhandledRejection", onRejection);
  };
}

function onRejection(reason: unknown): void {
  const scope = taskScope.getStore();
  if (scope !== undefined) {
    scope.stray(reason);
    return;
  }
  // Our listener would silence Node's default; thrown from here it takes the same way out as without us.
  if (process.listenerCount("unhandledRejection") === 1) throw reason;
}
