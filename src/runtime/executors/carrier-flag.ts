/** Set in threads and children before any module of the user's is loaded there. */
const FLAG: unique symbol = Symbol.for("chongming-task.carrier");

/** From now on this thread is a carrier: it must not open a controller. */
export function markCarrier(): void {
  Object.defineProperty(globalThis, FLAG, { value: true });
}

/** Is this thread a carrier of somebody's task? */
export function inCarrier(): boolean {
  return FLAG in globalThis;
}
