import { taskScope } from "./task-scope.ts";

let users = 0;

/**
 * A rejection or exception that nobody awaited is swallowed only where the async context attributes it to a
 * task, and is recorded there. Everything else keeps the host's own crash rule: a library must not change it.
 */
export function watchStrays(): () => void {
  users += 1;
  if (users === 1) {
    process.on("unhandledRejection", onRejection);
    process.on("uncaughtException", onException);
  }
  let watching = true;
  return () => {
    if (!watching) return;
    watching = false;
    users -= 1;
    if (users === 0) unwatch();
  };
}

function unwatch(): void {
  process.off("unhandledRejection", onRejection);
  process.off("uncaughtException", onException);
}

function onRejection(reason: unknown): void {
  const scope = taskScope.getStore();
  if (scope !== undefined) {
    scope.stray(reason);
    return;
  }
  if (process.listenerCount("unhandledRejection") > 1) return;
  // Our listener silences what Node does where there is none: that is done here instead.
  const rule = hostRule();
  if (rule === "throw") throw reason;
  if (rule === "warn-with-error-code") process.exitCode = 1;
}

function onException(error: unknown, origin: string): void {
  const scope = taskScope.getStore();
  // Under `--unhandled-rejections=strict` a rejection comes as an exception first, and then as what it is.
  if (scope !== undefined && origin === "unhandledRejection") return;
  if (scope !== undefined) scope.stray(error);
  else if (process.listenerCount("uncaughtException") === 1) crash(error);
}

/** With our listeners gone, an error thrown anew takes the way it would have taken without us. */
function crash(error: unknown): void {
  unwatch();
  setImmediate(() => {
    throw error;
  });
}

/** What the host chose with `--unhandled-rejections`; Node's own default is `throw`. */
function hostRule(): string {
  const flags = `${process.env["NODE_OPTIONS"] ?? ""} ${process.execArgv.join(" ")}`;
  return [...flags.matchAll(/--unhandled-rejections[= ]([\w-]+)/g)].at(-1)?.[1] ?? "throw";
}
