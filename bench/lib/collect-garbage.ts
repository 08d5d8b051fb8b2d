import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const gc: unknown = runInNewContext("gc");

/** Collects everything that can be collected, so that nobody pays for the garbage of the one before. */
export function collectGarbage(): void {
  if (typeof gc !== "function") throw new Error("this Node gives no access to its garbage collector.");
  Reflect.apply(gc, undefined, []);
}
