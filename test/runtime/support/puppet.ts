import type { Clock } from "../../../src/core/ports/clock.ts";
import type { TaskBody } from "../../../src/core/ports/executor.ts";
import type { TaskContext } from "../../../src/core/ports/task-context.ts";

/** One call of a puppet's body: it ends when, and as, the test says. */
export interface PuppetCall {
  readonly ctx: TaskContext;
  readonly args: readonly unknown[];
  returns(value?: unknown): void;
  throws(error: unknown): void;
}

/** A body on strings: deaf to everything but the test. */
export class Puppet {
  readonly calls: PuppetCall[] = [];
  readonly run: TaskBody = (ctx, ...args) => {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.calls.push({ ctx, args, returns: resolve, throws: reject });
    return promise;
  };

  /** The call under way; the body must have been called. */
  get last(): PuppetCall {
    const call = this.calls.at(-1);
    if (call === undefined) throw new Error("the body has not been called");
    return call;
  }

  /** The call of that number, from 0. */
  call(index: number): PuppetCall {
    const call = this.calls[index];
    if (call === undefined) throw new Error(`the body has been called ${this.calls.length} times only`);
    return call;
  }
}

/** Waits on the clock. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}

/** A body that works for ever and looks every so many milliseconds whether it is to pause or to stop. */
export function polling(clock: Clock, everyMs = 10): TaskBody {
  return async (ctx) => {
    for (;;) {
      await ctx.checkpoint();
      await sleep(clock, everyMs);
    }
  };
}
