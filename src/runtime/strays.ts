import { taskScope } from "./task-scope.ts";

/** Marks the listeners of every copy of this library in the process: none of them is the host's own. */
const MARK: unique symbol = Symbol.for("chongming-task.strays");

/**
 * A rejection or exception that nobody awaited is swallowed only where the async context attributes it to a
 * task, and is recorded there. Everything else keeps the host's own crash rule: a library must not change it.
 * Once begun it stays to the end of the process: what a task left behind may come long after its controller has closed.
 */
export function watchStrays(): void {
  if (process.listeners("unhandledRejection").includes(onRejection)) return;
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onException);
}

/** Does the host itself listen? Then it decides. */
function hostListens(event: "unhandledRejection" | "uncaughtException"): boolean {
  return process.rawListeners(event).some((listener) => !(MARK in listener));
}

/** Another copy of this library, whose task it may be, is asked by Node, too; the first of them speaks for the host. */
function isFirst(event: "unhandledRejection" | "uncaughtException", own: object): boolean {
  return process.rawListeners(event).find((listener) => MARK in listener) === own;
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
  if (hostListens("unhandledRejection") || !isFirst("unhandledRejection", onRejection)) return;
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
  else if (!hostListens("uncaughtException") && isFirst("uncaughtException", onException)) crash(error);
}

for (const listener of [onRejection, onException]) Object.defineProperty(listener, MARK, { value: true });

/** With our listeners gone, an error thrown anew takes the way it would have taken without us. */
function crash(error: unknown): void {
  unwatch();
  setImmediate(() => {
    throw error; // Nobody caught this error of the program's own. It is thrown anew here, and ends the process:
  });
}

/** What the host chose with `--unhandled-rejections`; Node's own default is `throw`. */
function hostRule(): string {
  const flags = `${process.env["NODE_OPTIONS"] ?? ""} ${process.execArgv.join(" ")}`;
  return [...flags.matchAll(/--unhandled-rejections[= ]([\w-]+)/g)].at(-1)?.[1] ?? "throw";
}
