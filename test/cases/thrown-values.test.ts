import { describe, expect, test } from "vitest";
import { Controller } from "../../src/api/controller.ts";
import { task } from "../../src/api/task.ts";
import { constant } from "../../src/core/policies/backoff.ts";
import { hasPrintable } from "../../src/core/printable.ts";
import { FakeClock } from "../../src/testing/fake-clock.ts";

function revokedProxy(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function hostile(): object {
  const get = (): never => {
    throw new Error("hands off");
  };
  const properties = ["message", "stack", "name", "toString", "cause", "then"];
  return Object.defineProperties({}, Object.fromEntries(properties.map((name) => [name, { get }])));
}

class OddError extends Error {
  constructor() {
    super("replaced");
    Object.defineProperty(this, "message", { value: { a: 1 } });
  }
}

const THROWN: readonly (readonly [string, () => unknown])[] = [
  ["undefined", () => undefined],
  ["null", () => null],
  ["0", () => 0],
  ["an empty string", () => ""],
  ["a string", () => "text"],
  ["an empty object", () => ({})],
  ["an object without a prototype", () => Object.create(null) as object],
  ["a symbol", () => Symbol("x")],
  ["a bigint", () => 10n],
  ["a function", () => () => 1],
  ["a promise", () => Promise.resolve(1)],
  ["a revoked proxy", revokedProxy],
  ["an object whose getters throw", hostile],
  ["an error whose message is an object", () => new OddError()],
  ["a frozen error", () => Object.freeze(new Error("frozen"))],
];

describe.each(["async", "inline"] as const)("C018: thrown values that are no errors, %s", (executor) => {
  describe.each(["thrown", "rejected with"] as const)("%s", (how) => {
    test.each(THROWN)("%s: failed after exactly two attempts, with a message one can print", async (_what, make) => {
      const clock = new FakeClock();
      let starts = 0;
      const throws = task({ name: "throws", executor, retry: { maxAttempts: 2, backoff: constant({ delay: "1s", jitter: "none" }) } }, () => {
        starts += 1;
        if (how === "rejected with") return new Promise((_resolve, reject) => reject(make()));
        throw make();
      });
      const controller = await Controller.open({ clock, tasks: [throws] });
      const handle = await controller.submit(throws);
      const result = handle.result().catch((error: unknown) => error);
      await clock.advance("1m");
      const row = await controller.get(handle.id);
      expect([row.status, row.attempt, starts]).toEqual(["failed", 2, 2]);
      expect(hasPrintable(row.failure?.message ?? "")).toBe(true);
      expect(JSON.parse(JSON.stringify(row))).toMatchObject({ status: "failed", failure: { kind: "exception" } });
      expect(await result).toMatchObject({ code: "TASK_EXECUTION" });
      expect((await controller.attempts(handle.id)).map(({ endedAs }) => endedAs)).toEqual(["retry_wait", "failed"]);
      // The controller has survived, and its one free hand works on.
      const after = await controller.submit(throws);
      await clock.advance("1m");
      expect((await after.snapshot()).status).toBe("failed");
      await controller.close();
      expect(clock.pendingTimers).toBe(0);
    });
  });
});
