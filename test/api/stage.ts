import { expect } from "vitest";
import { Controller, memoryStore } from "../../src/index.ts";
import type { ControllerOptions, TaskContext, TaskStore } from "../../src/index.ts";
import { FakeClock } from "../../src/testing/index.ts";

/** A controller on a clock that stands still. */
export interface Stage extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly controller: Controller;
}

/**
 * Opens a controller on a `FakeClock`. At its end whatever still runs is stopped, and given up on when it does
 * not listen; no timer may be left then.
 */
export async function openStage(options: ControllerOptions = {}): Promise<Stage> {
  const clock = new FakeClock();
  const controller = await Controller.open({ clock, random: () => 0.5, ...options });
  return {
    clock,
    controller,
    async [Symbol.asyncDispose]() {
      const closed = controller.close({ grace: 0 });
      await clock.advance("1h");
      await closed;
      expect(clock.pendingTimers, "timers left after close").toBe(0);
    },
  };
}

/** The one timer there is while tasks run on this thread's loop: nobody else can say that they are alive. */
export const HEARTBEAT = 1;

/** A promise that the test settles. */
export interface Gate<Value> {
  readonly opened: Promise<Value>;
  readonly open: (value: Value) => void;
  readonly fail: (error: unknown) => void;
}

export function gate<Value = void>(): Gate<Value> {
  const { promise, resolve, reject } = Promise.withResolvers<Value>();
  promise.catch(() => undefined);
  return { opened: promise, open: resolve, fail: reject };
}

/** A body that comes by a checkpoint again and again, each time the clock is moved, until it is stopped. */
export async function listen(ctx: TaskContext, clock: FakeClock): Promise<never> {
  for (;;) {
    await ctx.checkpoint();
    await new Promise<void>((resolve) => void clock.setTimer(10, resolve));
  }
}

/** A store in memory that calls back before each commit: to hold it up, or to fail it. */
export function storeWith(beforeCommit: () => Promise<void>): TaskStore {
  const store = memoryStore();
  const { tasks } = store;
  const gated: TaskStore["tasks"] = Object.assign(Object.create(tasks) as TaskStore["tasks"], {
    create: async (creations: Parameters<TaskStore["tasks"]["create"]>[0]) => await tasks.create(creations),
    get: async (taskId: string) => await tasks.get(taskId),
    commit: async (changes: Parameters<TaskStore["tasks"]["commit"]>[0]) => {
      await beforeCommit();
      return await tasks.commit(changes);
    },
  });
  return { ...store, tasks: gated };
}

/** The rows of a table in Markdown, without its head: the cells of each, trimmed. */
export function rowsOf(table: string): readonly (readonly string[])[] {
  const lines = table.trim().split("\n").slice(1);
  return lines.map((line) =>
    line
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** Calls a method as a caller without types may. */
export function callNow(object: object, method: string, args: readonly unknown[]): unknown {
  const member: unknown = Reflect.get(object, method);
  if (typeof member !== "function") throw new TypeError(`there is no method ${method}`);
  return Reflect.apply(member, object, args);
}

/** The same for one that answers with a promise. */
export async function call(object: object, method: string, args: readonly unknown[]): Promise<unknown> {
  return await callNow(object, method, args);
}
