import { syncBuiltinESMExports } from "node:module";
import { describeValue } from "../../core/describe-value.ts";

/** What ends the whole carrier, where it is called with such arguments. */
const ENDS: Readonly<Record<string, (...args: readonly unknown[]) => boolean>> = {
  exit: () => true,
  abort: () => true,
  kill: (pid, signal) => signal !== 0 && [process.pid, -process.pid, 0].includes(Number(pid)),
};

/**
 * Asks before code in this carrier ends it, since that may be what an attempt before this one has left running.
 * `process.reallyExit`, native code and signals from elsewhere come unasked.
 * @param ask is told the call; throws where it is refused
 */
export function guardEnds(ask: (call: string) => void): void {
  for (const [name, endsCarrier] of Object.entries(ENDS)) {
    const real: unknown = Reflect.get(process, name);
    if (typeof real !== "function") continue;
    const guarded = (...args: readonly unknown[]): unknown => {
      if (endsCarrier(...args)) ask(`process.${name}(${args.map(describeValue).join(", ")})`);
      return Reflect.apply(real, process, args);
    };
    Reflect.set(process, name, guarded);
  }
  syncBuiltinESMExports();
}
